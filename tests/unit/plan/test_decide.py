"""Decisions of one schedule at one moment: the rows, and the state that agrees with them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.unit.plan.cases import (
    DELAY,
    LIMITS,
    NOON,
    NOON_MS,
    OWNER,
    check_rows,
    compiled_of,
    context_at,
    decide_and_check,
    every,
    rows_of,
    state_of,
)
from tompion.model.policy import CatchUp, Keep, OnResume, Overlap
from tompion.model.run import OPEN, Reason, RunSource, RunState
from tompion.model.spec import SpecDocument
from tompion.plan.decide import Decision, Origin
from tompion.plan.due_ticks import Due
from tompion.plan.pause import pause_state, resume_state

Rows = list[tuple[RunState, Reason | None]]
TENS = every(10)
HOURLY = every(3_600)
E, B, P = (RunState.ENQUEUED, None), (RunState.BUFFERED, None), (RunState.PLANNED, Reason.CATCH_UP)


def skipped(reason: Reason) -> tuple[RunState, Reason]:
    return RunState.SKIPPED, reason


OVER, OUT, FULL = skipped(Reason.OVERLAP), skipped(Reason.SUPERSEDED), skipped(Reason.BUFFER_FULL)

# policy, in flight before: the outcome of one tick, and of three in one pass
POLICIES: list[tuple[str, int, Rows, Rows, set[str]]] = [
    ("skip", 0, [E], [E, OVER, OVER], set()),
    ("skip", 1, [OVER], [OVER, OVER, OVER], set()),
    ("allow", 0, [E], [E, E, E], set()),
    ("allow", 1, [E], [E, E, E], set()),
    ("queue", 0, [E], [E, B, B], set()),
    ("queue", 1, [B], [B, B, B], set()),
    ("buffer_one", 0, [E], [E, OUT, B], set()),
    ("buffer_one", 1, [B], [OUT, OUT, B], set()),
    ("buffer_one first", 0, [E], [E, B, OUT], set()),
    ("buffer_one first", 1, [B], [B, OUT, OUT], set()),
    ("cancel_other", 0, [E], [OUT, OUT, E], set()),
    ("cancel_other", 1, [B], [OUT, OUT, B], {"cancel"}),
    ("terminate_other", 0, [E], [OUT, OUT, E], set()),
    ("terminate_other", 1, [E], [OUT, OUT, E], {"terminate"}),
]  # fmt: skip


def flags(decision: Decision) -> set[str]:
    return {name for name in ("cancel", "supersede", "terminate") if getattr(decision, name)}


def choices(name: str) -> dict[str, Any]:
    overlap, _, keep = name.partition(" ")
    return {"overlap_policy": Overlap(overlap), "buffer_keep": Keep(keep or "latest")}


@pytest.mark.parametrize("owner", [OWNER, None])
@pytest.mark.parametrize(("name", "running", "one", "three", "marks"), POLICIES)
def test_overlap_policy_decides_each_tick(
    name: str,
    running: int,
    one: Rows,
    three: Rows,
    marks: set[str],
    owner: int | None,
) -> None:
    compiled = compiled_of(TENS, **choices(name))
    state = state_of(compiled, in_flight=running, starts=9, skipped=8, missed=7, remaining=6)
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS - 1, owner=owner))
    assert (decision.runs, after, flags(decision)) == ([], state, set())
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS, owner=owner))
    assert rows_of(decision) == one
    assert flags(decision) == (marks if running else set())
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS + 20_000, owner=owner))
    assert rows_of(decision) == three
    assert flags(decision) == marks
    assert (after.cursor_s, after.next_nominal_s, after.next_fire_ms) == (NOON + 20, NOON + 30, NOON_MS + 30_000)


@pytest.mark.parametrize("name", ["buffer_one", "cancel_other", "terminate_other"])
def test_waiting_run_is_superseded(name: str) -> None:
    compiled = compiled_of(TENS, **choices(name))
    decision, after = decide_and_check(state_of(compiled, in_flight=1, waiting=1), compiled, context_at())
    assert decision.supersede
    assert after.waiting == 1 + (name != "terminate_other")


def test_many_slots_fill_one_after_another() -> None:
    compiled = compiled_of(TENS, overlap_policy=Overlap.QUEUE, max_concurrent=3)
    decision, _ = decide_and_check(state_of(compiled, in_flight=1), compiled, context_at(NOON_MS + 30_000))
    assert rows_of(decision) == [E, E, B, B]


def test_tick_of_the_same_decision_is_superseded_not_cancelled() -> None:
    """Regression: under ``cancel_other`` two ticks in one pass both ran, the second after the end of the first.

    The first was not in the ledger yet when every run in flight was cancelled, so it was not cancelled.
    """
    compiled = compiled_of(TENS, overlap_policy=Overlap.CANCEL_OTHER)
    decision, after = decide_and_check(state_of(compiled, remaining=2), compiled, context_at(NOON_MS + 10_000))
    assert rows_of(decision) == [OUT, E]
    assert (after.remaining, flags(decision)) == (1, set())


def test_everything_in_flight_is_terminated() -> None:
    compiled = compiled_of(TENS, overlap_policy=Overlap.TERMINATE_OTHER, max_concurrent=3)
    decision, after = decide_and_check(state_of(compiled, in_flight=3), compiled, context_at())
    assert decision.terminate
    assert after.in_flight == 1


def test_ticks_beyond_the_buffer_are_skipped() -> None:
    compiled = compiled_of(TENS, overlap_policy=Overlap.QUEUE)
    decision, _ = decide_and_check(
        state_of(compiled, in_flight=1, waiting=3), compiled, context_at(NOON_MS + 20_000, max_buffer=4)
    )
    assert rows_of(decision) == [B, FULL, FULL]


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("remaining", "started"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)])
def test_remaining_actions_limit_the_starts(remaining: int, started: int) -> None:
    compiled = compiled_of(TENS, overlap_policy=Overlap.ALLOW)
    decision, after = decide_and_check(state_of(compiled, remaining=remaining), compiled, context_at(NOON_MS + 20_000))
    assert rows_of(decision) == [E] * started + [skipped(Reason.LIMIT_REACHED)] * (3 - started)
    assert after.remaining == remaining - started
    assert (after.next_fire_ms is None) == (after.remaining == 0)
    assert after.next_nominal_s == NOON + 30


@pytest.mark.parametrize(
    "policy",
    [{}, {"shadow": True}, {"min_interval_ms": 60_000}, {"overlap_policy": Overlap.QUEUE}],
)
def test_skipped_tick_consumes_no_action(policy: dict[str, Any]) -> None:
    compiled = compiled_of(TENS, **policy)
    state = state_of(compiled, in_flight=1, remaining=2, last_start_ms=NOON_MS - 1)
    _, after = decide_and_check(state, compiled, context_at(NOON_MS + 20_000))
    assert (after.remaining, after.starts) == (2, 0)


def test_superseded_tick_returns_its_action() -> None:
    """Regression: three ticks in one pass under ``terminate_other`` used three actions for one launched run.

    The first two were taken back as superseded before they began, but had been counted as starts by then.
    """
    compiled = compiled_of(TENS, overlap_policy=Overlap.TERMINATE_OTHER)
    decision, after = decide_and_check(state_of(compiled, remaining=3), compiled, context_at(NOON_MS + 20_000))
    assert rows_of(decision) == [OUT, OUT, E]
    assert after.remaining == 2


@pytest.mark.parametrize(("last", "starts"), [(None, True), (60_000, True), (59_999, False), (0, False)])
def test_ticks_within_the_minimal_interval_are_skipped(last: int | None, starts: bool) -> None:
    compiled = compiled_of(HOURLY, min_interval_ms=60_000)
    state = state_of(compiled, last_start_ms=None if last is None else NOON_MS - last)
    decision, _ = decide_and_check(state, compiled, context_at())
    assert rows_of(decision) == [E if starts else skipped(Reason.MIN_INTERVAL)]


def test_minimal_interval_between_ticks_of_one_pass() -> None:
    compiled = compiled_of(TENS, min_interval_ms=1, overlap_policy=Overlap.ALLOW)
    decision, _ = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 20_000))
    assert rows_of(decision) == [E, skipped(Reason.MIN_INTERVAL), skipped(Reason.MIN_INTERVAL)]


# ---------------------------------------------------------------- skips, shadow, paused targets


def test_requested_skips_are_applied_and_forgotten() -> None:
    compiled = compiled_of(TENS, overlap_policy=Overlap.ALLOW)
    state = state_of(compiled, skips=f"{NOON},{NOON + 20},{NOON + 30}", remaining=5)
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS + 20_000))
    assert rows_of(decision) == [skipped(Reason.SKIP_REQUESTED), E, skipped(Reason.SKIP_REQUESTED)]
    assert after.skips == str(NOON + 30)
    _, after = decide_and_check(after, compiled, context_at(NOON_MS + 30_000))
    assert after.skips is None


def test_a_skip_request_is_not_found_inside_another_number() -> None:
    compiled = compiled_of(TENS)
    decision, _ = decide_and_check(state_of(compiled, skips=f"1{NOON},{NOON}0"), compiled, context_at())
    assert rows_of(decision) == [E]


def test_a_skip_request_also_holds_for_a_tick_that_is_spread() -> None:
    """Regression: a skipped tick ran, because it was missed and then spread.

    It was planned without the skips, and at its time the state had already dropped this skip, because its cursor was
    past it.
    """
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.SPREAD)
    state = state_of(compiled, skips=str(NOON + 3_600))
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS + 3 * 3_600_000 - 1))
    assert rows_of(decision) == [P, skipped(Reason.SKIP_REQUESTED), P]
    assert after.skips is None


@pytest.mark.parametrize("catchup", list(CatchUp))
def test_a_shadow_launches_nothing(catchup: CatchUp) -> None:
    compiled = compiled_of(TENS, shadow=True, catchup_policy=catchup, overlap_policy=Overlap.QUEUE)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 120_000))
    assert {row for row in rows_of(decision) if row[0] in OPEN} == set()
    assert {row[1] for row in rows_of(decision)} == {Reason.SHADOW}
    assert (after.starts, after.waiting, after.last_start_ms) == (0, 0, None)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_while_the_target_is_paused_ticks_wait(overlap: Overlap) -> None:
    compiled = compiled_of(TENS, overlap_policy=overlap)
    context = context_at(NOON_MS + 30_000, target_paused=True, max_buffer=3)
    decision, after = decide_and_check(state_of(compiled, remaining=9, waiting=1), compiled, context)
    waits = (RunState.BUFFERED, Reason.TARGET_PAUSED)
    assert rows_of(decision) == [waits, waits, FULL, FULL]
    assert (after.in_flight, after.waiting, after.remaining, after.last_start_ms) == (0, 3, 9, None)
    assert flags(decision) == set()


def test_order_of_the_reasons_that_keep_a_tick_from_starting() -> None:
    compiled = compiled_of(HOURLY, shadow=True, min_interval_ms=60_000)
    state = state_of(compiled, skips=str(NOON), last_start_ms=NOON_MS, remaining=0)
    context = context_at(target_paused=True)
    rows = []
    for changed, spec in ((state, compiled), (state._replace(skips=None), compiled)):
        rows += rows_of(decide_and_check(changed, spec, context)[0])
    plain = compiled_of(HOURLY, min_interval_ms=60_000)
    for remaining in (0, 1):
        rows += rows_of(decide_and_check(state._replace(skips=None, remaining=remaining), plain, context)[0])
    reasons = [Reason.SKIP_REQUESTED, Reason.SHADOW, Reason.LIMIT_REACHED, Reason.MIN_INTERVAL]
    assert rows == [skipped(reason) for reason in reasons]


# ---------------------------------------------------------------- catch-up, resume, wall time


@pytest.mark.parametrize("overlap", list(Overlap))
def test_planned_runs_do_not_block_other_ticks(overlap: Overlap) -> None:
    """Regression: with ``spread``, ticks on time were skipped for a minute or waited behind planned runs.

    Planned runs counted as waiting, and a tick behind a waiting run does not start.
    """
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.SPREAD, overlap_policy=overlap)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 2 * 3_600_000))
    assert rows_of(decision) == [P, P, E]
    assert (after.waiting, after.in_flight, after.starts) == (0, 1, 1)


@pytest.mark.parametrize(
    ("catchup", "reason"), [(CatchUp.COALESCE, "coalesced"), (CatchUp.FIRE_IMMEDIATELY, "catch_up")]
)
def test_caught_up_run_has_its_reason(catchup: CatchUp, reason: str) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=catchup, overlap_policy=Overlap.QUEUE)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 2 * 3_600_000 - 1))
    assert {run.reason for run in decision.runs} == {reason}
    assert after.missed == 2 - len(decision.runs)


def test_budget_limits_a_pass() -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.FIRE_IMMEDIATELY, overlap_policy=Overlap.ALLOW)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 10 * 3_600_000), budget=4)
    assert rows_of(decision) == [(RunState.ENQUEUED, Reason.CATCH_UP)] * 4
    assert (after.next_nominal_s, after.next_fire_ms) == (NOON + 4 * 3_600, (NOON + 4 * 3_600) * 1000)


def test_state_forgets_a_resume_once_its_ticks_are_decided() -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled, carry=OnResume.SKIP, carry_until_s=NOON + 3_600)
    _, half = decide_and_check(state, compiled, context_at(NOON_MS, limits=LIMITS._replace(max_dropped_range_ticks=1)))
    assert (half.carry, half.carry_until_s) == (OnResume.SKIP, NOON + 3_600)
    _, after = decide_and_check(half, compiled, context_at(NOON_MS + 3_600_000))
    assert (after.carry, after.carry_until_s) == (None, None)


def test_row_has_the_local_time() -> None:
    compiled = compiled_of(SpecDocument(cron=("30 2 * * *",), timezone="Europe/Berlin"))
    tick = 1_774_746_000  # 2026-03-29T01:00:00Z, when 02:00 became 03:00
    decision, _ = decide_and_check(state_of(compiled, tick - 1), compiled, context_at(tick * 1000))
    (run,) = decision.runs
    assert (run.nominal_s, run.local_s, run.dst_adjustment) == (tick, tick + 5_400, "gap")


# ---------------------------------------------------------------- fixed delay


def test_a_fixed_delay_waits_for_the_end_of_its_run() -> None:
    compiled = compiled_of(DELAY)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at())
    assert rows_of(decision) == [E]
    assert (after.cursor_s, after.next_nominal_s, after.next_fire_ms) == (NOON, None, None)


@pytest.mark.parametrize(("in_flight", "waiting"), [(1, 0), (1, 1)])
def test_a_fixed_delay_whose_tick_is_skipped_counts_from_now(in_flight: int, waiting: int) -> None:
    """Regression: a fixed delay never ran again after a tick was skipped while a trigger waited.

    It treated the waiting trigger as its own run, whose end would begin the next delay.
    """
    compiled = compiled_of(DELAY)
    state = state_of(compiled, in_flight=in_flight, waiting=waiting)
    decision, after = decide_and_check(state, compiled, context_at(NOON_MS + 2_500))
    assert rows_of(decision) == [OVER]
    assert (after.next_nominal_s, after.next_fire_ms) == (NOON + 63, NOON_MS + 63_000)


def test_a_fixed_delay_that_waits_has_no_next_tick() -> None:
    compiled = compiled_of(DELAY, overlap_policy=Overlap.QUEUE)
    decision, after = decide_and_check(state_of(compiled, in_flight=1), compiled, context_at())
    assert rows_of(decision) == [B]
    assert after.next_nominal_s is None


def test_exhausted_fixed_delay_has_no_next_fire() -> None:
    compiled = compiled_of(DELAY)
    decision, after = decide_and_check(state_of(compiled, remaining=0), compiled, context_at())
    assert rows_of(decision) == [skipped(Reason.LIMIT_REACHED)]
    assert after.next_fire_ms is None


# ---------------------------------------------------------------- requests


def decide_request(overlap: Overlap | None, running: int, waiting: int, **policy: Any) -> Decision:
    compiled = compiled_of(HOURLY, **policy)
    state = state_of(
        compiled, in_flight=running, waiting=waiting, remaining=1, last_start_ms=5, skips=str(NOON), paused=True
    )
    decision = Decision(state, compiled, context_at())
    for number in (1, 2):
        origin = Origin(RunSource.TRIGGER, number, overlap, '{"n":1}', f"r{number}")
        decision.decide_request(Due(NOON, NOON_MS), origin)
    return decision


@pytest.mark.parametrize(
    ("overlap", "running", "waiting"), list(product([None, *Overlap], [0, 1], [0, 1]))
)  # fmt: skip
def test_request_changes_neither_cursor_nor_limits(overlap: Overlap | None, running: int, waiting: int) -> None:
    decision = decide_request(overlap, running, waiting, min_interval_ms=10**9)
    before, after = decision.state, decision.state_after_requests()
    same = ("cursor_s", "next_nominal_s", "next_fire_ms", "remaining", "last_start_ms", "skips", "paused", "missed")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert (decision.remaining, decision.last_start_ms) == (1, 5)
    states = [run.state for run in decision.runs]
    assert after.in_flight == states.count(RunState.ENQUEUED) + (0 if decision.terminate else running)
    assert after.waiting == waiting + states.count(RunState.BUFFERED)
    assert after.starts == states.count(RunState.ENQUEUED)
    assert after.skipped == states.count(RunState.SKIPPED)
    check_rows(decision)
    for number, run in enumerate(decision.runs, start=1):
        assert (run.source, run.origin, run.request_id) == ("trigger", number, f"r{number}")
        assert (run.overlap, run.payload) == (overlap, '{"n":1}')


REQUESTS: list[tuple[Overlap | None, int, Rows]] = [
    (Overlap.ALLOW, 1, [E, E]),
    (Overlap.SKIP, 0, [E, OVER]),
    (Overlap.SKIP, 1, [OVER, OVER]),
    (Overlap.QUEUE, 0, [E, B]),
    (Overlap.QUEUE, 1, [B, B]),
    (Overlap.TERMINATE_OTHER, 1, [OUT, E]),
    (None, 1, [OVER, OVER]),
]


@pytest.mark.parametrize(("overlap", "running", "rows"), REQUESTS)
def test_overlap_policy_decides_each_request(overlap: Overlap | None, running: int, rows: Rows) -> None:
    assert rows_of(decide_request(overlap, running, 0)) == rows


def test_later_of_two_buffered_requests_wins() -> None:
    decision = decide_request(Overlap.BUFFER_ONE, 1, 0)
    assert rows_of(decision) == [skipped(Reason.SUPERSEDED), B]
    assert rows_of(decide_request(Overlap.CANCEL_OTHER, 1, 0)) == [B, B]


def test_a_request_to_a_shadow_and_to_a_paused_target() -> None:
    assert rows_of(decide_request(Overlap.ALLOW, 0, 0, shadow=True)) == [skipped(Reason.SHADOW)] * 2
    decision = Decision(state_of(compiled_of()), compiled_of(), context_at(target_paused=True))
    decision.decide_request(Due(NOON, NOON_MS), Origin(RunSource.BACKFILL, 4, Overlap.ALLOW))
    assert rows_of(decision) == [(RunState.BUFFERED, Reason.TARGET_PAUSED)]
    assert decision.runs[0].source == RunSource.BACKFILL


# ---------------------------------------------------------------- an outage longer than a pass


@pytest.mark.parametrize("running", [0, 1])
def test_starts_after_an_outage_do_not_depend_on_the_number_of_passes(running: int) -> None:
    """Regression: a minutely schedule started nine times under ``skip`` after a day of downtime.

    A hundred ticks are decided in a pass, each run had ended before the next pass, and so each found the slot free.
    """
    compiled = compiled_of(catchup_policy=CatchUp.FIRE_IMMEDIATELY, overlap_policy=Overlap.SKIP)
    state = state_of(compiled, in_flight=running)
    now_ms = NOON_MS + 1_440 * 60_000
    decision, after = decide_and_check(state, compiled, context_at(now_ms))
    assert decision.starts == 1 - running
    assert [(dropped_range.ticks, dropped_range.reason) for dropped_range in decision.dropped_ranges] == [
        (1_340, Reason.OVERLAP)
    ]
    assert after.skipped == 1_440 - 100 + 99 + running
    assert after.missed == 0
    later, after = decide_and_check(after._replace(in_flight=0), compiled, context_at(now_ms + 1_000))
    assert [run.nominal_s for run in later.runs] == [NOON + 1_440 * 60]


def test_a_queue_is_filled_pass_by_pass() -> None:
    """Each tick that can start or wait is decided in order."""
    compiled = compiled_of(catchup_policy=CatchUp.FIRE_IMMEDIATELY, overlap_policy=Overlap.QUEUE)
    decision, after = decide_and_check(state_of(compiled), compiled, context_at(NOON_MS + 1_440 * 60_000))
    assert (len(decision.runs), decision.dropped_ranges) == (100, [])
    assert after.next_nominal_s == NOON + 100 * 60


def test_ticks_of_a_pause_are_not_counted_as_missed() -> None:
    compiled = compiled_of(catchup_policy=CatchUp.FIRE_IMMEDIATELY, on_resume=OnResume.SKIP)
    now_ms = NOON_MS + 600_000
    state = resume_state(pause_state(state_of(compiled), None), compiled, now_ms, OnResume.SKIP)
    decision, after = decide_and_check(state, compiled, context_at(now_ms))
    assert [(dropped_range.ticks, dropped_range.reason) for dropped_range in decision.dropped_ranges] == [
        (11, Reason.RESUMED)
    ]
    assert after.missed == 0
