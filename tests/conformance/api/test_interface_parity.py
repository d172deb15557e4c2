"""Every interface, on every store, returns the same results and errors for the same scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest

from tests.conformance.api.plain_requests import ONE, REQUESTS, V1, PlainRequests, as_json
from tests.conformance.api.scenarios import SCENARIOS, result_of, results_of
from tests.support.command_line import WITHOUT_A_COMMAND, CommandLine
from tests.support.methods import methods_of
from tests.support.service import Direct
from tompion.contract.routes import ROUTES
from tompion.contract.stubs import OperationStub
from tompion.contract.sync_methods import SyncMethods
from tompion.model.api_key import ApiKey, NewKey
from tompion.model.page import Page
from tompion.operations.compat import service_routes
from tompion.operations.runs.remote_workers import (
    claim_runs,
    heartbeat_worker,
    register_worker,
    release_runs,
    remove_worker,
)
from tompion.operations.schedules.declare import declare

JOB = {"workflow_id": "flow", "cron_expr": "0 9 * * *", "overlap_policy": "queue", "catchup_policy": True}
SERVICE: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (service_routes.upsert_schedule, {"schedule_id": "daily/report", **JOB, "jitter_ms": 500, "request_id": "u1"}),
    (service_routes.upsert_schedule, {"schedule_id": "daily/report", **JOB, "cron": "@daily"}),
    (service_routes.upsert_schedule, {"schedule_id": "odd", **JOB, "timezone": "Mars/X"}),
    (service_routes.get_schedule, {"schedule_id": "daily/report"}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused_by": "ann"}),
    (service_routes.list_cron, {}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused": False}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused": "no"}),
    (service_routes.pause_cron, {"name": "daily/report"}),
    (service_routes.resume_cron, {"name": "daily/report"}),
    (service_routes.trigger_cron, {"name": "daily/report", "request_id": "t1"}),
    (service_routes.trigger_cron, {"name": "daily/report", "request_id": "t1"}),
    (service_routes.trigger_cron, {"name": "missing"}),
    (service_routes.launch_run, {"workflow_id": "flow", "idempotency_key": "k1", "version": 1, "user_id": "u1"}),
    (service_routes.list_cron, {"limit": 1}),
    (service_routes.delete_schedule, {"schedule_id": "daily/report"}),
    (service_routes.get_schedule, {"schedule_id": "daily/report"}),
    (service_routes.get_schedule, {"schedule_id": "missing"}),
]


@pytest.mark.parametrize("title", SCENARIOS)
def test_every_interface_returns_the_same_results(interface: SyncMethods, direct: SyncMethods, title: str) -> None:
    is_command_line = isinstance(interface, CommandLine)
    scenario = [step for step in SCENARIOS[title] if not (is_command_line and step in WITHOUT_A_COMMAND)]
    expected, actual = results_of(direct, scenario), results_of(interface, scenario)
    for step, wanted, result in zip(scenario, expected, actual, strict=True):
        assert result == wanted, step


@pytest.mark.parametrize("title", SCENARIOS)
def test_plain_requests_return_the_same_results(plain: PlainRequests, direct: Direct, title: str) -> None:
    """The clients and the service share the table of routes, so only plain requests find an error in it."""
    for name, args, kwargs in SCENARIOS[title]:
        expected = as_json(attrgetter(name)(direct), args, kwargs)
        assert attrgetter(name)(plain)(*args, **kwargs) == expected, (name, args, kwargs)


def test_compatibility_routes_return_the_same_results(plain: PlainRequests, direct: Direct) -> None:
    for operation, kwargs in SERVICE:
        expected = as_json(lambda it=operation, **named: direct._run_operation(it, (), named), (), kwargs)
        assert plain._run_operation(OperationStub("compat.service_routes", operation), (), kwargs) == expected, (
            operation.__name__,
            kwargs,
        )


def test_keys_behave_the_same_over_every_interface(interface: SyncMethods, direct: SyncMethods) -> None:
    """Ids and secrets are random, so they are left out."""
    for side in (interface, direct):
        created = side.keys.create("root", role="admin")
        assert created.secret.startswith(f"tpn_{created.key.key_id}_")
        revoke: Callable[[str], object] = side.keys.revoke
        assert revoke(created.key.key_id) is None
    assert key_results(interface) == key_results(direct)


def key_results(interface: SyncMethods) -> list[Any]:
    """Return the results of a scenario about keys, without their ids."""
    created = result_of(interface.keys.create, ("ci",), {"role": "editor", "expires_at": "2099-01-01T00:00:00+00:00"})
    revoking = [result_of(interface.keys.revoke, (created.key.key_id,), {}) for _ in range(2)]
    lists = [result_of(interface.keys.list, (), {}), result_of(interface.keys.list, (), {"limit": 0})]
    wrong = [
        result_of(interface.keys.create, ("x",), {"role": "emperor"}),
        result_of(interface.keys.create, ("x",), {"expires_at": "2020-01-01T00:00:00+00:00"}),
        result_of(interface.keys.revoke, ("missing",), {}),
    ]
    return [without_ids(result) for result in (created, *revoking, *lists, *wrong)]


def without_ids(answer: Any) -> Any:
    if isinstance(answer, NewKey):
        return without_ids(answer.key)
    if isinstance(answer, ApiKey):
        return replace(answer, key_id="")
    if isinstance(answer, Page):
        return sorted(map(str, map(without_ids, answer.items)))
    return answer


def test_the_scenarios_use_every_operation() -> None:
    used = {name for scenario in SCENARIOS.values() for name, _, _ in scenario} | {
        "keys.create",
        "keys.list",
        "keys.revoke",
    }
    assert set(methods_of(SyncMethods)) == used


def test_the_handwritten_table_has_every_route() -> None:
    """Routes for workers and declarations are not in the table."""
    by_hand = {*REQUESTS.values(), f"GET {ONE}/history", f"GET {V1}/audit"}
    served = {f"{route.method} {route.full_path}" for route in ROUTES}
    assert by_hand <= served
    requested = {route.operation for route in ROUTES if f"{route.method} {route.full_path}" in by_hand}
    assert {route.operation for route in ROUTES} - requested == {
        register_worker,
        claim_runs,
        heartbeat_worker,
        release_runs,
        remove_worker,
        declare,
    }
