"""Adaptive schedules, from the definition to the ledger: hints, runs and records."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.conformance.operations.adaptive_schedules import hint, next_run, run_for
from tests.support.operations import Bench, at, shown, when
from tompion.engine.steps.tzdata_replan import ReplanStep
from tompion.errors import InvalidField, ScheduleClosed, StaleToken, TompionError
from tompion.model.run import RunState
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud, hints, history
from tompion.operations.verify.schedule import verify


@pytest.fixture
def minutely(bench: Bench) -> Bench:
    """An adaptive schedule with an interval of one minute, before its first run."""
    bench.create(intervals="1m", adaptive=True)
    bench.go("08:01")
    return bench


# --- the definition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"min_interval_ms": 2_000, "max_interval_ms": 1_000}, "max_interval_ms"),
        ({"min_interval_ms": 60_001}, "min_interval_ms"),
        ({"adaptive": False}, "max_interval_ms"),
        ({"adaptive": False, "max_interval_ms": None, "failure_backoff": False}, "failure_backoff"),
    ],
)
def test_contradictory_bounds_are_rejected(bench: Bench, fields: dict[str, Any], field: str) -> None:
    bench.create(intervals="1m", adaptive=True, max_interval_ms=60_000)
    with pytest.raises(InvalidField) as caught:
        bench.ask(crud.patch, "report", **fields)
    assert caught.value.field == field
    assert bench.get().definition_version == 1


def test_equal_bounds_are_accepted(bench: Bench) -> None:
    schedule = bench.create(intervals="1m", adaptive=True, min_interval_ms=60_000, max_interval_ms=60_000)
    assert schedule.definition.policy.max_interval_ms == 60_000


def test_hints_require_an_adaptive_schedule(bench: Bench) -> None:
    bench.create()
    for ask in (hint, lambda b: b.ask(hints.hints, "report"), lambda b: b.ask(hints.clear_hints, "report")):
        with pytest.raises(InvalidField, match="adaptive"):
            ask(bench)
    assert bench.ask(read.describe, "report").outlook is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "interval_ms"),
        ({"interval_ms": 999}, "interval_ms"),
        ({"interval_ms": "60"}, "interval_ms"),
        ({"interval_ms": True}, "interval_ms"),
        ({"at": "soon"}, "at"),
        ({"at": "2027-01-15T08:00:00"}, "at"),
        ({"interval_ms": 5_000, "ttl_ms": 0}, "ttl_ms"),
        ({"interval_ms": 5_000, "ttl_ms": 1 << 60}, "ttl_ms"),
        ({"at": "2027-01-15T09:00:00Z", "ttl_ms": 60_000}, "ttl_ms"),
        ({"interval_ms": 5_000, "reason": "x" * 1_001}, "reason"),
        ({"interval_ms": 5_000, "reason": "\x00"}, "reason"),
        ({"interval_ms": 5_000, "author": ""}, "author"),
    ],
)
def test_invalid_hints_are_rejected(minutely: Bench, fields: dict[str, Any], field: str) -> None:
    before = minutely.dump()
    with pytest.raises(InvalidField) as caught:
        hint(minutely, **fields)
    assert caught.value.field == field
    assert minutely.dump() == before


# --- what runs --------------------------------------------------------------------------------------------------------


def test_interval_counts_from_the_end_of_a_longer_run(minutely: Bench) -> None:
    """A 60 s interval whose run takes 90 s runs next 150 s after it began."""
    worker = minutely.worker()
    assert run_for(minutely, worker, "08:02:30") == "08:03:30"
    minutely.go("08:03:30")
    assert run_for(minutely, worker, "08:03:40") == "08:04:30"
    assert minutely.outcomes() == ["08:01 SUCCESS", "08:03:30 SUCCESS"]


def test_cron_runs_at_once_after_a_longer_run(bench: Bench) -> None:
    """A 5-minute cron whose run takes 10 minutes runs once at once, then returns to its cron times."""
    bench.create(cron="*/5 * * * *", adaptive=True)
    worker = bench.worker()
    bench.go("08:05")
    assert run_for(bench, worker, "08:15:02") == "08:15:02"
    assert run_for(bench, worker, "08:15:10") == "08:20"
    assert bench.dropped_ranges() == []


def test_failures_back_off_until_they_are_reset(minutely: Bench) -> None:
    worker = minutely.worker()
    assert run_for(minutely, worker, "08:01:10", RunState.FAILED) == "08:03"
    minutely.go("08:03")
    assert run_for(minutely, worker, "08:03:10", RunState.FAILED) == "08:07"
    reset = minutely.ask(hints.reset_failures, "report")
    assert (reset.consecutive_failures, shown(reset.next_run_at or when("00:00"))) == (0, "08:04")
    minutely.go("08:04")
    assert run_for(minutely, worker, "08:04:10", RunState.FAILED) == "08:06"
    minutely.go("08:06")
    assert run_for(minutely, worker, "08:06:10") == "08:07"


def test_failures_of_a_cron_schedule_can_be_reset(bench: Bench) -> None:
    bench.create()
    worker = bench.worker()
    bench.go("08:01")
    run_for(bench, worker, "08:01:10", RunState.FAILED)
    assert bench.get().consecutive_failures == 1
    assert bench.ask(hints.reset_failures, "report").consecutive_failures == 0
    assert bench.get().next_run_at == when("08:02")


def test_an_interval_hint_holds_until_it_expires(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    outlook = hint(minutely, interval_ms=10_000, ttl_ms=25_000, reason="it is busy")
    assert (next_run(outlook), outlook.source, outlook.bound, outlook.warning) == ("08:01:10", "hint", None, None)
    minutely.go("08:01:10")
    assert run_for(minutely, worker, "08:01:11") == "08:01:20"
    minutely.go("08:01:20")
    assert run_for(minutely, worker, "08:01:21") == "08:02:20"  # the next would be at 08:01:30, too late for the hint
    minutely.go("08:01:26")
    assert minutely.ask(hints.hints, "report").hints == ()
    assert [run.source for run in minutely.runs()] == ["schedule", "hint", "hint"]
    minutely.go("08:02:20")
    run_for(minutely, worker, "08:02:21")
    assert minutely.state().hints is None


def test_a_one_shot_hint_runs_once(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    outlook = hint(minutely, at=when("08:01:30"))
    assert (next_run(outlook), outlook.source) == ("08:01:30", "hint")
    minutely.go("08:01:30")
    assert run_for(minutely, worker, "08:01:31") == "08:02:30"
    assert minutely.ask(hints.hints, "report").hints == ()
    assert minutely.outcomes(source="hint") == ["08:01:30 SUCCESS"]
    assert len({run.idempotency_key for run in minutely.runs()}) == 2


def test_hint_can_request_a_run_at_once(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    minutely.go("08:01:20.5")
    assert next_run(hint(minutely, at=when("08:01:20"))) == "08:01:20"
    assert minutely.get().next_fire_at == when("08:01:20.5")
    assert len(worker.tick()) == 1


def test_the_earlier_of_two_hints_wins_with_a_warning(minutely: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller who sends the second hint gets the warning, and the engine logs it."""
    worker = minutely.worker()
    warnings: list[str] = []
    monkeypatch.setattr(worker.events, "warn", warnings.append)
    run_for(minutely, worker, "08:01:01")
    assert hint(minutely, interval_ms=40_000).warning is None
    both = hint(minutely, at=when("08:01:20"))
    assert (next_run(both), len(both.hints)) == ("08:01:20", 2)
    assert "are live" in (both.warning or "")
    minutely.go("08:01:20")
    assert run_for(minutely, worker, "08:01:21") == "08:02"
    assert warnings == ["report: an interval hint and a one-shot hint are live: the earlier one is used"]


def test_a_later_hint_replaces_one_of_the_same_kind(minutely: Bench) -> None:
    run_for(minutely, minutely.worker(), "08:01:01")
    hint(minutely, interval_ms=10_000, at=when("08:05"))
    second = hint(minutely, interval_ms=20_000)
    assert [(active_hint.interval_ms, active_hint.at) for active_hint in second.hints] == [
        (20_000, None),
        (None, when("08:05")),
    ]


def test_bounds_limit_hints(bench: Bench) -> None:
    bench.create(intervals="1m", adaptive=True, min_interval_ms=30_000, max_interval_ms=90_000)
    bench.go("08:01")
    run_for(bench, bench.worker(), "08:01:01")
    soon = hint(bench, interval_ms=5_000)
    assert (next_run(soon), soon.bound) == ("08:01:30", "min")
    late = hint(bench, interval_ms=600_000)
    assert (next_run(late), late.bound) == ("08:02:30", "max")
    assert (next_run(bench.ask(hints.clear_hints, "report", reason="enough"))) == "08:02"


def test_a_pause_overrides_hints(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    minutely.pause()
    assert next_run(hint(minutely, at=when("08:01:10"))) == "08:01:10"
    minutely.go("08:01:30")
    assert worker.tick() == []
    described = minutely.ask(read.describe, "report")
    assert described.schedule.next_fire_at is None
    assert described.would_run_on_resume == (when("08:01:10"),)
    minutely.resume()
    assert worker.tick() == ["08:01:10"]


def test_hints_apply_after_a_pause_with_an_end(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    minutely.pause(until=when("08:05"))
    hint(minutely, interval_ms=5_000)
    minutely.go("08:04:59")
    assert worker.tick() == []
    minutely.go("08:05")
    assert len(worker.tick()) == 1


def test_a_run_that_overlaps_a_trigger_is_skipped(minutely: Bench) -> None:
    """The skip is recorded, and the next run follows one interval later."""
    worker = minutely.worker()
    minutely.trigger()
    worker.tick()
    assert minutely.outcomes() == ["08:01 SKIPPED overlap"]
    assert minutely.get().next_run_at == when("08:02")


def test_remaining_actions_counts_hinted_runs(bench: Bench) -> None:
    bench.create(intervals="1m", adaptive=True, remaining_actions=2)
    worker = bench.worker()
    bench.go("08:01")
    run_for(bench, worker, "08:01:01")
    hint(bench, at=when("08:01:10"))
    bench.go("08:01:10")
    worker.tick()
    worker.settle()
    assert (bench.get().remaining_actions, bench.get().status) == (0, "exhausted")


def test_a_requested_skip_applies_to_an_adaptive_run(minutely: Bench) -> None:
    worker = minutely.worker()
    run_for(minutely, worker, "08:01:01")
    hint(minutely, at=when("08:01:10"))
    skipping = minutely.ask(control.skip, "report", at=[when("08:01:10")])
    assert skipping.next_run_at == when("08:02")
    minutely.go("08:01:10")
    assert worker.tick() == []
    assert minutely.outcomes(source="hint") == ["08:01:10 SKIPPED skip_requested"]
    assert minutely.get().next_run_at == when("08:02")
    with pytest.raises(InvalidField, match="an adaptive schedule"):
        minutely.ask(control.skip, "report", at=[when("08:05")])


def test_backfill_of_an_adaptive_schedule_is_rejected(minutely: Bench) -> None:
    with pytest.raises(InvalidField, match="adaptive"):
        minutely.backfill("07:00", "07:30")


def test_the_next_run_waits_for_a_run_on_another_instance(minutely: Bench) -> None:
    """No instance in the test serves the queue: the run is recorded, and the next one waits for its end."""
    minutely.ask(crud.patch, "report", queue="elsewhere")
    here, there = minutely.worker(), minutely.worker("elsewhere")
    assert here.tick() == []
    minutely.go("08:03")
    assert there.tick() == ["08:01"]
    minutely.go("08:03:30")
    there.settle()
    assert minutely.get().next_run_at == when("08:04:30")


# --- on record --------------------------------------------------------------------------------------------------------


def test_every_hint_is_audited(minutely: Bench) -> None:
    hint(minutely, interval_ms=10_000, ttl_ms=5_000, reason="busy", author="planner", request_id="h1")
    minutely.ask(hints.clear_hints, "report", reason="calm", actor="bob")
    minutely.ask(hints.reset_failures, "report")
    reset, cleared, hinted, created = minutely.ask(history.history, "report").items
    assert [entry.operation for entry in (reset, cleared, hinted, created)] == [
        "reset_failures", "clear_hints", "hint", "create",
    ]  # fmt: skip
    assert [entry.conflict_token for entry in (reset, cleared, hinted)] == [4, 3, 2]
    assert (hinted.actor, hinted.request_id) == ("ann", "h1")
    assert hinted.after == {
        "interval_ms": 10_000, "at": None, "ttl_ms": 5_000, "reason": "busy", "author": "planner",
    }  # fmt: skip
    assert (cleared.actor, cleared.before, cleared.after) == (
        "bob", {"interval": 10_000, "once": None}, {"reason": "calm"},
    )  # fmt: skip


def test_a_hint_records_its_author_and_expiry(minutely: Bench) -> None:
    (stored_hint,) = hint(minutely, interval_ms=10_000, reason="busy").hints
    assert (stored_hint.author, stored_hint.reason, stored_hint.created_at) == ("ann", "busy", when("08:01"))
    assert stored_hint.expires_at == when("09:01")
    (stored_hint,) = hint(minutely, at=when("10:00"), author="planner").hints[1:]
    assert (stored_hint.author, stored_hint.expires_at) == ("planner", when("11:00"))


def test_a_repeated_request_id_is_applied_once(minutely: Bench) -> None:
    first = hint(minutely, interval_ms=10_000, request_id="r1")
    minutely.ask(hints.clear_hints, "report")
    assert hint(minutely, interval_ms=10_000, request_id="r1") == first
    assert minutely.state().hints is None
    with pytest.raises(TompionError):
        hint(minutely, interval_ms=20_000, request_id="r1")
    for operation in (hints.clear_hints, hints.reset_failures):
        name = operation.__name__
        once = minutely.ask(operation, "report", request_id=name)
        assert minutely.ask(operation, "report", request_id=name) == once


def test_a_stale_token_changes_nothing(minutely: Bench) -> None:
    token = hint(minutely, interval_ms=10_000).conflict_token
    before = minutely.dump()
    for change in (partial(hints.hint, interval_ms=5_000), hints.clear_hints, hints.reset_failures):
        with pytest.raises(StaleToken):
            minutely.ask(change, "report", conflict_token=token - 1)
    assert minutely.dump() == before


def test_a_deleted_schedule_rejects_hints_and_loses_its_own(minutely: Bench) -> None:
    hint(minutely, interval_ms=10_000)
    minutely.ask(crud.delete, "report")
    with pytest.raises(ScheduleClosed):
        hint(minutely, interval_ms=10_000)
    minutely.create(intervals="1m", adaptive=True)
    assert minutely.ask(hints.hints, "report").hints == ()


def test_an_upsert_of_the_same_definition_keeps_hints(minutely: Bench) -> None:
    hint(minutely, interval_ms=10_000)
    again = minutely.ask(crud.upsert, "report", intervals="1m", adaptive=True, function="tasks:work")
    assert again.definition_version == 1
    changed = minutely.ask(crud.patch, "report", max_interval_ms=60_000)
    assert (changed.definition_version, len(minutely.ask(hints.hints, "report").hints)) == (2, 1)


def test_the_next_run_is_listed_with_its_cause(minutely: Bench) -> None:
    run_for(minutely, minutely.worker(), "08:01:01")
    hint(minutely, interval_ms=10_000)
    described = minutely.ask(read.describe, "report")
    assert described.next_ticks == (when("08:01:10"),)
    assert described.outlook == minutely.ask(hints.hints, "report")
    assert described.schedule.next_run_at == described.schedule.next_fire_at == when("08:01:10")


def test_there_is_no_next_run_while_a_run_is_in_flight(minutely: Bench) -> None:
    minutely.worker().tick()
    described = minutely.ask(read.describe, "report")
    assert described.outlook is not None
    assert (described.outlook.next_run_at, described.outlook.source) == (None, None)
    assert (described.next_ticks, described.schedule.status) == ((), "active")


def test_verify_reports_adaptive_ticks_as_unchecked(minutely: Bench) -> None:
    run_for(minutely, minutely.worker(), "08:02:30")
    verification = minutely.ask(verify, "report")
    assert (verification.ok, verification.unchecked, verification.runs) == (True, 1, 1)


def test_verify_reports_a_hinted_run_without_a_hint(minutely: Bench) -> None:
    run_for(minutely, minutely.worker(), "08:01:01")
    minutely.execute("UPDATE schedule_runs SET source = 'hint'")
    assert [problem.kind for problem in minutely.ask(verify, "report").problems] == ["invented"]


def test_verify_reports_a_run_that_started_too_early(minutely: Bench) -> None:
    run_for(minutely, minutely.worker(), "08:01:01")
    minutely.execute("UPDATE schedule_runs SET decided_ms = decided_ms - 1")
    assert [problem.kind for problem in minutely.ask(verify, "report").problems] == ["early"]


def test_a_schedule_that_becomes_adaptive_and_back_accounts_for_every_tick(bench: Bench) -> None:
    bench.create(overlap_policy="allow")
    worker = bench.worker()
    bench.go("08:01")
    worker.tick()
    bench.go("08:02:20")
    bench.ask(crud.patch, "report", adaptive=True)
    assert bench.dropped_ranges() == ["08:02:19 1 edited"]
    worker.settle()
    hint(bench, at=when("08:02:40"))
    bench.go("08:02:40")
    assert worker.tick() == ["08:02:40"]
    bench.ask(crud.patch, "report", adaptive=False)
    worker.settle()
    bench.go("08:03")
    assert worker.tick() == ["08:03"]


def test_new_zone_data_replans_an_adaptive_schedule(bench: Bench) -> None:
    bench.create(cron="0 12 * * *", timezone="Europe/Berlin", adaptive=True)
    bench.execute("UPDATE schedules SET zones = 'Europe/Berlin:older'")
    bench.execute(f"UPDATE schedule_state SET next_nominal_s = {int(at('10:00'))}")
    replanning = ReplanStep(bench.worker().context)
    assert bench.read(replanning.outdated) == ["Europe/Berlin:older"]
    (replanned,) = bench.write(lambda t: replanning.replan_some(t, "Europe/Berlin:older"))
    assert replanned == ("report", int(at("10:00")), int(at("11:00")), None)
