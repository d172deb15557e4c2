"""The same stories through every door, on every store: the same answers, and the same errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.api.plain_requests import ONE, REQUESTS, V1, PlainRequests, as_json
from tests.conformance.api.scenarios import STORIES, answered, told
from tests.support.command_line import UNSAYABLE, CommandLine
from tests.support.service import Direct
from tompion.contract.methods import SyncMethods, _Sync
from tompion.contract.routes import ROUTES
from tompion.model.page import Page
from tompion.model.security import ApiKey, NewKey
from tompion.operations.compat import service_routes
from tompion.operations.runs.remote_workers import claim_runs, heartbeat_worker, register_worker, remove_worker
from tompion.operations.schedules.declare import declare

JOB = {"workflow_id": "flow", "cron_expr": "0 9 * * *", "overlap_policy": "queue", "catchup_policy": True}
SERVICE: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (service_routes.upsert_schedule, {"schedule_id": "daily/report", **JOB, "jitter_ms": 500, "request_id": "u1"}),
    (service_routes.upsert_schedule, {"schedule_id": "daily/report", **JOB, "cron": "@daily"}),
    (service_routes.upsert_schedule, {"schedule_id": "odd", **JOB, "timezone": "Mars/X"}),
    (service_routes.show_schedule, {"schedule_id": "daily/report"}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused_by": "ann"}),
    (service_routes.list_cron, {}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused": False}),
    (service_routes.pause_schedule, {"schedule_id": "daily/report", "paused": "no"}),
    (service_routes.pause_cron, {"name": "daily/report"}),
    (service_routes.resume_cron, {"name": "daily/report"}),
    (service_routes.trigger_cron, {"name": "daily/report", "request_id": "t1"}),
    (service_routes.trigger_cron, {"name": "daily/report", "request_id": "t1"}),
    (service_routes.trigger_cron, {"name": "nobody"}),
    (service_routes.launch_run, {"workflow_id": "flow", "idempotency_key": "k1", "version": 1, "user_id": "u1"}),
    (service_routes.list_cron, {"limit": 1}),
    (service_routes.delete_schedule, {"schedule_id": "daily/report"}),
    (service_routes.show_schedule, {"schedule_id": "daily/report"}),
    (service_routes.show_schedule, {"schedule_id": "nobody"}),
]


@pytest.mark.parametrize("title", STORIES)
def test_every_interface_returns_the_same_results(door: SyncMethods, direct: SyncMethods, title: str) -> None:
    story = [each for each in STORIES[title] if not (isinstance(door, CommandLine) and each in UNSAYABLE)]
    for line, here, there in zip(story, told(direct, story), told(door, story), strict=True):
        assert there == here, line


@pytest.mark.parametrize("title", STORIES)
def test_plain_requests_return_the_same_results(plain: PlainRequests, direct: Direct, title: str) -> None:
    """The clients cannot show a mistake in the table of routes, because they read it as the service does."""
    for name, args, given in STORIES[title]:
        here = as_json(getattr(direct, name), args, given)
        assert getattr(plain, name)(*args, **given) == here, (name, args, given)


def test_compatibility_routes_return_the_same_results(plain: PlainRequests, direct: Direct) -> None:
    for operation, given in SERVICE:
        here = as_json(lambda asked=operation, **named: direct._run_operation(asked, (), named), (), given)
        assert plain._run_operation(operation, (), given) == here, (operation.__name__, given)


def test_keys_behave_the_same_over_every_interface(door: SyncMethods, direct: SyncMethods) -> None:
    """But for what is random in them."""
    for asked in (door, direct):
        made = asked.create_key("root", role="admin")
        assert made.secret.startswith(f"tpn_{made.key.key_id}_")
        assert asked.revoke_key(made.key.key_id) is True
    there, here = [keys_of(each) for each in (door, direct)]
    assert there == here


def keys_of(door: SyncMethods) -> list[Any]:
    """A story of keys, with their ids taken out."""
    made = answered(door.create_key, ("ci",), {"role": "editor", "expires_at": "2099-01-01T00:00:00+00:00"})
    revoking = [answered(door.revoke_key, (made.key.key_id,), {}) for _ in range(2)]
    lists = [answered(door.list_keys, (), {}), answered(door.list_keys, (), {"limit": 0})]
    wrong = [
        answered(door.create_key, ("x",), {"role": "emperor"}),
        answered(door.create_key, ("x",), {"expires_at": "2020-01-01T00:00:00+00:00"}),
        answered(door.revoke_key, ("nobody",), {}),
    ]
    return [without_ids(each) for each in (made, *revoking, *lists, *wrong)]


def without_ids(answer: Any) -> Any:
    if isinstance(answer, NewKey):
        return without_ids(answer.key)
    if isinstance(answer, ApiKey):
        return replace(answer, key_id="")
    if isinstance(answer, Page):
        return sorted(map(str, map(without_ids, answer.items)))
    return answer


def test_the_scenarios_use_every_operation() -> None:
    told_of = {name for story in STORIES.values() for name, _, _ in story} | {"create_key", "list_keys", "revoke_key"}
    assert {name for name, member in vars(SyncMethods).items() if isinstance(member, _Sync)} <= told_of


def test_the_handwritten_table_has_every_route() -> None:
    """But for those that only workers and declaring programs use, and second names of the same."""
    by_hand = {*REQUESTS.values(), f"GET {ONE}/history", f"GET {V1}/audit"}
    served = {f"{route.method} {route.full_path}" for route in ROUTES}
    assert by_hand <= served
    asked = {route.operation for route in ROUTES if f"{route.method} {route.full_path}" in by_hand}
    assert {route.operation for route in ROUTES} - asked == {
        register_worker,
        claim_runs,
        heartbeat_worker,
        remove_worker,
        declare,
    }
