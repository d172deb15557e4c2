"""Metrics of a service: access, requests by route and status, and the backlog of the store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.service import Http, Served, runner_of
from tompion.api.auth import api_key_cache
from tompion.api.metrics import COUNTERS, GAUGES, HISTOGRAMS
from tompion.api.rest.middleware.access_log import AccessLogMiddleware, AccessRecord
from tompion.config.loader import load
from tompion.config.settings import Settings
from tompion.operations.context import OperationContext
from tompion.operations.insight.stats import store_backlog
from tompion.operations.resources import api_keys
from tompion.operations.schedules import control, crud
from tompion.runtime.metric_values import Metrics
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.testing.clock import ManualClock

BOOK = {"cron": "* * * * *", "function": "tasks:work"}


def numbers(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_has_every_metric(http: Http) -> None:
    http("PUT", "/api/v1/schedules/report", BOOK)
    http("GET", "/api/v1/schedules/none")
    http("GET", "/nowhere")
    answer = http("GET", "/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    text = answer.body.decode()
    exported = {family.name for family in text_string_to_metric_families(text)}
    engines = {
        "tompion_clock_skew_seconds",
        "tompion_overdue_seconds",
        "tompion_runs_active",
        "tompion_targets_unreachable",
    }  # this service has none
    assert exported == {*COUNTERS, *HISTOGRAMS, *GAUGES} - engines
    values = numbers(text)
    one = "/api/v1/schedules/{schedule_id}"
    requests = {labels: value for (name, labels), value in values.items() if name == "tompion_http_requests_total"}
    assert requests == {
        (("method", "PUT"), ("route", one), ("status", "201")): 1,
        (("method", "GET"), ("route", one), ("status", "404")): 1,
        (("method", "GET"), ("route", "other"), ("status", "404")): 1,
    }
    assert values["tompion_http_request_duration_seconds_count", (("method", "PUT"), ("route", one))] == 1
    assert values["tompion_store_up", ()] == 1


@pytest.fixture
def locked(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 0.0)
    runner = runner_of(store)
    served = Served(runner, load({}, {"auth": "required"}))
    http = Http(served.url)

    def scrape(namespace: str | None) -> int:
        if namespace is None:
            return http("GET", "/metrics").status
        key = runner.send(
            lambda session: api_keys.create_key(session, "prometheus"), namespace=namespace, actor="ann", writes=True
        ).result()
        return http("GET", "/metrics", Authorization=f"Bearer {key.secret}").status

    yield scrape
    http.close()
    served.close()


def test_scraping_needs_a_role_in_all_namespaces(locked: Any) -> None:
    assert [locked(namespace) for namespace in (None, "default", "*")] == [401, 403, 200]


def test_the_backlog_of_the_store_is_exported(store: Store, clock: ManualClock) -> None:
    def fill(transaction: Any) -> None:
        session = OperationContext(transaction, Settings())
        for name in ("a", "b", "c"):
            crud.create(session, name, **{**BOOK, "queue": "rare", "overlap_policy": "queue"})
        control.pause(session, "c")
        control.trigger(session, "a")
        control.trigger(session, "a", overlap="buffer_all")

    store.write(fill).result()
    clock.set(clock.now() + 120)
    backlog = store.read(lambda transaction: store_backlog(OperationContext(transaction, Settings()))).result()
    assert (backlog.due, backlog.waiting, backlog.paused, backlog.degraded, backlog.instances) == (2, 1, 1, 0, 0)
    (queue,) = backlog.queues
    assert (queue.queue, queue.runs, queue.oldest_s) == ("rare", 1, 120)


def test_counting_stops_at_its_limit(store: Store, clock: ManualClock) -> None:
    def fill(transaction: Any) -> None:
        for number in range(5):
            crud.create(OperationContext(transaction, Settings()), f"s{number}", **BOOK)

    store.write(fill).result()
    clock.set(clock.now() + 120)
    assert store.read(lambda transaction: transaction.backlog_count(transaction.now_ms(), 3)).result() == (3, 0, 0, 0)


def test_backlog_queries_do_not_scan_tables(migrated_url: str, clock: ManualClock) -> None:
    """Each part of the statement uses a partial index. A sequential scan would grow with the schedules."""
    store = PostgresStore(migrated_url, clock=clock)
    try:
        with psycopg.connect(migrated_url) as connection:
            connection.execute(
                "INSERT INTO schedules (namespace, schedule_id, version, token, state, labels, description, zones,"
                " created_ms, updated_ms) SELECT 'default', 's' || n, 1, 1, 'active', '{}', '', '', 0, 0"
                " FROM generate_series(1, 20000) n"
            )
            connection.execute("ANALYZE schedules")
            for condition in ("state = 'paused'", "right(zones, 5) = ':gone' AND state <> 'closed'"):
                plan = connection.execute(
                    f"EXPLAIN (FORMAT JSON) SELECT 1 FROM schedules WHERE {condition} LIMIT 10000"
                ).fetchone()
                assert plan is not None
                assert "Seq Scan" not in json.dumps(plan[0]), condition
    finally:
        store.close()


def test_access_records_have_no_query() -> None:
    records: list[AccessRecord] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})

    async def send(_message: Any) -> None:
        return None

    middleware = AccessLogMiddleware(app, metrics=Metrics(), paths={}, on_request=records.append)
    scope = {"type": "http", "method": "BREW", "path": "/x", "query_string": b"key=canary", "headers": []}
    asyncio.run(middleware(scope, None, send))
    ((method, path, route, status, _seconds, _request_id),) = records
    assert (method, path, route, status) == ("other", "/x", "other", 201)
