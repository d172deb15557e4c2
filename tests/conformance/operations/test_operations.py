"""What is true of every change: its token, its audit row, its request id, its namespace."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.support.operations import FUNCTION, Bench, when
from tompion.contract.methods import AsyncMethods, _Async
from tompion.errors import RequestReused, ScheduleClosed, StaleToken
from tompion.operations.context import OperationContext
from tompion.operations.resources import calendars, targets, workflows
from tompion.operations.schedules import backfills, control, crud
from tompion.operations.schedules.history import history, restore, versions

BASE: dict[str, Any] = {"cron": "* * * * *", "function": FUNCTION}


class Change(NamedTuple):
    """A call on a schedule that exists, the same call with something else, and by how much the token grows."""

    name: str
    call: Callable[..., Any]
    other: dict[str, Any]
    grows: int
    args: tuple[Any, ...] = ("report",)
    given: dict[str, Any] = {}  # noqa: RUF012 - a default that nobody changes
    token: bool = True

    def send(self, bench: Bench, **more: Any) -> Any:
        return bench.ask(self.call, *self.args, **{**self.given, **more})


CHANGES = [
    Change("upsert", crud.upsert, {"shadow": True}, 1, given={**BASE, "description": "new"}),
    Change("update", crud.update, {"shadow": True}, 1, given={**BASE, "description": "new"}),
    Change("patch", crud.patch, {"shadow": True}, 1, given={"description": "new"}),
    Change("restore", restore, {"token": 1}, 1, args=("report", 1)),
    Change("delete", crud.delete, {"purge": True}, 1),
    Change("pause", control.pause, {"note": "other"}, 1, given={"note": "why"}),
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
def test_the_token_grows_by_one_where_something_changed(bench: Bench, change: Change) -> None:
    created = bench.create()
    change.send(bench)
    assert bench.get().token == created.token + change.grows


@each_change
def test_every_change_is_on_record(bench: Bench, change: Change) -> None:
    bench.create()
    bench.go("08:00:40")
    change.send(bench, actor="bob", request_id="r-7")
    entries = bench.ask(history, "report").items
    newest = entries[0]
    assert (newest.operation, newest.actor, newest.request_id) == (change.name, "bob", "r-7")
    assert newest.at == when("08:00:40")
    assert newest.token == bench.get().token
    assert [each.operation for each in entries[1:]] == ["create"]


@each_change
def test_the_same_request_is_answered_once(bench: Bench, change: Change) -> None:
    bench.create()
    first = change.send(bench, request_id="once")
    before = bench.dump()
    bench.go("08:00:50")
    assert change.send(bench, request_id="once") == first
    assert bench.dump() == before


@each_change
def test_a_request_id_is_for_one_request(bench: Bench, change: Change) -> None:
    bench.create()
    change.send(bench, request_id="once")
    before = bench.dump()
    with pytest.raises(RequestReused, match="once"):
        change.send(bench, request_id="once", **change.other)
    with pytest.raises(RequestReused):
        bench.ask(crud.create, "another", request_id="once", **BASE)
    assert bench.dump() == before


@pytest.mark.parametrize("change", [each for each in CHANGES if each.token], ids=lambda each: each.name)
def test_a_stale_token_changes_nothing(bench: Bench, change: Change) -> None:
    created = bench.create()
    bench.ask(crud.patch, "report", description="somebody was quicker")
    before = bench.dump()
    with pytest.raises(StaleToken) as caught:
        change.send(bench, token=created.token)
    assert caught.value.token == created.token + 1
    assert bench.dump() == before
    change.send(bench, token=created.token + 1)
    assert bench.get().token == created.token + 2


@each_change
def test_namespaces_never_mix(bench: Bench, change: Change) -> None:
    """The same id in two namespaces: a change of one leaves every row of the other as it was."""
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
    "change", [each for each in CHANGES if each.name not in ("upsert", "delete")], ids=lambda each: each.name
)
def test_a_deleted_schedule_takes_no_change(bench: Bench, change: Change) -> None:
    bench.create()
    bench.ask(crud.delete, "report")
    before = bench.dump()
    with pytest.raises(ScheduleClosed):
        change.send(bench)
    assert bench.dump() == before


@each_change
def test_the_same_request_however_it_is_written(bench: Bench, change: Change) -> None:
    """Arguments by position or by name, defaults spelt out or not: what is asked for is the same."""
    bench.create()
    names = [name for name in inspect.signature(change.call).parameters if name != "context"]
    first = change.send(bench, request_id="once")
    named = dict(zip(names, change.args, strict=False))
    spelt = {"token": None} if change.token else {}
    before = bench.dump()
    assert bench.ask(change.call, **{**named, **change.given, **spelt}, request_id="once") == first
    assert bench.dump() == before


# --- what is not a schedule -------------------------------------------------------------------------------------------

OTHERS: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, Any]]] = [
    ("pause_target", targets.pause_target, {"queue": "q", "note": "why"},
     {"queue": "q", "paused": True, "note": "why"}),
    ("resume_target", targets.resume_target, {"workflow_id": "w"}, {"workflow": "w", "paused": False}),
    ("put_workflow", workflows.put_workflow, {"workflow_id": "w", "document": {}}, {"workflow_id": "w", "version": 1}),
    ("put_calendar", calendars.put_calendar, {"calendar": {"name": "c"}}, {"calendar": "c", "version": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "given", "after"), OTHERS, ids=[each[0] for each in OTHERS])
def test_a_change_of_something_else_is_on_record_and_done_once(
    bench: Bench, name: str, call: Callable[..., Any], given: dict[str, Any], after: dict[str, Any]
) -> None:
    """Somebody paused a queue, and nobody could say who: these changes left no trace."""
    first = bench.ask(call, **given, request_id="r-1", actor="bob")
    before = bench.dump()
    assert bench.ask(call, **given, request_id="r-1") == first
    assert bench.dump() == before
    (change,) = bench.ask(history).items
    assert (change.operation, change.actor, change.request_id, change.schedule_id) == (name, "bob", "r-1", "")
    assert (change.after, change.version) == (after, after.get("version", 0))
    assert bench.ask(history, namespace="other").items == ()
    with pytest.raises(RequestReused):
        bench.ask(crud.create, "another", request_id="r-1", **BASE)


def test_a_change_of_something_else_says_how_it_was_before(bench: Bench) -> None:
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
    """So that no answer that is lost on the way leads to a second change; a launch has its key, a report its fence.

    The answer to a new API key is its secret, which is not kept.
    """
    members = [member for member in vars(AsyncMethods).values() if isinstance(member, _Async)]
    changes = [member.operation for member in members if member.writes]
    assert len(changes) == 30
    assert [each.__name__ for each in changes if "request_id" not in inspect.signature(each).parameters] == [
        "start_run",
        "report_run",
        "create_key",
    ]


# --- create, upsert, update, patch ------------------------------------------------------------------------------------


def test_create_answers_with_what_is_stored(bench: Bench) -> None:
    made = bench.create(payload={"a": [1]}, labels={"team": "x"}, description="daily", user_id="u1", timezone="UTC")
    assert made == bench.get()
    assert (made.state, made.version, made.token, made.in_flight) == ("active", 1, 1, 0)
    assert (made.next_run_at, made.next_fire_at) == (when("08:01"), when("08:01"))
    assert made.definition.payload == {"a": [1]}
    assert made.definition.labels == (("team", "x"),)
    assert made.created_at == made.updated_at == when("08:00:30")


def test_create_without_an_id_makes_one(bench: Bench) -> None:
    made = bench.ask(crud.create, None, **BASE)
    assert made.schedule_id.startswith("s-")
    again = [bench.ask(crud.create, None, request_id="r", **BASE) for _ in range(2)]
    assert again[0] == again[1]


def test_create_paused(bench: Bench) -> None:
    made = bench.create(paused=True, remaining_actions=3)
    assert (made.state, made.paused_by, made.next_fire_at, made.remaining_actions) == ("paused", "ann", None, 3)
    bench.go("08:01")
    assert bench.worker().tick() == []


def test_a_name_may_be_any_text(bench: Bench) -> None:
    for name in ("Täglicher Bericht", "日報", "a/b:c=d", "🦊"):
        bench.create(name)
        assert bench.get(name).schedule_id == name


def test_upsert_creates_and_replaces(bench: Bench) -> None:
    """What is not named goes back to its default; what is no part of the definition stays."""
    made = bench.ask(crud.upsert, "report", description="one", shadow=True, remaining_actions=5, **BASE)
    assert made.token == 1
    replaced = bench.ask(crud.upsert, "report", **BASE)
    assert (replaced.definition.description, replaced.definition.policy.shadow) == ("", False)
    assert (replaced.remaining_actions, replaced.cursor, replaced.version) == (5, made.cursor, 2)


def test_upsert_of_the_same_is_no_new_version(bench: Bench) -> None:
    bench.create()
    again = bench.ask(crud.upsert, "report", **BASE)
    assert (again.version, again.token) == (1, 2)


def test_upsert_resumes_and_pauses_where_it_says_so(bench: Bench) -> None:
    bench.create()
    assert bench.ask(crud.upsert, "report", paused=True, **BASE).state == "paused"
    assert bench.ask(crud.upsert, "report", **BASE).state == "paused"
    assert bench.ask(crud.upsert, "report", paused=False, **BASE).state == "active"


def test_patch_leaves_the_rest(bench: Bench) -> None:
    bench.create(description="daily", labels={"a": "b"}, max_attempts=3, payload=[1])
    found = bench.ask(crud.patch, "report", timezone="Europe/Berlin", overlap_policy="buffer_all").definition
    assert (found.description, found.labels, found.payload) == ("daily", (("a", "b"),), [1])
    assert (found.policy.max_attempts, found.policy.overlap_policy) == (3, "queue")
    assert (found.spec.cron, found.spec.timezone) == (("* * * * *",), "Europe/Berlin")


def test_a_patch_without_fields_changes_nothing(bench: Bench) -> None:
    """It took a token, and whoever had read the schedule before was told that it was stale."""
    made = bench.create()
    before = bench.dump()
    bench.go("08:00:45")
    assert bench.ask(crud.patch, "report") == made
    assert bench.ask(crud.patch, "report", token=made.token) == made
    with pytest.raises(StaleToken):
        bench.ask(crud.patch, "report", token=made.token + 1)
    assert bench.dump() == before


def test_patch_changes_the_kind_of_action(bench: Bench) -> None:
    bench.create()
    assert bench.ask(crud.patch, "report", workflow_id="w").definition.action.function is None
    assert bench.ask(crud.patch, "report", function="a:b").definition.action.workflow_id is None


def test_history_says_how_it_was_before(bench: Bench) -> None:
    bench.create(description="one")
    bench.ask(crud.patch, "report", description="two", actor="bob")
    bench.pause(note="why", actor="cleo")
    paused, patched, created = bench.ask(history, "report").items
    assert (created.actor, created.before, created.after["description"]) == ("ann", None, "one")
    assert (patched.actor, patched.before["description"], patched.after["description"]) == ("bob", "one", "two")
    assert (paused.before, paused.after["state"], paused.after["note"]) == ({"state": "active"}, "paused", "why")


def test_history_comes_in_pages(bench: Bench) -> None:
    bench.create()
    for number in range(6):
        bench.ask(crud.patch, "report", description=str(number))
    seen, before = [], None
    while True:
        page = bench.ask(history, "report", limit=3, before=before)
        seen += [change.token for change in page.items]
        before = page.next_page
        if before is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_versions_and_restore(bench: Bench) -> None:
    bench.create(description="one")
    bench.go("08:01:30")
    bench.worker().tick()
    bench.ask(crud.patch, "report", cron="*/2 * * * *", description="two", actor="bob")
    two, one = bench.ask(versions, "report")
    assert (one.version, one.definition.description, one.author) == (1, "one", "ann")
    assert (two.version, two.definition.description, two.author, two.decides_until) == (2, "two", "bob", None)
    assert one.decides_until == two.decides_after
    restored = bench.ask(restore, "report", 1)
    assert (restored.version, restored.definition) == (3, one.definition)


def test_delete_keeps_the_history(bench: Bench) -> None:
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle()
    closed = bench.ask(crud.delete, "report")
    assert (closed.state, closed.next_run_at, closed.next_fire_at) == ("closed", None, None)
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


def test_create_again_begins_afresh(bench: Bench) -> None:
    bench.create(remaining_actions=1, description="old")
    bench.ask(crud.delete, "report")
    bench.go("08:00:45")
    made = bench.create(description="new")
    assert (made.state, made.version, made.remaining_actions) == ("active", 2, None)
    assert made == bench.get()


def test_a_pause_survives_delete_and_create(bench: Bench) -> None:
    """A redeployment that deletes and creates again must not start what somebody has paused."""
    bench.create()
    bench.pause(until=when("09:00"), note="incident 7")
    bench.ask(crud.delete, "report")
    bench.go("08:10")
    made = bench.create()
    assert (made.state, made.pause_note, made.paused_until) == ("paused", "incident 7", when("09:00"))
    assert bench.worker().tick() == []
    bench.ask(crud.delete, "report")
    assert bench.create(paused=False).state == "active"
    assert bench.worker().tick() == ["08:10"]


def test_a_pause_that_ended_while_the_schedule_was_deleted(bench: Bench) -> None:
    bench.create(catchup_policy="fire_immediately")
    bench.pause(until=when("08:05"))
    bench.ask(crud.delete, "report")
    bench.go("08:10:30")
    bench.create(catchup_policy="fire_immediately")
    worker = bench.worker()
    assert worker.tick() == []
    assert bench.get().state == "active"
    bench.go("08:11")
    assert worker.tick() == ["08:11"]


def test_sessions_say_who_asks(bench: Bench) -> None:
    """A session is a transaction on somebody's behalf; its time is one moment."""

    def work(transaction: Any) -> tuple[int, int]:
        session = OperationContext(transaction, bench.settings, "default", "ann")
        first = session.now_ms
        bench.clock.advance(5)
        return first, session.now_ms

    first, second = bench.write(work)
    assert first == second


def test_another_workflow_has_its_own_versions(bench: Bench) -> None:
    bench.ask(crud.create, "flow", cron="* * * * *", workflow_id="etl", workflow_version=3)
    assert bench.ask(crud.patch, "flow", user_id="u").definition.action.workflow_version == 3
    assert bench.ask(crud.patch, "flow", workflow_id="etl").definition.action.workflow_version == 3
    assert bench.ask(crud.patch, "flow", workflow_id="report").definition.action.workflow_version is None
    assert bench.ask(crud.patch, "flow", workflow_id="etl", workflow_version=2).definition.action.workflow_version == 2
