"""Every change has a token, an audit row, a request id and a namespace."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.documentation.python_methods import operations, writes
from tests.support.operations import FUNCTION, Bench, when
from tompion.errors import RequestReused, ScheduleClosed, StaleToken
from tompion.operations.context import OperationContext
from tompion.operations.resources import calendars, targets, workflows
from tompion.operations.schedules import backfills, control, crud
from tompion.operations.schedules.history import history, restore, versions

BASE: dict[str, Any] = {"cron": "* * * * *", "function": FUNCTION}


class Change(NamedTuple):
    """A call on a schedule that exists, the same call with another argument, and the growth of the token."""

    name: str
    call: Callable[..., Any]
    other: dict[str, Any]
    grows: int
    args: tuple[Any, ...] = ("report",)
    fields: dict[str, Any] = {}  # noqa: RUF012 - a default that is never changed
    token: bool = True

    def send(self, bench: Bench, **more: Any) -> Any:
        return bench.ask(self.call, *self.args, **{**self.fields, **more})


CHANGES = [
    Change("upsert", crud.upsert, {"shadow": True}, 1, fields={**BASE, "description": "new"}),
    Change("update", crud.update, {"shadow": True}, 1, fields={**BASE, "description": "new"}),
    Change("patch", crud.patch, {"shadow": True}, 1, fields={"description": "new"}),
    Change("restore", restore, {"conflict_token": 1}, 1, args=("report", 1)),
    Change("delete", crud.delete, {"purge": True}, 1),
    Change("pause", control.pause, {"note": "other"}, 1, fields={"note": "why"}),
    Change("resume", control.resume, {"on_resume": "skip"}, 1),
    Change("skip", control.skip, {"note": "other"}, 1),
    Change("trigger", control.trigger, {"overlap": "skip"}, 0, token=False),
    Change(
        "backfill",
        backfills.backfill,
        {"only": "missing"},
        0,
        args=("report", when("07:00"), when("07:05")),
        token=False,
    ),
]
each_change = pytest.mark.parametrize("change", CHANGES, ids=[change.name for change in CHANGES])


@each_change
def test_a_change_increments_the_token(bench: Bench, change: Change) -> None:
    created = bench.create()
    change.send(bench)
    assert bench.get().conflict_token == created.conflict_token + change.grows


@each_change
def test_every_change_is_audited(bench: Bench, change: Change) -> None:
    bench.create()
    bench.go("08:00:40")
    change.send(bench, actor="bob", request_id="r-7")
    entries = bench.ask(history, "report").items
    newest = entries[0]
    assert (newest.operation, newest.actor, newest.request_id) == (change.name, "bob", "r-7")
    assert newest.at == when("08:00:40")
    assert newest.conflict_token == bench.get().conflict_token
    assert [entry.operation for entry in entries[1:]] == ["create"]


@each_change
def test_a_repeated_request_id_returns_the_first_answer(bench: Bench, change: Change) -> None:
    bench.create()
    first = change.send(bench, request_id="once")
    before = bench.dump()
    bench.go("08:00:50")
    assert change.send(bench, request_id="once") == first
    assert bench.dump() == before


@each_change
def test_a_request_id_of_another_request_is_rejected(bench: Bench, change: Change) -> None:
    bench.create()
    change.send(bench, request_id="once")
    before = bench.dump()
    with pytest.raises(RequestReused, match="once"):
        change.send(bench, request_id="once", **change.other)
    with pytest.raises(RequestReused):
        bench.ask(crud.create, "another", request_id="once", **BASE)
    assert bench.dump() == before


@pytest.mark.parametrize("change", [change for change in CHANGES if change.token], ids=lambda change: change.name)
def test_a_stale_token_changes_nothing(bench: Bench, change: Change) -> None:
    created = bench.create()
    bench.ask(crud.patch, "report", description="a concurrent edit")
    before = bench.dump()
    with pytest.raises(StaleToken) as caught:
        change.send(bench, conflict_token=created.conflict_token)
    assert caught.value.conflict_token == created.conflict_token + 1
    assert bench.dump() == before
    change.send(bench, conflict_token=created.conflict_token + 1)
    assert bench.get().conflict_token == created.conflict_token + 2


@each_change
def test_a_change_affects_one_namespace(bench: Bench, change: Change) -> None:
    """The same id exists in two namespaces. A change of one leaves every row of the other unchanged."""
    bench.create()
    bench.ask(crud.create, "report", namespace="other", **BASE)
    key = bench.state("report", "other").schedule_key

    def rows_of_other() -> list[Any]:
        dump = bench.dump()
        places = {"schedule_state": 0, "schedule_versions": 0, "schedule_runs": 1, "backfills": 1}
        keyed = [row for table, place in places.items() for row in dump[table] if row[place] == key]
        named = [row for table in ("schedules", "audit", "requests") for row in dump[table] if "other" in row]
        return [*named, *keyed]

    before = rows_of_other()
    change.send(bench, request_id="r")
    assert rows_of_other() == before
    change.send(bench, namespace="other", request_id="r")
    assert rows_of_other() != before


@pytest.mark.parametrize(
    "change", [change for change in CHANGES if change.name not in ("upsert", "delete")], ids=lambda change: change.name
)
def test_a_deleted_schedule_rejects_changes(bench: Bench, change: Change) -> None:
    bench.create()
    bench.ask(crud.delete, "report")
    before = bench.dump()
    with pytest.raises(ScheduleClosed):
        change.send(bench)
    assert bench.dump() == before


@each_change
def test_equivalent_arguments_are_the_same_request(bench: Bench, change: Change) -> None:
    """Positional or keyword arguments, with or without defaults: the request is the same."""
    bench.create()
    names = [name for name in inspect.signature(change.call).parameters if name != "context"]
    first = change.send(bench, request_id="once")
    named = dict(zip(names, change.args, strict=False))
    spelt = {"conflict_token": None} if change.token else {}
    before = bench.dump()
    assert bench.ask(change.call, **{**named, **change.fields, **spelt}, request_id="once") == first
    assert bench.dump() == before


# --- other resources --------------------------------------------------------------------------------------------------

OTHERS: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, Any]]] = [
    ("pause_target", targets.pause_target, {"queue": "q", "note": "why"},
     {"queue": "q", "paused": True, "note": "why"}),
    ("resume_target", targets.resume_target, {"workflow_id": "w"}, {"workflow": "w", "paused": False}),
    ("put_workflow", workflows.put_workflow, {"workflow_id": "w", "document": {}}, {"workflow_id": "w", "version": 1}),
    ("put_calendar", calendars.put_calendar, {"calendar": {"name": "c"}}, {"calendar": "c", "version": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "fields", "after"), OTHERS, ids=[case[0] for case in OTHERS])
def test_a_change_of_another_resource_is_audited_and_applied_once(
    bench: Bench, name: str, call: Callable[..., Any], fields: dict[str, Any], after: dict[str, Any]
) -> None:
    """Regression: a paused queue left no audit row."""
    first = bench.ask(call, **fields, request_id="r-1", actor="bob")
    before = bench.dump()
    assert bench.ask(call, **fields, request_id="r-1") == first
    assert bench.dump() == before
    (change,) = bench.ask(history).items
    assert (change.operation, change.actor, change.request_id, change.schedule_id) == (name, "bob", "r-1", "")
    assert (change.after, change.definition_version) == (after, after.get("version", 0))
    assert bench.ask(history, namespace="other").items == ()
    with pytest.raises(RequestReused):
        bench.ask(crud.create, "another", request_id="r-1", **BASE)


def test_the_audit_of_another_resource_has_the_previous_value(bench: Bench) -> None:
    for document in ({"function": "a:b"}, {"function": "a:b"}, {"function": "a:c"}):
        bench.ask(workflows.put_workflow, "etl", document)
    for dates in ([], ["2027-12-24"]):
        bench.ask(calendars.put_calendar, {"name": "c", "dates": dates})
    for call in (targets.pause_target, targets.pause_target, targets.resume_target, targets.resume_target):
        bench.ask(call, workflow_id="etl")
    changes = reversed(bench.ask(history).items)
    assert [(change.operation, change.before) for change in changes] == [
        ("put_workflow", None),
        ("put_workflow", {"version": 1}),
        ("put_calendar", None),
        ("put_calendar", {"version": 1}),
        ("pause_target", {"paused": False}),
        ("pause_target", {"paused": True}),
        ("resume_target", {"paused": True}),
        ("resume_target", {"paused": False}),
    ]


def test_every_change_takes_a_request_id() -> None:
    """A lost answer must not lead to a second change. A launch has its key, a report its fence.

    The answer to a new API key is its secret, which is not stored.
    """
    changes = [operation for operation in operations() if writes(operation)]
    assert len(changes) == 33
    assert [
        operation.__name__ for operation in changes if "request_id" not in inspect.signature(operation).parameters
    ] == [
        "start_run",
        "report_run",
        "create_key",
    ]


# --- create, upsert, update, patch ------------------------------------------------------------------------------------


def test_create_returns_the_stored_schedule(bench: Bench) -> None:
    schedule = bench.create(payload={"a": [1]}, labels={"team": "x"}, description="daily", user_id="u1", timezone="UTC")
    assert schedule == bench.get()
    assert (schedule.status, schedule.definition_version, schedule.conflict_token, schedule.in_flight) == (
        "active",
        1,
        1,
        0,
    )
    assert (schedule.next_run_at, schedule.next_fire_at) == (when("08:01"), when("08:01"))
    assert schedule.definition.payload == {"a": [1]}
    assert schedule.definition.labels == (("team", "x"),)
    assert schedule.created_at == schedule.updated_at == when("08:00:30")


def test_create_without_an_id_generates_one(bench: Bench) -> None:
    schedule = bench.ask(crud.create, None, **BASE)
    assert schedule.schedule_id.startswith("s-")
    again = [bench.ask(crud.create, None, request_id="r", **BASE) for _ in range(2)]
    assert again[0] == again[1]


def test_create_can_pause_the_schedule(bench: Bench) -> None:
    schedule = bench.create(paused=True, remaining_actions=3)
    assert (schedule.status, schedule.paused_by, schedule.next_fire_at, schedule.remaining_actions) == (
        "paused",
        "ann",
        None,
        3,
    )
    bench.go("08:01")
    assert bench.worker().tick() == []


def test_a_name_may_be_any_text(bench: Bench) -> None:
    for name in ("Täglicher Bericht", "日報", "a/b:c=d", "🦊"):
        bench.create(name)
        assert bench.get(name).schedule_id == name


def test_upsert_creates_and_replaces(bench: Bench) -> None:
    """An absent field gets its default. The state of the schedule stays."""
    schedule = bench.ask(crud.upsert, "report", description="one", shadow=True, remaining_actions=5, **BASE)
    assert schedule.conflict_token == 1
    replaced = bench.ask(crud.upsert, "report", **BASE)
    assert (replaced.definition.description, replaced.definition.policy.shadow) == ("", False)
    assert (replaced.remaining_actions, replaced.cursor, replaced.definition_version) == (5, schedule.cursor, 2)


def test_an_unchanged_upsert_changes_nothing(bench: Bench) -> None:
    created = bench.create()
    before = bench.dump()
    assert bench.ask(crud.upsert, "report", **BASE) == created
    assert bench.dump() == before


def test_upsert_with_paused_pauses_and_resumes(bench: Bench) -> None:
    bench.create()
    assert bench.ask(crud.upsert, "report", paused=True, **BASE).status == "paused"
    assert bench.ask(crud.upsert, "report", **BASE).status == "paused"
    assert bench.ask(crud.upsert, "report", paused=False, **BASE).status == "active"


def test_patch_keeps_the_other_fields(bench: Bench) -> None:
    bench.create(description="daily", labels={"a": "b"}, max_attempts=3, payload=[1])
    definition = bench.ask(crud.patch, "report", timezone="Europe/Berlin", overlap_policy="buffer_all").definition
    assert (definition.description, definition.labels, definition.payload) == ("daily", (("a", "b"),), [1])
    assert (definition.policy.max_attempts, definition.policy.overlap_policy) == (3, "queue")
    assert (definition.spec.cron, definition.spec.timezone) == (("* * * * *",), "Europe/Berlin")


def test_a_patch_without_fields_changes_nothing(bench: Bench) -> None:
    """Regression: it took a token, so the token of an earlier read became stale."""
    schedule = bench.create()
    before = bench.dump()
    bench.go("08:00:45")
    assert bench.ask(crud.patch, "report") == schedule
    assert bench.ask(crud.patch, "report", conflict_token=schedule.conflict_token) == schedule
    with pytest.raises(StaleToken):
        bench.ask(crud.patch, "report", conflict_token=schedule.conflict_token + 1)
    assert bench.dump() == before


def test_patch_changes_the_kind_of_action(bench: Bench) -> None:
    bench.create()
    bench.store_workflow("w")
    assert bench.ask(crud.patch, "report", workflow_id="w").definition.action.function is None
    assert bench.ask(crud.patch, "report", function="a:b").definition.action.workflow_id is None


def test_history_has_the_previous_values(bench: Bench) -> None:
    bench.create(description="one")
    bench.ask(crud.patch, "report", description="two", actor="bob")
    bench.pause(note="why", actor="cleo")
    paused, patched, created = bench.ask(history, "report").items
    assert (created.actor, created.before, created.after["description"]) == ("ann", None, "one")
    assert (patched.actor, patched.before["description"], patched.after["description"]) == ("bob", "one", "two")
    assert (paused.before, paused.after["status"], paused.after["note"]) == ({"status": "active"}, "paused", "why")


def test_history_comes_in_pages(bench: Bench) -> None:
    bench.create()
    for number in range(6):
        bench.ask(crud.patch, "report", description=str(number))
    seen, before = [], None
    while True:
        page = bench.ask(history, "report", limit=3, before=before)
        seen += [change.conflict_token for change in page.items]
        before = page.next_page
        if before is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_an_earlier_version_can_be_restored(bench: Bench) -> None:
    bench.create(description="one")
    bench.go("08:01:30")
    bench.worker().tick()
    bench.ask(crud.patch, "report", cron="*/2 * * * *", description="two", actor="bob")
    two, one = bench.ask(versions, "report")
    assert (one.version, one.definition.description, one.author) == (1, "one", "ann")
    assert (two.version, two.definition.description, two.author, two.decides_until) == (2, "two", "bob", None)
    assert one.decides_until == two.decides_after
    restored = bench.ask(restore, "report", 1)
    assert (restored.definition_version, restored.definition) == (3, one.definition)


def test_delete_keeps_the_history(bench: Bench) -> None:
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle()
    closed = bench.ask(crud.delete, "report")
    assert (closed.status, closed.next_run_at, closed.next_fire_at) == ("closed", None, None)
    assert bench.get() == closed
    assert bench.outcomes() == ["08:01 SUCCESS"]
    bench.go("08:02")
    assert worker.tick() == []


def test_purge_removes_everything_but_the_audit(bench: Bench) -> None:
    bench.ask(calendars.put_calendar, {"name": "c", "dates": ["2027-12-25"]})
    bench.create(exclude={"named": ["c"]})
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle()
    bench.backfill("07:00", "07:01")
    bench.go("08:05")
    bench.ask(crud.delete, "report", purge=True)
    dump = bench.dump()
    for table in ("schedules", "schedule_versions", "schedule_state", "schedule_runs", "dropped_ranges", "backfills"):
        assert dump[table] == [], table
    assert dump["calendar_uses"] == []
    assert bench.ask(history, "report").items[0].operation == "purge"


def test_a_deleted_schedule_can_be_purged_later(bench: Bench) -> None:
    bench.create()
    bench.ask(crud.delete, "report")
    bench.go("08:01")
    bench.ask(crud.delete, "report", purge=True)
    assert bench.dump()["schedules"] == []


def test_a_recreated_schedule_starts_with_fresh_state(bench: Bench) -> None:
    bench.create(remaining_actions=1, description="old")
    bench.ask(crud.delete, "report")
    bench.go("08:00:45")
    schedule = bench.create(description="new")
    assert (schedule.status, schedule.definition_version, schedule.remaining_actions) == ("active", 2, None)
    assert schedule == bench.get()


def test_a_pause_survives_delete_and_create(bench: Bench) -> None:
    """A redeployment that deletes and recreates a paused schedule must not start it."""
    bench.create()
    bench.pause(until=when("09:00"), note="incident 7")
    bench.ask(crud.delete, "report")
    bench.go("08:10")
    schedule = bench.create()
    assert (schedule.status, schedule.note, schedule.paused_until) == ("paused", "incident 7", when("09:00"))
    assert bench.worker().tick() == []
    bench.ask(crud.delete, "report")
    assert bench.create(paused=False).status == "active"
    assert bench.worker().tick() == ["08:10"]


def test_a_pause_can_end_while_the_schedule_is_deleted(bench: Bench) -> None:
    bench.create(catchup_policy="fire_immediately")
    bench.pause(until=when("08:05"))
    bench.ask(crud.delete, "report")
    bench.go("08:10:30")
    bench.create(catchup_policy="fire_immediately")
    worker = bench.worker()
    assert worker.tick() == []
    assert bench.get().status == "active"
    bench.go("08:11")
    assert worker.tick() == ["08:11"]


def test_the_time_of_an_operation_is_fixed(bench: Bench) -> None:
    """An operation context is one transaction of one actor, with one time."""

    def work(transaction: Any) -> tuple[int, int]:
        session = OperationContext(transaction, bench.settings, "default", "ann")
        first = session.now_ms
        bench.clock.advance(5)
        return first, session.now_ms

    first, second = bench.write(work)
    assert first == second


def test_a_change_of_the_workflow_drops_the_pinned_version(bench: Bench) -> None:
    bench.store_workflow("etl", versions=3)
    bench.store_workflow("report")
    bench.ask(crud.create, "flow", cron="* * * * *", workflow_id="etl", workflow_version=3)
    assert bench.ask(crud.patch, "flow", user_id="u").definition.action.workflow_version == 3
    assert bench.ask(crud.patch, "flow", workflow_id="etl").definition.action.workflow_version == 3
    assert bench.ask(crud.patch, "flow", workflow_id="report").definition.action.workflow_version is None
    assert bench.ask(crud.patch, "flow", workflow_id="etl", workflow_version=2).definition.action.workflow_version == 2
