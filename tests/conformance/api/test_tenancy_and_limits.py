"""Separation of tenants, and size limits."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import pytest

from tests.support.operations import BEGIN, Bench
from tests.support.service import SECONDS, Http, Response, Served, runner_of
from tests.support.waiting import wait_until
from tompion.api.auth import api_key_cache
from tompion.config.loader import load
from tompion.config.settings import Settings
from tompion.contract.api_routes import Route
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES
from tompion.errors import LimitExceeded
from tompion.model.callback_token import CALLBACKS, signer
from tompion.operations.context import OperationContext
from tompion.operations.resources import api_keys
from tompion.operations.runs.remote_workers import remove_worker
from tompion.operations.schedules import backfills, crud
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

CANARY = "canary-of-mine"
PAYLOAD_BYTES, BODY_BYTES = 1_000, 60_000


class Tenants:
    """A service on a store, with two tenants who each administer a namespace of their own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.runner = runner_of(store, Settings(max_payload_bytes=PAYLOAD_BYTES))
        self.served = Served(self.runner, load({}, {"auth": "required", "max_body_bytes": BODY_BYTES}))
        self.http = Http(self.served.url)
        self.keys = {name: self._key(name) for name in ("mine", "theirs")}

    def _key(self, namespace: str) -> str:
        def create(session: OperationContext) -> str:
            return api_keys.create_key(session, CANARY if namespace == "mine" else "own", role="admin").secret

        return self.runner.send(create, namespace=namespace, actor="ann", writes=True).result(SECONDS)

    def ask(self, who: str, method: str, path: str, body: Any = None) -> Response:
        return self.http(method, path, body, Authorization=f"Bearer {self.keys[who]}")

    def made(self, method: str, path: str, body: Any) -> Any:
        answer = self.ask("mine", method, path, body)
        assert answer.status < 300, (path, answer.body)
        return answer.json if answer.body else None

    def close(self) -> None:
        self.http.close()
        self.served.close()
        self.store.close()


@pytest.fixture(params=["sqlite", "walled"])
def tenants(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tenants]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 60.0)
    clock = ManualClock(BEGIN)
    store: Store
    if request.param == "walled":
        store = PostgresStore(request.getfixturevalue("migrated_url"), clock=clock)
    else:
        store = SqliteStore(clock=clock)
    opened = Tenants(store)
    yield opened
    opened.close()


def belongings(tenants: Tenants) -> dict[str, str]:
    """Something of everything, and what each is called."""
    spec = {"cron": "* * * * *", "function": "tasks:work", "description": CANARY, "labels": {"team": CANARY}}
    tenants.made("PUT", "/api/v1/schedules/report", {**spec, "payload": {"secret": CANARY}})
    run = tenants.made("POST", "/api/v1/schedules/report/trigger", {})
    begin, end = "2027-01-15T07:00:00Z", "2027-01-15T07:05:00Z"
    (backfill,) = tenants.made("POST", "/api/v1/schedules/report/backfills", {"start": begin, "end": end})
    tenants.made("PUT", "/api/v1/workflows/flow", {"function": f"tasks:{CANARY.replace('-', '_')}"})
    tenants.made("PUT", "/api/v1/calendars/days", {"dates": ["2027-02-01"]})
    tenants.made("POST", "/api/v1/queues/default/pause", {"note": CANARY})
    worker = tenants.made("POST", "/api/v1/workers", {"name": CANARY, "queues": ["default"]})
    (key,) = tenants.made("GET", "/api/v1/keys", None)["items"]
    return {
        "schedule_id": "report", "run_id": run["run_id"], "backfill_id": str(backfill["backfill_id"]),
        "workflow_id": "flow", "name": "days", "queue": "default", "worker_id": str(worker["worker_id"]),
        "key_id": key["key_id"], "version": "1",
    }  # fmt: skip


def rows_of(tenants: Tenants) -> list[tuple[Any, ...]]:
    """Return the rows of the namespace that another tenant tries to reach."""
    return tenants.runner.send(
        lambda session: [tuple(row) for row in session.transaction.audit_list("mine", None, 1 << 62, 1_000)],
        namespace="mine", actor="ann", writes=False,
    ).result(SECONDS)  # fmt: skip


BODIES: dict[str, Any] = {
    "backfill": {"start": "2027-01-15T07:00:00Z", "end": "2027-01-15T07:05:00Z"},
    "hint": {"interval": "5m"},
    "take_work": {"most": 10},
    "pause_matching": {"all": True},
    "resume_matching": {"all": True},
    "trigger_matching": {"all": True},
}


def test_ids_of_another_namespace_are_not_found(tenants: Tenants) -> None:
    """Every route, with the real ids of another tenant, whether or not the namespace is named."""
    names = belongings(tenants)
    before = rows_of(tenants)
    for route in ROUTES:
        if route.role is Role.PUBLIC:
            continue
        path = re.sub(r"{(\w+)}", lambda match: names[match[1]], route.full_path)
        body = None if route.method in ("GET", "DELETE") else BODIES.get(route.name, {})
        for suffix in ("", "?namespace=mine"):
            answer = tenants.ask("theirs", route.method, path + suffix, body)
            assert answer.status < 500, (route.method, path, answer.body)
            assert CANARY.encode() not in answer.body, (route.method, path, answer.body)
            if suffix:
                assert answer.status == 404, (route.method, path, answer.status)
            elif _names_one(route):
                # A worker that is already gone can be deregistered again.
                statuses = (204,) if route.operation is remove_worker else (404, 409, 422, 400)
                assert answer.status in statuses, (route.method, path, answer.status)
    assert rows_of(tenants) == before
    assert tenants.ask("mine", "GET", f"/api/v1/runs/{names['run_id']}").json["status"] == "ENQUEUED"
    (worker,) = tenants.ask("mine", "GET", "/api/v1/instances").json
    assert worker["stopped_at"] is None


def _names_one(route: Route) -> bool:
    """Return whether a route needs an existing object. PUT creates one, and a queue need not exist."""
    return (
        bool(route.path_parameters)
        and route.method != "PUT"
        and not {"queue", "workflow_id"} & set(route.path_parameters)
    )


def test_lists_filters_and_cursors_stay_in_their_namespace(tenants: Tenants) -> None:
    for number in range(3):
        spec = {"cron": "* * * * *", "function": "tasks:work", "description": CANARY, "labels": {"team": CANARY}}
        tenants.made("PUT", f"/api/v1/schedules/s{number}", spec)
        tenants.made("POST", f"/api/v1/schedules/s{number}/trigger", {})
    lists = [f"/schedules?text={CANARY}", f"/schedules?label=team&label_value={CANARY}", "/runs", "/audit", "/keys"]
    lists += [
        "/workflows",
        "/calendars",
        "/notifications",
        "/instances",
        "/queues",
        "/upcoming",
        "/problems",
        "/forecast",
    ]
    for path in lists:
        answer = tenants.ask("theirs", "GET", f"/api/v1{path}")
        assert answer.status in (200, 400), (path, answer.body)
        assert CANARY.encode() not in answer.body, path
    for path, after in (("/schedules?limit=1", "after"), ("/audit?limit=1", "before"), ("/keys?limit=1", "after")):
        cursor = tenants.ask("mine", "GET", f"/api/v1{path}").json["next_page"] or "0"
        answer = tenants.ask("theirs", "GET", f"/api/v1{path}&{after}={cursor}")
        assert answer.status in (200, 400, 422)
        if answer.status == 200:
            own = [row for row in answer.json["items"] if "s0" in str(row) or "s1" in str(row)]
            assert own == [], path


def test_a_tampered_cursor_is_refused_or_stays_in_its_namespace(tenants: Tenants) -> None:
    tenants.made("PUT", "/api/v1/schedules/s1", {"cron": "* * * * *", "function": "tasks:work"})
    for cursor in ("0", "-1", "99999999999999999999", "' OR 1=1 --", "../..", "%00", "s1", "1-1-1", "a" * 5_000):
        for path, name in (("/schedules", "after"), ("/runs", "before"), ("/audit", "before"), ("/keys", "after")):
            answer = tenants.ask("theirs", "GET", f"/api/v1{path}?{name}={cursor.replace(' ', '+')}")
            assert answer.status in (200, 400, 404, 414, 422, 431), (path, cursor, answer.body)
            assert b"tasks:work" not in answer.body


SCHEDULE = {"cron": "0 0 * * *", "function": "tasks:work"}


def refused(answer: Response) -> bool:
    assert answer.status < 500, answer.body
    return answer.status in (400, 413, 422, 404)


def test_each_size_limit_accepts_the_limit_and_refuses_one_more(tenants: Tenants) -> None:
    def put(name: str, body: Any) -> Response:
        return tenants.ask("mine", "PUT", f"/api/v1/schedules/{name}", body)

    around = len('{"x":""}')
    for size, fine in ((PAYLOAD_BYTES, True), (PAYLOAD_BYTES + 1, False)):
        assert refused(put("payload", {**SCHEDULE, "payload": {"x": "y" * (size - around)}})) != fine
    assert put("n" * 200, SCHEDULE).status == 201
    assert refused(put("n" * 201, SCHEDULE))
    assert tenants.ask("mine", "GET", "/api/v1/schedules?limit=1000").status == 200
    for limit in ("1001", "0", "-1", "1e3", "9" * 400):
        assert refused(tenants.ask("mine", "GET", f"/api/v1/schedules?limit={limit}")), limit
    begin = b'{"cron": "0 0 * * *", "function": "tasks:work"'
    for size, status in ((BODY_BYTES, 201), (BODY_BYTES + 1, 413)):
        assert put("body", begin + b" " * (size - len(begin) - 1) + b"}").status == status


@pytest.mark.parametrize(
    "body",
    [
        b'{"payload": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"payload": ' + b'{"a":' * 9_000 + b"1" + b"}" * 9_000 + b"}",
        b'{"cron": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"payload": ' + b"9" * 5_000 + b"}",
        b'{"payload": -' + b"9" * 5_000 + b"}",
        b'{"max_concurrent": 9223372036854775808}',
        b'{"max_concurrent": -1}',
        b'{"jitter_ms": 1e309}',
        b'{"max_concurrent": true}',
        b'{"payload": 1e999999}',
        b'{"payload": NaN}',
        b'{"payload": -Infinity}',
        b'{"payload": "\\ud800"}',
        b'{"description": "\\u0000"}',
        b'{"labels": {"a": "\\u0000"}}',
        b'{"labels": {"\\u202e": "a"}}',
        b'{"labels": {"a": "\\udfff"}}',
        b'{"user_id": "a\\u2066b"}',
        b'{"timezone": "Europe/Berlin\\u0000"}',
        b'{"timezone": "../../etc/passwd"}',
        b'{"description": "\xff\xfe"}',
        b'{"payload": {"a": 1, "a": 2}}',
        b"[" * 9_000,
    ],
    ids=lambda body: repr(body[:24]),
)
def test_malformed_json_is_refused_without_side_effects(tenants: Tenants, body: bytes) -> None:
    whole = body if not body.startswith(b"{") else body[:-1] + b', "cron": "0 0 * * *", "function": "tasks:work"}'
    assert refused(tenants.ask("mine", "PUT", "/api/v1/schedules/hostile", whole))
    assert tenants.ask("mine", "GET", "/api/v1/schedules/hostile").status == 404
    assert tenants.ask("mine", "GET", "/api/v1/schedules").status == 200


DECEIVING = [
    "%00", "a%00b", "a%0Ab", "a%0D%0Ab", "%E2%80%AEtxt.exe", "a%E2%81%A6b", "a%E2%80%8Fb", "%ED%A0%80", "%FF",
    "%1B%5B31m", "a%7Fb", "%20a", "a%09",
]  # fmt: skip


@pytest.mark.parametrize("name", DECEIVING)
def test_deceptive_names_are_refused(tenants: Tenants, name: str) -> None:
    """NUL, line ends, right-to-left overrides, surrogates, bytes that are no text, and what colours a terminal."""
    assert refused(tenants.ask("mine", "PUT", f"/api/v1/schedules/{name}", SCHEDULE))


def test_a_backfill_of_ten_years_of_minutes_is_refused_quickly(tenants: Tenants) -> None:
    tenants.made("PUT", "/api/v1/schedules/often", {"cron": "* * * * *", "function": "tasks:work"})
    body = {"start": "2017-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}
    answer = tenants.ask("mine", "POST", "/api/v1/schedules/often/backfills", body)
    assert (answer.status, answer.json["code"]) == (422, "limit_exceeded")
    assert "max_backfill_ticks" in answer.json["detail"]
    assert tenants.ask("mine", "GET", "/api/v1/schedules/often/backfills").json == []


def test_counting_stops_when_a_backfill_exceeds_the_limit() -> None:
    """Ten years of minutes are five million ticks. The count stops at the limit, however long the range is."""
    clock = ManualClock(BEGIN)
    with closing(SqliteStore(clock=clock, inline=True)) as store:  # it works on this thread, whose calls are counted
        bench = Bench(store, clock)
        bench.ask(crud.create, "often", cron="* * * * *", function="tasks:work")
        _calls_to_refuse(bench, 2026)  # what the first call loads and compiles is not counted
        calls = {years: _calls_to_refuse(bench, 2027 - years) for years in (1, 10, 50)}
    assert max(calls.values()) < 1.5 * calls[1], calls


def _calls_to_refuse(bench: Bench, year: int) -> int:
    """Return the number of function calls, which does not depend on the load of the machine."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        with pytest.raises(LimitExceeded, match="max_backfill_ticks"):
            bench.ask(backfills.backfill, "often", f"{year}-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
    finally:
        sys.setprofile(None)
    return calls


def test_a_callback_token_is_valid_for_one_attempt_of_one_run(tenants: Tenants) -> None:
    """Forged, altered, signed with another secret, for another run, or repeated: nothing changes."""
    names = belongings(tenants)
    other = tenants.made("POST", "/api/v1/schedules/report/trigger", {})
    secret = tenants.runner.send(
        lambda session: session.transaction.secret_get_or_create(CALLBACKS, "x" * 64),
        namespace="", actor="test", writes=True, restricted=False,
    ).result(SECONDS)  # fmt: skip
    run_id, token = names["run_id"], signer(secret)(f"{names['run_id']}.0")

    def report(callback_token: str) -> int:
        return tenants.http("POST", "/api/v1/callbacks", {"token": callback_token, "event": "succeeded"}).status

    forged = [signer("y" * 64)(f"{run_id}.0"), "", "x", token[:-1], token + "0", token.upper(), f"{run_id}.0."]
    forged += [token.replace(run_id, other["run_id"]), token.replace(".0.", ".1.")]
    flipped = {"0": "1", "a": "b"}
    forged += [token[:index] + flipped.get(token[index], "0") + token[index + 1 :] for index in range(len(token))]
    assert {report(callback_token) for callback_token in forged if callback_token != token} <= {400, 404, 409, 422}
    for attempt in (1, 2):
        assert report(signer(secret)(f"{run_id}.{attempt}")) == 409, "of an attempt that is not the current one"
    assert tenants.ask("mine", "GET", f"/api/v1/runs/{run_id}").json["status"] == "ENQUEUED"
    assert report(token) == 200, "the one that is right"
    finished = tenants.ask("mine", "GET", f"/api/v1/runs/{run_id}").json
    for event in ("succeeded", "failed", "started", "heartbeat", "progress", "cancelled", "timed_out", "launch_failed"):
        again = tenants.http("POST", "/api/v1/callbacks", {"token": token, "event": event, "error": "forged"})
        assert again.status == 409, event
    assert tenants.ask("mine", "GET", f"/api/v1/runs/{run_id}").json == finished
    assert tenants.ask("mine", "GET", f"/api/v1/runs/{other['run_id']}").json["status"] == other["status"]


def test_a_revoked_key_stops_working_on_all_instances_within_five_seconds(migrated_url: str) -> None:
    """Three instances have the key in their cache."""
    assert api_key_cache.CACHE_TTL_S < 5
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(PostgresStore(migrated_url))) for _ in range(4)]
        runner = runner_of(stores[0])
        served = [
            stack.enter_context(closing(Served(runner_of(store), load({}, {"auth": "required"}))))
            for store in stores[1:]
        ]
        asking = [stack.enter_context(closing(Http(server.url))) for server in served]

        def create(session: OperationContext) -> Any:
            return api_keys.create_key(session, "ci", role="reader")

        key = runner.send(create, namespace="default", actor="ann", writes=True).result(SECONDS)
        headers = {"Authorization": f"Bearer {key.secret}"}
        assert [http("GET", "/api/v1/schedules", **headers).status for http in asking] == [200, 200, 200]

        accepted: list[float] = []

        def refuses(http: Http) -> bool:
            sent = time.monotonic()
            if http("GET", "/api/v1/schedules", **headers).status == 401:
                return True
            accepted.append(sent)
            return False

        def revoke(session: OperationContext) -> Any:
            return api_keys.revoke_key(session, key.key.key_id)

        runner.send(revoke, namespace="default", actor="ann", writes=True).result(SECONDS)
        revoked = time.monotonic()
        assert all(wait_until(partial(refuses, http)) for http in asking)
        assert max(accepted, default=revoked) - revoked < 5, "a request that was sent later was accepted"
