"""Control operations: the state afterwards, and the dropped ticks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.plan.cases import DELAY, KEY, LIMITS, NOON, NOON_MS, VERSION, compiled_of, every, state_of
from tompion.model.policy import CatchUp, OnResume
from tompion.model.run import Reason
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.model.spec import ExcludeDocument, NamedCalendar, SpecDocument, WindowDocument
from tompion.plan.compiled_schedule import CompiledSchedule, compile_schedule
from tompion.plan.due_ticks import find_due_ticks
from tompion.plan.edit import (
    add_skips,
    close_state,
    cursor_before,
    new_state,
    next_unskipped,
    replace_version,
    set_remaining,
    skips_of,
)
from tompion.plan.pause import pause_state, resume_state

HOUR = 3_600
HOURLY = every(HOUR)
LATE_S = NOON + 2 * HOUR
LATER = NOON_MS + 3 * HOUR * 1000 + 500  # half a second past the tick at 15:00
UNTIL = NOON + 3 * HOUR  # the last whole second before it


# ---------------------------------------------------------------- created


@pytest.mark.parametrize(
    ("now_ms", "first"),
    [(NOON_MS - 1, NOON), (NOON_MS, NOON), (NOON_MS + 1, NOON + HOUR), (NOON_MS + 999, NOON + HOUR)],
)
def test_the_first_tick_is_not_before_now(now_ms: int, first: int) -> None:
    state = new_state(compiled_of(HOURLY), now_ms)
    assert (state.next_nominal_s, state.next_fire_ms) == (first, first * 1000)
    assert state.cursor_s == cursor_before(now_ms) < first
    assert (state.schedule_key, state.version) == (KEY, VERSION)
    assert (state.in_flight, state.waiting, state.starts, state.missed, state.carry) == (0, 0, 0, 0, None)


@pytest.mark.parametrize(
    ("start_at", "first"),
    [
        ("2026-01-01T11:59:59Z", NOON),
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01T12:00:01Z", NOON + HOUR),
        ("2026-01-01T15:00:00Z", NOON + 3 * HOUR),
    ],
)
def test_first_tick_is_not_before_start_at(start_at: str, first: int) -> None:
    assert new_state(compiled_of(every(HOUR, start_at=start_at)), NOON_MS - 1).next_nominal_s == first


@pytest.mark.parametrize(("now_ms", "first"), [(NOON_MS, NOON), (NOON_MS + 1, NOON + 1)])
def test_a_fixed_delay_begins_at_once(now_ms: int, first: int) -> None:
    assert new_state(compiled_of(DELAY), now_ms).next_nominal_s == first


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ({"start_at": "2026-01-01T13:00:00Z"}, NOON + HOUR),
        ({"start_at": "2025-01-01T13:00:00Z"}, NOON),
        ({"end_at": "2026-01-01T12:00:00Z"}, NOON),
        ({"end_at": "2026-01-01T11:59:59Z"}, None),
        ({"exclude": ExcludeDocument(dates=("2026-01-01",))}, NOON + 12 * HOUR),
        ({"exclude": ExcludeDocument(dates=("2026-05-05",))}, NOON),
        ({"exclude": ExcludeDocument(dates=("2026-05-05",)), "start_at": "2026-01-01T13:00:00Z"}, NOON + HOUR),
        (
            {"exclude": ExcludeDocument(windows=(WindowDocument("2026-01-01T11:00Z", "2026-01-01T13:00Z"),))},
            NOON + HOUR,
        ),
    ],
)
def test_a_fixed_delay_within_bounds_begins_at_once(bounds: dict[str, Any], first: int | None) -> None:
    """Regression: a fixed delay with a start, an end or an exclusion began one delay late.

    Only a delay without bounds started its first run at once. With bounds it counted as if a run had just ended.
    """
    state = new_state(compiled_of(SpecDocument(intervals=DELAY.intervals, **bounds)), NOON_MS)
    assert state.next_nominal_s == first


@pytest.mark.parametrize("policy", list(CatchUp))
def test_a_new_schedule_never_catches_up_on_the_time_before(policy: CatchUp) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=policy)
    generated = find_due_ticks(new_state(compiled, LATER), compiled, LATER, LIMITS, 100)
    assert (generated.due, generated.dropped) == ([], [])


def test_new_schedule_without_future_ticks() -> None:
    state = new_state(compiled_of(every(HOUR, end_at="2026-01-01T11:00:00Z")), NOON_MS)
    assert (state.next_nominal_s, state.next_fire_ms) == (None, None)


def test_new_schedule_that_is_paused_or_exhausted() -> None:
    silent = [
        new_state(compiled_of(HOURLY), NOON_MS, paused=True),
        new_state(compiled_of(HOURLY), NOON_MS, remaining=0),
    ]
    assert [(state.next_nominal_s, state.next_fire_ms) for state in silent] == [(NOON, None)] * 2
    assert new_state(compiled_of(HOURLY), NOON_MS, remaining=2).remaining == 2


# ---------------------------------------------------------------- replaced


@pytest.mark.parametrize(
    "state", [state_of(compiled_of(HOURLY)), state_of(compiled_of(HOURLY), paused=True, next_fire_ms=None)]
)
def test_update_with_the_same_ticks_keeps_the_state(state: ScheduleState) -> None:
    new = compiled_of(HOURLY, version=4, catchup_policy=CatchUp.COALESCE)
    edited = replace_version(state._replace(carry=OnResume.SKIP, carry_until_s=NOON), compiled_of(HOURLY), new, LATER)
    assert edited.dropped_ranges == []
    assert edited.state == state._replace(version=4, carry=OnResume.SKIP, carry_until_s=NOON)


def test_equal_specs_have_the_same_ticks_even_if_compiled_twice() -> None:
    """Regression: an unchanged upsert dropped the missed ticks of a schedule, as if its spec had changed.

    The compiled form of its spec had been evicted from the cache, and only identity was compared.
    """
    old, again = compiled_of(HOURLY), compiled_of(every(HOUR, end_at="2100-01-01"))
    new = again._replace(spec=old.spec, version=4)
    assert new.ticks is not old.ticks
    assert replace_version(state_of(old), old, new, LATER) == (state_of(old)._replace(version=4), [])


def test_new_version_of_a_named_calendar_changes_the_ticks() -> None:
    spec = every(HOUR, exclude=ExcludeDocument(named=("closing",)))
    compiled = compiled_of(HOURLY)
    old, new = (
        compile_schedule(KEY, version, "default", "a", spec, compiled.policy, compiled.action, None, (calendar,))
        for version, calendar in ((3, NamedCalendar("closing")), (4, NamedCalendar("closing", ("2026-01-01",))))
    )
    edited = replace_version(state_of(old), old, new, LATER)
    assert edited.dropped_ranges == [DroppedRange(KEY, NOON - 1, UNTIL, 4, Reason.EDITED, 3, LATER)]
    assert edited.state.next_nominal_s == NOON + 12 * HOUR


def test_update_with_other_ticks_does_not_replay_the_past() -> None:
    old, new = compiled_of(HOURLY), compiled_of(every(1_800), version=4, catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    state = state_of(old, carry=OnResume.FIRE_ONCE, carry_until_s=NOON, starts=3, remaining=5, skips="1")
    edited = replace_version(state, old, new, LATER)
    assert edited.dropped_ranges == [DroppedRange(KEY, NOON - 1, UNTIL, 4, Reason.EDITED, VERSION, LATER)]
    after = edited.state
    assert (after.cursor_s, after.next_nominal_s, after.version) == (UNTIL, UNTIL + 1_800, 4)
    assert (after.carry, after.carry_until_s) == (None, None)
    assert (after.starts, after.remaining, after.skips) == (3, 5, "1")
    assert find_due_ticks(after, new, LATER, LIMITS, 100).due == []


def test_tick_at_the_moment_of_the_update_belongs_to_the_new_version() -> None:
    old, new = compiled_of(HOURLY), compiled_of(every(1_800), version=4)
    edited = replace_version(state_of(old), old, new, NOON_MS)
    assert edited.dropped_ranges == []
    assert (edited.state.cursor_s, edited.state.next_nominal_s) == (NOON - 1, NOON)


def test_update_without_overdue_ticks_drops_none() -> None:
    old, new = compiled_of(HOURLY), compiled_of(every(60), version=4)
    edited = replace_version(state_of(old, NOON), old, new, NOON_MS + 90_000)
    assert edited.dropped_ranges == []
    assert (edited.state.cursor_s, edited.state.next_nominal_s) == (NOON + 89, NOON + 120)


def test_changed_jitter_counts_as_another_spec() -> None:
    old, new = compiled_of(HOURLY), compiled_of(every(HOUR, jitter_ms=1_000), version=4)
    edited = replace_version(state_of(old), old, new, LATER)
    assert [dropped_range.ticks for dropped_range in edited.dropped_ranges] == [4]
    assert edited.state.next_fire_ms == new.fire_ms(NOON + 4 * HOUR)


def ahead_of_now() -> tuple[CompiledSchedule, int]:
    """A rule and a tick whose fire time is long before it."""
    compiled = compiled_of(every(HOUR, jitter_ms=1_500_000))
    return compiled, next(
        tick for tick in range(NOON, NOON + 50 * HOUR, HOUR) if compiled.fire_ms(tick) < (tick - 600) * 1000
    )


def test_the_cursor_never_moves_back() -> None:
    """With negative jitter the cursor can be ahead of the clock: the tick has run before its nominal time."""
    old, tick = ahead_of_now()
    now_ms = old.fire_ms(tick)
    state = state_of(old, tick)
    assert state.cursor_s == tick > now_ms // 1000
    new = compiled_of(HOURLY, version=4)
    for edited in (
        replace_version(state, old, new, now_ms),
        set_remaining(state._replace(remaining=0), old, 3, now_ms),
    ):
        assert edited.dropped_ranges == []
        assert (edited.state.cursor_s, edited.state.next_nominal_s) == (tick, tick + HOUR)
    gone = close_state(state, old, now_ms)
    assert (gone.dropped_ranges, gone.state.cursor_s) == ([], tick)
    assert replace_version(gone.state, old, new, now_ms).state.next_nominal_s == tick + HOUR


@pytest.mark.parametrize(
    ("changes", "fire_ms"),
    [({"paused": True}, None), ({"paused": True, "pause_until_ms": 5}, 5), ({"remaining": 0}, None)],
)
def test_edit_does_not_make_a_paused_schedule_due(changes: dict[str, Any], fire_ms: int | None) -> None:
    old = compiled_of(HOURLY)
    for spec in (HOURLY, every(60)):
        edited = replace_version(state_of(old, **changes), old, compiled_of(spec, version=4), LATER)
        assert edited.state.next_fire_ms == fire_ms
        assert {name: getattr(edited.state, name) for name in changes} == changes


def test_edit_of_a_fixed_delay_with_a_run_in_flight() -> None:
    old, new = compiled_of(HOURLY), compiled_of(DELAY, version=4)
    assert replace_version(state_of(old, NOON, in_flight=1), old, new, LATER).state.next_nominal_s is None
    assert replace_version(state_of(old, NOON), old, new, LATER).state.next_nominal_s == UNTIL + 1
    back = replace_version(state_of(new, NOON), new, old, LATER)
    assert [dropped_range.ticks for dropped_range in back.dropped_ranges] == [1]


@given(st.sampled_from([7, 60, HOUR]), st.sampled_from([7, 45, 60, HOUR]), st.integers(0, 10**7), st.integers(0, 99))
@settings(max_examples=80)
def test_edit_neither_loses_nor_repeats_a_tick(every_s: int, other_s: int, late_ms: int, decided: int) -> None:
    old, new = compiled_of(every(every_s)), compiled_of(every(other_s), version=4)
    state = state_of(old, NOON - 1 + decided)
    now_ms = (state.cursor_s + 1) * 1000 + late_ms
    edited = replace_version(state, old, new, now_ms)
    if every_s == other_s:
        assert edited == (state._replace(version=4), [])
        return
    passed = Counter(tick for tick in range(state.cursor_s + 1, edited.state.cursor_s + 1) if tick % every_s == 0)
    assert sum(dropped_range.ticks for dropped_range in edited.dropped_ranges) == len(passed)
    assert all(
        dropped_range.after_s == state.cursor_s and dropped_range.until_s == edited.state.cursor_s
        for dropped_range in edited.dropped_ranges
    )
    assert edited.state.cursor_s >= state.cursor_s
    following = edited.state.next_nominal_s
    assert following is not None
    assert following * 1000 >= now_ms
    assert following % other_s == 0
    assert following - edited.state.cursor_s <= other_s


# ---------------------------------------------------------------- paused and resumed


@pytest.mark.parametrize("until_ms", [None, LATER])
def test_pause_stops_the_next_fire(until_ms: int | None) -> None:
    state = state_of(compiled_of(HOURLY), in_flight=1, waiting=2)
    stopped = pause_state(state, until_ms)
    assert stopped == state._replace(paused=True, pause_until_ms=until_ms, next_fire_ms=until_ms)
    assert pause_state(stopped, until_ms) == stopped


def test_end_of_a_pause_does_not_reopen_a_deleted_schedule() -> None:
    gone = close_state(state_of(compiled_of(HOURLY)), compiled_of(HOURLY), NOON_MS).state
    assert pause_state(gone, LATER).next_fire_ms is None


@pytest.mark.parametrize(
    ("on_resume", "carry", "until"),
    [(OnResume.POLICY, None, None), (OnResume.SKIP, "skip", UNTIL), (OnResume.FIRE_ONCE, "fire_once", UNTIL)],
)
def test_resume_restores_the_next_fire(on_resume: OnResume, carry: str | None, until: int | None) -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled)
    again = resume_state(pause_state(state, LATER), compiled, LATER, on_resume)
    assert again == state._replace(carry=carry, carry_until_s=until)
    assert resume_state(again, compiled, LATER + 99, OnResume.FIRE_ONCE) == again


# the runs of the next pass for four ticks of a pause, the last of them half a second old
RESUMES: list[tuple[OnResume, CatchUp, list[int], list[tuple[int, str]]]] = [
    (OnResume.POLICY, CatchUp.NONE, [3], [(3, "missed")]),
    (OnResume.POLICY, CatchUp.COALESCE, [3], [(3, "coalesced")]),
    (OnResume.POLICY, CatchUp.FIRE_IMMEDIATELY, [0, 1, 2, 3], []),
    (OnResume.SKIP, CatchUp.NONE, [], [(4, "resumed")]),
    (OnResume.SKIP, CatchUp.FIRE_IMMEDIATELY, [], [(4, "resumed")]),
    (OnResume.FIRE_ONCE, CatchUp.NONE, [3], [(3, "resumed")]),
    (OnResume.FIRE_ONCE, CatchUp.FIRE_IMMEDIATELY, [3], [(3, "resumed")]),
]


@pytest.mark.parametrize(("on_resume", "policy", "run", "lost"), RESUMES)
def test_on_resume_selects_the_runs_after_a_resume(
    on_resume: OnResume, policy: CatchUp, run: list[int], lost: list[tuple[int, str]]
) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=policy)
    state = resume_state(pause_state(state_of(compiled), None), compiled, LATER, on_resume)
    generated = find_due_ticks(state, compiled, LATER, LIMITS, 100)
    assert [due.nominal_s for due in generated.due] == [NOON + HOUR * number for number in run]
    assert [(dropped.ticks, dropped.reason) for dropped in generated.dropped] == lost
    assert generated.next_nominal_s == NOON + 4 * HOUR


def test_resume_with_waiting_runs_is_due_at_once() -> None:
    compiled = compiled_of(HOURLY)
    assert resume_state(
        pause_state(state_of(compiled, NOON, waiting=1), None), compiled, NOON_MS + 5, OnResume.POLICY
    ).next_fire_ms == (NOON_MS + 5)


@pytest.mark.parametrize("on_resume", list(OnResume))
def test_resume_of_an_exhausted_or_deleted_schedule_has_no_next_fire(on_resume: OnResume) -> None:
    compiled = compiled_of(HOURLY)
    assert (
        resume_state(pause_state(state_of(compiled, remaining=0), None), compiled, LATER, on_resume).next_fire_ms
        is None
    )
    gone = pause_state(close_state(state_of(compiled), compiled, NOON_MS).state, None)
    assert resume_state(gone, compiled, LATER, on_resume).next_fire_ms is None


@pytest.mark.parametrize(("mode", "sign"), [("symmetric", -1), ("delay", 1)])
def test_ticks_of_a_pause_are_those_whose_fire_time_was_in_it(mode: Any, sign: int) -> None:
    """Regression: a tick that jitter had moved forward into a pause ran after a resume with ``skip``.

    At the resume it was an upcoming tick, so it did not count as a tick of the pause. But its fire time was in the
    past, so it counted as missed and was caught up.
    """
    compiled = compiled_of(every(HOUR, jitter_ms=1_500_000, jitter_mode=mode), catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    ticks = range(NOON + HOUR, NOON + 50 * HOUR, HOUR)
    tick = next(tick for tick in ticks if (compiled.fire_ms(tick) - tick * 1000) * sign > 600_000)
    for now_ms, done in (
        (compiled.fire_ms(tick) - 1, False),
        (compiled.fire_ms(tick), True),
        (compiled.fire_ms(tick) + 99_000, True),
    ):
        state = resume_state(pause_state(state_of(compiled, tick - HOUR), None), compiled, now_ms, OnResume.SKIP)
        generated = find_due_ticks(state, compiled, now_ms, LIMITS, 100)
        assert generated.due == []
        assert sum(dropped.ticks for dropped in generated.dropped) == done
        assert generated.next_nominal_s == (tick + HOUR if done else tick)


# ---------------------------------------------------------------- limited


@pytest.mark.parametrize("remaining", [None, 1, 7])
def test_set_remaining_changes_nothing_else(remaining: int | None) -> None:
    compiled = compiled_of(HOURLY)
    for had in (None, 2):
        state = state_of(compiled, remaining=had)
        assert set_remaining(state, compiled, remaining, LATER) == (state._replace(remaining=remaining), [])


@pytest.mark.parametrize("had", [None, 0, 2])
def test_schedule_without_remaining_actions_has_no_next_fire(had: int | None) -> None:
    state = state_of(compiled_of(HOURLY), remaining=had)
    assert set_remaining(state, compiled_of(HOURLY), 0, LATER) == (state._replace(remaining=0, next_fire_ms=None), [])


@pytest.mark.parametrize("remaining", [None, 3])
def test_exhausted_schedule_starts_from_now(remaining: int | None) -> None:
    compiled = compiled_of(HOURLY, catchup_policy=CatchUp.FIRE_IMMEDIATELY)
    edited = set_remaining(state_of(compiled, remaining=0), compiled, remaining, LATER)
    assert edited.dropped_ranges == [DroppedRange(KEY, NOON - 1, UNTIL, 4, Reason.LIMIT_REACHED, VERSION, LATER)]
    assert (edited.state.cursor_s, edited.state.next_nominal_s, edited.state.remaining) == (
        UNTIL,
        UNTIL + HOUR,
        remaining,
    )
    assert edited.state.next_fire_ms == (UNTIL + HOUR) * 1000


# ---------------------------------------------------------------- closed, created again, skipping


def test_close_drops_undecided_ticks_and_clears_the_state() -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled, in_flight=1, carry=OnResume.SKIP, carry_until_s=NOON, skips=str(NOON), paused=True)
    edited = close_state(state, compiled, LATER)
    assert edited.dropped_ranges == [DroppedRange(KEY, NOON - 1, UNTIL, 4, Reason.DELETED, VERSION, LATER)]
    assert edited.state == state._replace(
        closed=True,
        cursor_s=UNTIL,
        next_nominal_s=None,
        next_fire_ms=None,
        carry=None,
        carry_until_s=None,
        skips=None,
    )
    assert close_state(edited.state, compiled, LATER + 10**7).dropped_ranges == []


@pytest.mark.parametrize("spec", [HOURLY, every(1_800)])
@pytest.mark.parametrize(("wait_ms", "first"), [(0, UNTIL), (-500, UNTIL), (2 * HOUR * 1000, UNTIL + 2 * HOUR)])
def test_recreated_schedule_never_runs_a_tick_twice(spec: SpecDocument, wait_ms: int, first: int) -> None:
    compiled = compiled_of(HOURLY)
    gone = close_state(state_of(compiled, UNTIL, starts=9, paused=True), compiled, LATER).state
    edited = replace_version(gone, compiled, compiled_of(spec, version=4), LATER + wait_ms)
    assert edited.dropped_ranges == []
    assert not edited.state.closed
    assert edited.state.paused
    assert (edited.state.starts, edited.state.cursor_s) == (9, max(UNTIL, first))
    assert edited.state.next_nominal_s == first + (HOUR if spec == HOURLY else 1_800)


def test_skips_are_added_sorted_and_once() -> None:
    state = state_of(compiled_of(HOURLY))
    once = add_skips(state, [NOON + HOUR, NOON])
    assert once == state._replace(skips=f"{NOON},{NOON + HOUR}")
    assert add_skips(once, [NOON, NOON + 2 * HOUR]).skips == f"{NOON},{NOON + HOUR},{NOON + 2 * HOUR}"
    assert add_skips(state, []) == state
    assert add_skips(once, []) == once


def test_next_tick_without_a_requested_skip() -> None:
    compiled = compiled_of(HOURLY)
    state = state_of(compiled)._replace(next_nominal_s=NOON)
    assert (next_unskipped(state, compiled), skips_of(state)) == (NOON, set())
    assert next_unskipped(add_skips(state, [NOON + HOUR]), compiled) == NOON
    both = add_skips(state, [NOON, NOON + HOUR])
    assert (next_unskipped(both, compiled), skips_of(both)) == (NOON + 2 * HOUR, {NOON, NOON + HOUR})
    assert next_unskipped(both._replace(next_nominal_s=None), compiled) is None
