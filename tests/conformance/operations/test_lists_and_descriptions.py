"""Lists and their pages, runs, dropped ranges, descriptions, and the verification of a ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.operations import DAY, Bench, at, shown, when
from tompion.encoding.bounded_text import json_value
from tompion.errors import NotFound
from tompion.model.run import RunState
from tompion.operations.compat.temporal_reads import temporal_view
from tompion.operations.resources import calendars, targets, workflows
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, crud, history
from tompion.operations.verify.schedule import verify
from tompion.store.tables import schedules


@pytest.fixture
def many(bench: Bench) -> Bench:
    """Schedules of every kind."""
    bench.create("a-daily", labels={"team": "x", "tier": "1"}, description="The Daily Report", user_id="u1")
    bench.create("b-paused", labels={"team": "y"}, user_id="u2", paused=True)
    bench.create("c-flow", workflow_id="etl", labels={"team": "x"})
    bench.create("d-closed", labels={"team": "x"})
    bench.ask(crud.delete, "d-closed")
    bench.create("e-done", remaining_actions=0)
    bench.create("f-Ünïcode", user_id="u1")
    bench.ask(crud.create, "z-other", namespace="other", cron="* * * * *", function="a:b", user_id="u1")
    return bench


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, "abcef"),
        ({"status": "active"}, "acf"),
        ({"status": "paused"}, "b"),
        ({"status": "closed"}, "d"),
        ({"status": "exhausted"}, "e"),
        ({"workflow_id": "etl"}, "c"),
        ({"workflow_id": "nothing"}, ""),
        ({"user_id": "u1"}, "af"),
        ({"label": "team=x"}, "ac"),
        ({"label": "tier=1"}, "a"),
        ({"label": "team="}, ""),
        ({"label": "team=x", "status": "closed"}, "d"),
        ({"label": "team=x", "status": "paused"}, ""),
        ({"text": "PAUS", "status": "paused", "user_id": "u2"}, "b"),
        ({"text": "daily", "status": "paused"}, ""),
        ({"text": "daily"}, "a"),
        ({"text": "REPORT"}, "a"),
        ({"text": "%"}, ""),
        ({"text": "_"}, ""),
        ({"user_id": "u1", "text": "daily"}, "a"),
    ],
)
@pytest.mark.parametrize("few", [schedules.MAX_RARE, 0])
def test_every_filter_returns_the_same_schedules_on_both_query_plans(
    many: Bench, wanted: dict[str, Any], expected: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rare states use an index and frequent ones a scan by id. Both return the same schedules."""
    monkeypatch.setattr(schedules, "MAX_RARE", few)
    page = many.ask(crud.list_schedules, **wanted)
    assert "".join(schedule.schedule_id[0] for schedule in page.items) == expected
    assert page.next_page is None
    assert all(schedule == many.get(schedule.schedule_id) for schedule in page.items)


def test_a_list_is_limited_to_one_namespace(many: Bench) -> None:
    page = many.ask(crud.list_schedules, namespace="other")
    assert [schedule.schedule_id for schedule in page.items] == ["z-other"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
def test_pages_list_every_schedule_once(many: Bench, limit: int) -> None:
    """The page token is a position, not a row number, so concurrent creates and deletes do not matter."""
    seen: list[str] = []
    after = None
    while True:
        page = many.ask(crud.list_schedules, limit=limit, after=after)
        assert len(page.items) <= limit
        seen += [schedule.schedule_id for schedule in page.items]
        after = page.next_page
        if after is None:
            break
        many.create(f"0-{len(seen)}")
    assert seen == sorted(set(seen))
    assert "".join(schedule_id[0] for schedule_id in seen) == "abcef"


def test_runs_come_in_pages_and_by_filter(bench: Bench) -> None:
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    for minute in range(1, 6):
        bench.go(f"08:0{minute}")
        worker.tick()
        worker.settle(RunState.FAILED if minute == 3 else RunState.SUCCESS)
    for _ in range(2):
        bench.trigger()  # at the same nominal second as a tick
    seen, before = [], None
    while True:
        page = bench.ask(read.runs, "report", limit=2, before=before)
        seen += [run.run_id for run in page.items]
        before = page.next_page
        if before is None:
            break
    assert seen == [run.run_id for run in reversed(bench.runs())]
    assert len(set(seen)) == 7
    assert [shown(run.run_at) for run in bench.ask(read.runs, "report", status="FAILED").items] == ["08:03"]
    assert len(bench.ask(read.runs, "report", source="trigger").items) == 2


def test_get_run_returns_one_run(bench: Bench) -> None:
    bench.create(timezone="Europe/Berlin")
    worker = bench.worker()
    bench.go("08:01:00.250")
    worker.tick()
    bench.go("08:01:02")
    worker.settle(result='{"rows":3}', started_ms=int(at("08:01:01") * 1000), execution_id="x-1")
    run = bench.ask(read.get_run, bench.runs()[0].run_id)
    assert (run.status, run.result, run.execution_id) == ("SUCCESS", {"rows": 3}, "x-1")
    assert (run.fire_at, run.finished_at, run.started_at) == (when("08:01"), when("08:01:02"), when("08:01:01"))
    assert run.local_time is not None
    assert run.local_time.isoformat() == "2027-01-15T09:01:00"
    with pytest.raises(NotFound):
        bench.ask(read.get_run, run.run_id, namespace="other")


@pytest.mark.parametrize("value", ["\x00", "\udc80", {"a": "\x00"}, float("nan"), {1}, "ä" * 2_000], ids=range(6))
def test_every_result_can_be_stored(bench: Bench, value: object) -> None:
    """PostgreSQL rejects NUL and lone surrogates, and NaN is not JSON."""
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    result = json_value(value, 1_000)
    worker.settle(result=result)
    assert bench.runs()[0].result == json.loads(result)


def test_a_list_marks_a_schedule_with_an_unknown_zone(bench: Bench) -> None:
    bench.create(timezone="Europe/Berlin")
    bench.execute("UPDATE schedule_versions SET spec = replace(spec, 'Europe/Berlin', 'Europe/Gone')")
    schedule = bench.get()
    assert "UTC" in (schedule.degraded or "")
    assert bench.ask(crud.list_schedules).items == (schedule,)


def test_a_result_that_is_not_json_is_stored_as_text(bench: Bench) -> None:
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    worker.settle(result='{"rows":[1,2…')
    assert bench.runs()[0].result == '{"rows":[1,2…'


def test_describe_returns_the_state_and_upcoming_ticks(bench: Bench) -> None:
    bench.create(overlap_policy="queue")
    worker = bench.worker()
    for minute in ("08:01", "08:02"):
        bench.go(minute)
        worker.tick()
    bench.backfill("07:00", "07:01")
    description = bench.ask(read.describe, "report")
    assert description.schedule == bench.get()
    assert [shown(run.run_at) for run in description.running] == ["08:01"]
    assert [shown(run.run_at) for run in description.waiting] == ["08:02"]
    assert [shown(run.run_at) for run in description.recent] == ["08:02", "08:01"]
    assert [shown(tick) for tick in description.next_ticks][:2] == ["08:03", "08:04"]
    assert len(description.next_ticks) == 10
    assert (description.would_run_on_resume, description.would_run_count, len(description.backfills)) == ((), 0, 1)


# --- verify -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(bench: Bench) -> Bench:
    """Five runs, then a dropped range of ten ticks, then a run."""
    bench.create()
    worker = bench.worker()
    for minute in range(1, 6):
        bench.go(f"08:0{minute}")
        worker.tick()
        worker.settle()
    bench.go("08:15:40")
    worker.tick()
    bench.go("08:16")
    worker.tick()
    return bench


def test_verify_accepts_an_intact_ledger(ledger: Bench) -> None:
    verification = ledger.ask(verify, "report")
    assert (verification.ok, verification.ticks, verification.runs, verification.dropped) == (True, 16, 6, 10)
    part = ledger.ask(verify, "report", start=when("08:02"), end=when("08:07"))
    assert (part.ok, part.ticks, part.runs, part.dropped) == (True, 6, 4, 2)


TICK = DAY + 8 * 3600 + 3 * 60
ROW = (
    "INSERT INTO schedule_runs (schedule_key, nominal_s, origin, source, state, version, attempt, failures, fire_ms, "
    "decided_ms, finished_ms, cancel_requested) SELECT schedule_key, {at}, 0, source, state, version, attempt, "
    "failures, fire_ms, decided_ms + 600000, finished_ms, cancel_requested FROM schedule_runs WHERE nominal_s = {tick}"
)


@pytest.mark.parametrize(
    ("damage", "kind", "moment"),
    [
        (f"DELETE FROM schedule_runs WHERE nominal_s = {TICK}", "missing", "08:03"),
        (ROW.format(at=TICK + 7, tick=TICK), "invented", "08:03:07"),
        (ROW.format(at=TICK + 240, tick=TICK), "twice", "08:07"),
        ("UPDATE dropped_ranges SET ticks = 9", "miscounted", "08:15"),
        (f"UPDATE dropped_ranges SET until_s = {DAY + 8 * 3600 + 14 * 60}, ticks = 9", "missing", "08:15"),
        ("DELETE FROM dropped_ranges", "missing", "08:06"),
        (f"UPDATE schedule_runs SET decided_ms = decided_ms - 1 WHERE nominal_s = {TICK}", "early", "08:03"),
        ("UPDATE schedule_state SET in_flight = 5", "counter", None),
        ("UPDATE schedule_state SET waiting = 1", "counter", None),
    ],
)
def test_verify_reports_planted_damage(ledger: Bench, damage: str, kind: str, moment: str | None) -> None:
    ledger.execute(damage)
    verification = ledger.ask(verify, "report")
    assert not verification.ok
    problem = verification.problems[0]
    assert (problem.kind, None if problem.at is None else shown(problem.at)) == (kind, moment)
    assert {problem.kind for problem in verification.problems} == {kind}


def test_verify_checks_each_tick_against_its_own_version(bench: Bench) -> None:
    """The spec changes twice, and one tick falls into each version."""
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    for minute, cron in ((1, "*/2 * * * *"), (4, "*/3 * * * *"), (6, "* * * * *")):
        bench.go(f"08:0{minute}")
        worker.tick()
        bench.go(f"08:0{minute}:20")
        bench.ask(crud.patch, "report", cron=cron)
    bench.go("08:07")
    worker.tick()
    assert [line[:5] for line in bench.outcomes()] == ["08:01", "08:04", "08:06", "08:07"]
    verification = bench.ask(verify, "report")
    assert (verification.ok, verification.runs) == (True, 4)


# --- workflows and calendars ------------------------------------------------------------------------------------------


def test_a_changed_workflow_gets_a_new_version(bench: Bench) -> None:
    one = bench.ask(workflows.put_workflow, "etl", {"function": "a:b"})
    assert bench.ask(workflows.put_workflow, "etl", {"function": "a:b"}) == one
    two = bench.ask(workflows.put_workflow, "etl", {"function": "a:c"}, request_id="r")
    assert bench.ask(workflows.put_workflow, "etl", {"function": "a:c"}, request_id="r") == two
    assert (one.version, two.version) == (1, 2)
    assert bench.ask(workflows.get_workflow, "etl") == two
    assert bench.ask(workflows.get_workflow, "etl", version=1) == one
    with pytest.raises(NotFound):
        bench.ask(workflows.get_workflow, "etl", namespace="other")


def test_a_workflow_shows_its_pause(bench: Bench) -> None:
    bench.ask(workflows.put_workflow, "etl", {})
    bench.ask(targets.pause_target, workflow_id="etl")
    assert bench.ask(workflows.get_workflow, "etl").paused
    assert bench.ask(targets.resume_target, workflow_id="etl") is True
    assert bench.ask(targets.resume_target, workflow_id="etl") is False
    assert not bench.ask(workflows.get_workflow, "etl").paused


def test_a_target_is_paused_in_one_namespace(bench: Bench) -> None:
    bench.create()
    bench.ask(targets.pause_target, queue="default", namespace="other")
    bench.go("08:01")
    assert bench.worker().tick() == ["08:01"]


def test_a_calendar_replans_its_dependants(bench: Bench) -> None:
    """Schedules that exclude it get a new version and other ticks. Other schedules and deleted ones do not change."""
    bench.ask(calendars.put_calendar, {"name": "holidays", "dates": ["2027-01-16"]})
    for name in ("user", "closed"):
        bench.create(name, cron="0 12 * * *", exclude={"named": ["holidays"]})
    bench.create("stranger", cron="0 12 * * *")
    bench.ask(crud.delete, "closed")
    assert bench.get("user").next_run_at == when("12:00")
    stored = bench.ask(calendars.put_calendar, {"name": "holidays", "dates": ["2027-01-15"]}, actor="bob")
    assert stored.version == 2
    user = bench.get("user")
    assert (user.definition_version, user.conflict_token) == (2, 2)
    assert user.next_run_at is not None
    assert user.next_run_at.day == 16
    assert [bench.get(name).definition_version for name in ("stranger", "closed")] == [1, 1]
    change = bench.ask(history.history, "user").items[0]
    assert (change.operation, change.actor, change.after) == ("calendar", "bob", {"calendar": "holidays"})


def test_an_unchanged_calendar_replans_nothing(bench: Bench) -> None:
    bench.ask(calendars.put_calendar, {"name": "c", "dates": ["2027-01-16"]})
    bench.create(exclude={"named": ["c"]})
    before = bench.dump()
    assert bench.ask(calendars.put_calendar, {"name": "c", "dates": ["2027-01-16"]}).version == 1
    assert bench.dump() == before


def test_calendars_are_listed_by_name(bench: Bench) -> None:
    for name in ("c", "a", "b"):
        bench.ask(calendars.put_calendar, {"name": name, "dates": ["2027-01-16"]})
    bench.ask(calendars.put_calendar, {"name": "a", "dates": []})
    first = bench.ask(calendars.list_calendars, limit=2)
    assert [(calendar.name, calendar.version) for calendar in first.items] == [("a", 2), ("b", 1)]
    second = bench.ask(calendars.list_calendars, limit=2, after=first.next_page)
    assert ([calendar.name for calendar in second.items], second.next_page) == (["c"], None)
    assert bench.ask(calendars.list_calendars, namespace="other").items == ()
    assert bench.ask(calendars.get_calendar, "a", version=1).dates == ("2027-01-16",)


def test_backfills_are_listed_and_belong_to_a_namespace(bench: Bench) -> None:
    bench.create()
    created = [bench.backfill("07:00", "07:01") for _ in range(3)]
    listed = bench.ask(backfills.backfills, "report", limit=2)
    assert [backfill.backfill_id for backfill in listed] == [backfill.backfill_id for backfill in reversed(created[1:])]
    with pytest.raises(NotFound):
        bench.ask(backfills.cancel_backfill, created[0].backfill_id, namespace="other")
    once = bench.ask(backfills.cancel_backfill, created[0].backfill_id, request_id="r", actor="bob")
    assert bench.ask(backfills.cancel_backfill, created[0].backfill_id, request_id="r") == once
    change = bench.ask(history.history, "report").items[0]
    assert (change.operation, change.actor) == ("cancel_backfill", "bob")


def test_lists_omit_payloads_and_documents(bench: Bench) -> None:
    """A request for one item returns them. An audit entry names the version that has them."""
    document = {"executor": "http", "options": {"headers": {"X": "s3cret"}}, "dag": "s3cret"}
    bench.ask(workflows.put_workflow, "flow", document)
    bench.ask(crud.create, "job", cron="* * * * *", workflow_id="flow", payload="s3cret")
    bench.ask(crud.patch, "job", payload="s3cret too")
    (listed,) = bench.ask(crud.list_schedules).items
    assert listed.definition.payload is None
    assert bench.ask(crud.get, "job").definition.payload == "s3cret too"
    (flow,) = bench.ask(workflows.list_workflows).items
    assert flow.document == {"executor": "http"}
    assert bench.ask(workflows.get_workflow, "flow").document == document
    patched, created = bench.ask(history.history, "job").items
    assert (created.before, created.after["payload"]) == (None, "that of version 1")
    assert (patched.before["payload"], patched.after["payload"]) == ("that of version 1", "that of version 2")
    assert [version.definition.payload for version in bench.ask(history.versions, "job")] == ["s3cret too", "s3cret"]


def test_a_description_has_the_latest_started_runs(bench: Bench) -> None:
    """Regression: only the hundred latest times were searched, so skipped ticks hid earlier runs."""
    bench.create(cron="* * * * *", overlap_policy="skip", catchup_policy="fire_immediately")
    first = bench.trigger()
    worker = bench.worker()
    for hour in ("09", "10", "11"):
        bench.go(f"{hour}:50")
        worker.tick()
    assert bench.get().counters.skipped > 100
    [only] = bench.ask(temporal_view, "report").recent
    assert only.run_id == first.run_id
