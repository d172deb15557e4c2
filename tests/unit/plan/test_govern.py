"""The governor, rule by rule: each row of a table is one rule at one moment."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.model.dial import Dial
from foliot.model.hint import HintRow, HintRows
from foliot.model.policy import OnResume, Overlap
from foliot.model.run import Reason, RunState, Source
from foliot.model.schedule import Action
from foliot.model.spec import ExcludeDocument, IntervalDocument, NamedCalendar, SpecDocument, WindowDocument
from foliot.plan import edit
from foliot.plan.ahead import upcoming
from foliot.plan.decide import decide
from foliot.plan.govern import Plan, contested, hints_of, pending, plan
from foliot.plan.rule import Rule, compile_rule
from foliot.plan.settle import freed, release
from foliot.plan.start import start
from tests.unit.plan.kit import DELAY, KEY, NOON, NOON_MS, dial_of, every, rule_of, run_of, world_at

FIVE_MINUTES = SpecDocument(cron=("*/5 * * * *",))
HOUR_MS = 3_600_000


def governed(spec: SpecDocument | None = None, **policy: Any) -> Rule:
    return rule_of(every(60) if spec is None else spec, adaptive=True, **policy)


def hint(value: int, lives_ms: int = HOUR_MS) -> HintRow:
    return HintRow(value, NOON_MS + lives_ms, NOON_MS, "ann", None)


def hints(interval: int | None = None, once: int | None = None, lives_ms: int = HOUR_MS) -> str | None:
    """Hints that were given at noon: an interval in seconds, a time in seconds after noon."""
    return HintRows(
        None if interval is None else hint(interval * 1000, lives_ms),
        None if once is None else hint(NOON_MS + once * 1000, lives_ms),
    ).text()


def ran(rule: Rule, took_s: float = 10, **changes: Any) -> Dial:
    """A dial whose run has started at noon, and ended."""
    ended_ms = NOON_MS + int(took_s * 1000)
    return dial_of(rule, NOON, last_start_ms=NOON_MS, last_end_ms=ended_ms, next_nominal_s=None, **changes)


def planned(dial: Dial, rule: Rule, now_s: float) -> int | None:
    """When the next run is, in seconds after noon."""
    found = plan(dial, rule, NOON_MS + int(now_s * 1000))
    return None if found is None else found.nominal_s - NOON


# --- the baseline -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "took_s", "expected"),
    [
        (every(60), 10, 60),  # from start to start
        (every(60), 60, 60),  # just in time
        (every(60), 90, 150),  # it took too long: the interval begins with its end
        (every(60), 60.5, 121),
        (SpecDocument(cron=("@every 1m",)), 90, 150),
        (DELAY, 10, 70),  # a fixed delay always begins with the end
        (DELAY, 90, 150),
        (FIVE_MINUTES, 10, 300),
        (FIVE_MINUTES, 600, 600),  # it has missed one and meets the next: it runs once, at once
        (FIVE_MINUTES, 700, 700),
        (FIVE_MINUTES, 700.2, 701),
    ],
)
def test_the_next_run_follows_the_last_one(spec: SpecDocument, took_s: float, expected: int) -> None:
    rule = governed(spec)
    assert planned(ran(rule, took_s), rule, took_s) == expected


def test_a_grid_is_returned_to() -> None:
    """A five-minute cron whose run takes ten minutes runs once at once, then at its usual times."""
    rule = governed(FIVE_MINUTES)
    again = ran(rule, 600)._replace(cursor_s=NOON + 700, last_start_ms=NOON_MS + 700_000, last_end_ms=NOON_MS + 710_000)
    assert planned(again, rule, 710) == 900


@pytest.mark.parametrize(
    ("spec", "first"),
    [(every(60), 0), (every(7), 4), (FIVE_MINUTES, 0), (DELAY, 0), (SpecDocument(cron=("30 12 * * *",)), 1_800)],
)
def test_the_first_run_is_that_of_any_schedule(spec: SpecDocument, first: int) -> None:
    dial = dial_of(governed(spec))
    assert (dial.next_nominal_s, dial.next_fire_ms) == (NOON + first, NOON_MS + first * 1000)


@pytest.mark.parametrize(
    ("failures", "expected"), [(0, 60), (1, 120), (2, 240), (3, 480), (4, 960), (5, 1_920), (6, 1_920), (50, 1_920)]
)
def test_failures_back_an_interval_off(failures: int, expected: int) -> None:
    rule = governed()
    assert planned(ran(rule, failures=failures), rule, 10) == expected


@pytest.mark.parametrize("failures", [1, 5, 50])
def test_failures_do_not_move_a_grid(failures: int) -> None:
    rule = governed(FIVE_MINUTES)
    assert planned(ran(rule, failures=failures), rule, 10) == 300


def test_the_backing_off_can_be_left_out() -> None:
    rule = governed(failure_backoff=False)
    assert planned(ran(rule, failures=5), rule, 10) == 60


def test_two_sources_are_a_grid() -> None:
    rule = governed(SpecDocument(intervals=(IntervalDocument(60), IntervalDocument(90))))
    assert planned(ran(rule, 95, failures=5), rule, 95) == 95


# --- hints ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [every(60), FIVE_MINUTES], ids=["interval", "grid"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"interval": 20}, (20, Source.HINT)),  # an interval replaces the baseline, be it sooner …
        ({"interval": 1_000}, (1_000, Source.HINT)),  # … or later
        ({"once": 30}, (30, Source.HINT)),  # a one-shot competes with it
        ({"once": 1_000}, None),
        ({"interval": 40, "once": 30}, (30, Source.HINT)),  # of both, the earlier
        ({"interval": 30, "once": 40}, (30, Source.HINT)),
        ({"interval": 1_000, "once": 900}, (900, Source.HINT)),  # and the baseline is replaced all the same
    ],
)
def test_live_hints(spec: SpecDocument, given: dict[str, int], expected: tuple[int, Source] | None) -> None:
    rule = governed(spec)
    baseline = (60 if rule.interval_ms else 300, Source.SCHEDULE)
    found = plan(ran(rule, hints=hints(**given)), rule, NOON_MS + 10_000)
    assert found is not None
    assert (found.nominal_s - NOON, found.source) == (expected or baseline)


def test_a_tie_is_the_baselines() -> None:
    rule = governed()
    found = plan(ran(rule, hints=hints(once=60)), rule, NOON_MS + 10_000)
    assert found == Plan(NOON + 60)


def test_failures_do_not_stretch_a_hint() -> None:
    rule = governed()
    assert planned(ran(rule, failures=5, hints=hints(interval=20)), rule, 10) == 20


def test_a_hinted_interval_begins_with_the_end_of_a_long_run() -> None:
    rule = governed()
    assert planned(ran(rule, 90, hints=hints(interval=20)), rule, 90) == 110


@pytest.mark.parametrize(
    ("given", "lives_s", "now_s", "expected"),
    [
        ({"interval": 20}, 15, 15, 60),  # expired: at its very end a hint no longer counts
        ({"once": 12}, 15, 15, 60),
        ({"interval": 20}, 15, 10, 60),  # it will have expired before it could count
        ({"interval": 20}, 21, 10, 20),
        ({"interval": 1_000}, 100, 10, 100),  # it holds the baseline back until it expires
        ({"interval": 1_000}, 40, 10, 60),
        ({"once": 30}, 30, 10, 60),
    ],
)
def test_a_hint_counts_until_it_expires(given: dict[str, int], lives_s: int, now_s: int, expected: int) -> None:
    rule = governed()
    assert planned(ran(rule, hints=hints(**given, lives_ms=lives_s * 1000)), rule, now_s) == expected


def test_hints_that_expire_one_after_the_other() -> None:
    rule = governed()
    rows = HintRows(hint(1_000_000, 200_000), hint(NOON_MS + 500_000, 600_000))
    assert planned(ran(rule, hints=rows.text()), rule, 10) == 200


def test_what_cannot_be_read_is_no_advice() -> None:
    rule = governed()
    dial = ran(rule, hints="[1, 2]")
    assert hints_of(dial) == HintRows()
    assert planned(dial, rule, 10) == 60


def test_two_live_hints_are_worth_a_warning() -> None:
    rule = governed()
    both = ran(rule, hints=hints(interval=40, once=30))
    assert contested(both, NOON_MS)
    assert not contested(both, NOON_MS + HOUR_MS)
    assert not contested(ran(rule, hints=hints(interval=40)), NOON_MS)
    assert not contested(ran(rule), NOON_MS)


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "given", "expected", "bound"),
    [
        ({"min_interval_ms": 30_000}, {"interval": 20}, 30, "min"),
        ({"min_interval_ms": 30_000}, {"once": 11}, 30, "min"),
        ({"min_interval_ms": 90_000}, {}, 90, "min"),
        ({"min_interval_ms": 60_000}, {}, 60, None),
        ({"max_interval_ms": 45_000}, {}, 45, "max"),
        ({"max_interval_ms": 60_000}, {}, 60, None),
        ({"max_interval_ms": 600_000}, {"interval": 3_000}, 600, "max"),
        ({"min_interval_ms": 45_000, "max_interval_ms": 45_000}, {"interval": 20}, 45, "min"),
        ({"min_interval_ms": 45_000, "max_interval_ms": 45_000}, {}, 45, "max"),
        ({"min_interval_ms": 30_000, "max_interval_ms": 40_000}, {"interval": 35}, 35, None),
    ],
)
def test_bounds(policy: dict[str, int], given: dict[str, int], expected: int, bound: str | None) -> None:
    rule = governed(**policy)
    found = plan(ran(rule, hints=hints(**given)), rule, NOON_MS + 10_000)
    assert found is not None
    assert (found.nominal_s - NOON, found.bound) == (expected, bound)


def test_bounds_come_after_the_backing_off() -> None:
    rule = governed(max_interval_ms=200_000)
    assert planned(ran(rule, failures=3), rule, 10) == 200


def test_bounds_move_a_grid_too() -> None:
    rule = governed(FIVE_MINUTES, max_interval_ms=100_000)
    assert planned(ran(rule), rule, 10) == 100
    rule = governed(FIVE_MINUTES, min_interval_ms=400_000)
    assert planned(ran(rule), rule, 10) == 400


def test_a_run_longer_than_the_longest_interval_is_followed_after_its_end() -> None:
    rule = governed(every(3_600), max_interval_ms=60_000)
    assert planned(ran(rule, 90), rule, 90) == 150


def test_before_the_first_run_the_longest_interval_counts_from_the_creation() -> None:
    rule = governed(SpecDocument(cron=("0 0 1 1 *",)), max_interval_ms=60_000)
    assert dial_of(rule).next_nominal_s == NOON + 60


@pytest.mark.parametrize("given", [{}, {"interval": 20}, {"once": 30}])
def test_never_in_the_past(given: dict[str, int]) -> None:
    rule = governed(min_interval_ms=10_000, max_interval_ms=100_000)
    assert planned(ran(rule, hints=hints(**given)), rule, 500.5) == 501


def test_two_runs_never_share_a_second() -> None:
    """The nominal time makes a run unique."""
    rule = governed()
    dial = ran(rule, 0, hints=hints(once=0))
    assert planned(dial, rule, 0) == 1


# --- what the spec says besides ---------------------------------------------------------------------------------------


def at(seconds: int) -> str:
    return f"2026-01-01T12:{seconds // 60:02}:{seconds % 60:02}Z"


@pytest.mark.parametrize("given", [{}, {"interval": 30}, {"once": 45}])
def test_exclusions_hold_whatever_is_hinted(given: dict[str, int]) -> None:
    blackout = ExcludeDocument(windows=(WindowDocument(at(20), at(200)),))
    rule = governed(every(60, exclude=blackout), max_interval_ms=100_000)
    assert planned(ran(rule, hints=hints(**given)), rule, 10) == 200


def test_the_bounds_of_the_spec_hold_whatever_is_hinted() -> None:
    rule = governed(every(60, end_at=at(50)))
    assert planned(ran(rule), rule, 10) is None
    assert planned(ran(rule, hints=hints(interval=20)), rule, 10) == 20
    assert planned(ran(rule, hints=hints(interval=55)), rule, 10) is None
    rule = governed(every(60, start_at=at(40)))
    assert planned(dial_of(rule, hints=hints(once=5)), rule, 1) == 40


def test_a_named_calendar_and_the_zone_of_a_cron_string_count() -> None:
    spec = SpecDocument(cron=("TZ=Asia/Tokyo */5 * * * *",), exclude=ExcludeDocument(named=("off",)))
    calendar = NamedCalendar("off", dates=("2026-01-01",))  # there, this day ends at 15:00 UTC
    parts = (KEY, 1, "default", "report", spec, governed().policy, Action(function="jobs:run"))
    rule = compile_rule(*parts, None, (calendar,))
    assert planned(ran(rule, hints=hints(once=30)), rule, 10) == 3 * 3600


def test_a_spec_that_is_over_has_no_next_run() -> None:
    rule = governed(SpecDocument(times=(at(0),)))
    assert planned(ran(rule), rule, 10) is None
    assert planned(ran(rule, hints=hints(once=30)), rule, 10) == 30


def test_jitter_moves_a_grid() -> None:
    spec = SpecDocument(cron=("*/5 * * * *",), jitter_ms=60_000)
    rule, plain = governed(spec), rule_of(spec)
    dial = ran(rule)
    fire_ms = plain.fire_ms(NOON + 300)
    assert fire_ms % 300_000
    assert planned(dial, rule, 10) == -(-fire_ms // 1000) - NOON
    early = dial._replace(last_start_ms=fire_ms, cursor_s=-(-fire_ms // 1000), last_end_ms=fire_ms)
    assert planned(early, rule, fire_ms / 1000 - NOON) == -(-plain.fire_ms(NOON + 600) // 1000) - NOON


# --- in the planner ---------------------------------------------------------------------------------------------------


def test_a_run_that_has_started_is_waited_for() -> None:
    rule = governed()
    dial = dial_of(rule)
    decision, after, _ = decide(dial, rule, world_at(), 0)
    assert [(run.nominal_s, run.source, run.state) for run in decision.runs] == [(NOON, "schedule", "ENQUEUED")]
    assert (after.next_nominal_s, after.next_fire_ms, after.cursor_s) == (None, None, NOON)
    ended = freed(after, rule, RunState.FAILED, 0, NOON_MS + 10_000)
    assert (ended.last_end_ms, ended.failures, ended.next_nominal_s) == (NOON_MS + 10_000, 1, NOON + 120)
    assert ended.next_fire_ms == (NOON + 120) * 1000


def test_the_fast_path_leaves_it_alone() -> None:
    rule = governed()
    assert start(tuple(dial_of(rule)), rule, world_at()) is None


def test_a_hinted_run_says_so_and_uses_a_one_shot_up() -> None:
    rule = governed()
    dial = edit.governed(ran(rule, hints=hints(interval=50, once=30)), rule, NOON_MS + 10_000)
    decision, after, _ = decide(dial, rule, world_at(NOON_MS + 30_000), 0)
    assert [(run.nominal_s - NOON, run.source) for run in decision.runs] == [(30, Source.HINT)]
    assert after.hints == hints(interval=50)


def test_a_run_after_its_time_uses_a_one_shot_up() -> None:
    """It was clamped, or the baseline came first: one run, not two."""
    rule = governed(min_interval_ms=60_000)
    dial = edit.governed(ran(rule, hints=hints(once=30)), rule, NOON_MS + 10_000)
    decision, after, _ = decide(dial, rule, world_at(NOON_MS + 60_000), 0)
    assert [run.nominal_s - NOON for run in decision.runs] == [60]
    assert after.hints is None


def test_a_hint_that_has_expired_before_anybody_came_is_ignored() -> None:
    rule = governed(FIVE_MINUTES)
    dial = edit.governed(ran(rule, hints=hints(once=30, lives_ms=40_000)), rule, NOON_MS + 10_000)
    assert dial.next_nominal_s == NOON + 30
    decision, after, _ = decide(dial, rule, world_at(NOON_MS + 45_000), 0)
    assert decision.runs == []
    assert (after.next_nominal_s, after.next_fire_ms, after.cursor_s) == (NOON + 300, (NOON + 300) * 1000, NOON)


def test_a_baseline_that_was_due_meanwhile_runs_in_its_stead() -> None:
    rule = governed()
    dial = edit.governed(ran(rule, hints=hints(once=30, lives_ms=40_000)), rule, NOON_MS + 10_000)
    decision, _, _ = decide(dial, rule, world_at(NOON_MS + 90_000), 0)
    assert [(run.nominal_s - NOON, run.source) for run in decision.runs] == [(90, "schedule")]


def test_it_is_late_but_never_missed() -> None:
    rule = governed()
    dial = edit.governed(ran(rule), rule, NOON_MS + 10_000)
    decision, after, used = decide(dial, rule, world_at(NOON_MS + 10_000_000), 0)
    assert [run.nominal_s - NOON for run in decision.runs] == [60]
    assert (decision.spans, used, after.missed) == ([], 0, 0)


@pytest.mark.parametrize("spec", [every(60), FIVE_MINUTES], ids=["interval", "grid"])
def test_a_resume_that_skips_begins_anew(spec: SpecDocument) -> None:
    rule = governed(spec)
    dial = edit.paused(edit.governed(ran(rule, hints=hints(once=20)), rule, NOON_MS + 10_000), None)
    now_ms = NOON_MS + 1_000_000
    dial = edit.resumed(dial, rule, now_ms, OnResume.SKIP)
    decision, after, _ = decide(dial, rule, world_at(now_ms), 0)
    assert decision.runs == []
    assert [(span.until_s - NOON, span.ticks, span.reason) for span in decision.spans] == [(1_000, 1, Reason.RESUMED)]
    assert after.next_nominal_s == NOON + (1_060 if rule.interval_ms else 1_200)
    assert (after.carry, after.hints) == (None, None)


def test_a_pause_beats_everything() -> None:
    rule = governed(max_interval_ms=60_000)
    dial = edit.paused(edit.governed(ran(rule), rule, NOON_MS + 10_000), NOON_MS + 500_000)
    hinted = edit.governed(dial._replace(hints=hints(once=30)), rule, NOON_MS + 20_000)
    assert (hinted.next_nominal_s, hinted.next_fire_ms) == (NOON + 30, NOON_MS + 500_000)
    forever = edit.governed(edit.paused(hinted, None), rule, NOON_MS + 20_000)
    assert forever.next_fire_ms is None


def test_a_hint_waits_for_the_run_that_goes_on() -> None:
    rule = governed()
    busy = ran(rule, in_flight=1)
    hinted = edit.governed(busy._replace(hints=hints(once=30)), rule, NOON_MS + 5_000)
    assert (hinted.next_nominal_s, hinted.next_fire_ms) == (None, None)
    ended = freed(hinted, rule, RunState.SUCCESS, 0, NOON_MS + 10_000)
    assert (ended.next_nominal_s, ended.hints) == (NOON + 30, hints(once=30))


def test_the_end_of_a_trigger_is_not_that_of_its_run() -> None:
    rule = governed()
    own_and_trigger = ran(rule, in_flight=2)
    after = freed(own_and_trigger, rule, RunState.SUCCESS, 9, NOON_MS + 10_000)
    assert (after.next_nominal_s, after.last_end_ms) == (None, own_and_trigger.last_end_ms)
    aimed = edit.governed(ran(rule, in_flight=0), rule, NOON_MS + 10_000)._replace(in_flight=1)
    failed = freed(aimed, rule, RunState.FAILED, 9, NOON_MS + 20_000)
    assert (failed.next_nominal_s, failed.failures) == (NOON + 120, 1)


@pytest.mark.parametrize(
    ("policy", "changes", "reason"),
    [
        ({"shadow": True}, {}, Reason.SHADOW),
        ({"overlap_policy": Overlap.SKIP}, {"in_flight": 1}, Reason.OVERLAP),
        ({}, {"skips": str(NOON + 60)}, Reason.SKIP_REQUESTED),
    ],
)
@pytest.mark.parametrize("longest", [None, 60_000])
def test_what_does_not_start_is_followed_after_its_time(
    policy: dict[str, Any], changes: dict[str, Any], reason: Reason, longest: int | None
) -> None:
    rule = governed(max_interval_ms=longest, **policy)
    dial = edit.governed(ran(rule), rule, NOON_MS + 10_000)._replace(**changes)
    decision, after, _ = decide(dial, rule, world_at(NOON_MS + 60_000), 0)
    assert [(run.state, run.reason) for run in decision.runs] == [(RunState.SKIPPED, reason)]
    assert after.next_nominal_s == NOON + 120


def test_a_run_that_was_dropped_from_the_queue_is_followed() -> None:
    rule = governed(shadow=True)
    dial = ran(rule, waiting=1)
    released = release(dial, rule, [(run_of(NOON + 60), world_at(NOON_MS + 70_000))])
    assert released.dial.next_nominal_s == NOON + 70


def test_a_hinted_run_that_waits_is_held_by_a_pause() -> None:
    """It is as automatic as a tick."""
    rule = governed()
    dial = ran(rule, waiting=1, remaining=1, paused=True)
    waiting = [(run_of(NOON + 60, source=Source.HINT), world_at(NOON_MS + 70_000))]
    assert release(dial, rule, waiting).changes == []
    resumed = release(dial._replace(paused=False), rule, waiting).dial
    assert (resumed.remaining, resumed.last_start_ms) == (0, NOON_MS + 70_000)


def test_what_is_shown_is_what_will_run() -> None:
    rule = governed()
    dial = edit.governed(ran(rule), rule, NOON_MS + 10_000)
    assert list(upcoming(dial, rule, NOON_MS + 10_000)) == [NOON + 60]
    skipping = edit.skipping(dial._replace(hints=hints(once=60)), [NOON + 60])
    assert list(upcoming(skipping, rule, NOON_MS + 10_000)) == [NOON + 120]
    _, after, _ = decide(skipping, rule, world_at(NOON_MS + 65_000), 0)
    assert (after.next_nominal_s, after.hints) == (NOON + 120, None)


# --- edits ------------------------------------------------------------------------------------------------------------


def test_another_bound_moves_the_next_run_and_nothing_else() -> None:
    old, new = governed(), governed(max_interval_ms=30_000, version=4)
    dial = edit.governed(ran(old, hints=hints(interval=50)), old, NOON_MS + 10_000)
    edited = edit.replaced(dial, old, new, NOON_MS + 20_000)
    assert edited.spans == []
    assert (edited.dial.next_nominal_s, edited.dial.version, edited.dial.hints) == (NOON + 30, 4, dial.hints)


def test_a_schedule_that_becomes_adaptive_goes_on_from_its_last_run() -> None:
    old, new = rule_of(every(60)), governed(every(60), version=4)
    dial = dial_of(old, NOON, last_start_ms=NOON_MS)
    edited = edit.replaced(dial, old, new, NOON_MS + 20_000)
    assert (edited.dial.next_nominal_s, edited.spans) == (NOON + 60, [])
    late = edit.replaced(dial, old, new, NOON_MS + 130_000)
    assert [(span.ticks, span.reason) for span in late.spans] == [(2, Reason.EDITED)]


def test_one_that_is_no_longer_adaptive_forgets_its_hints() -> None:
    old, new = governed(every(60)), rule_of(every(60), version=4)
    dial = edit.governed(ran(old, hints=hints(interval=20)), old, NOON_MS + 10_000)
    edited = edit.replaced(dial, old, new, NOON_MS + 15_000)
    assert (edited.dial.next_nominal_s, edited.dial.hints, edited.spans) == (NOON + 60, None, [])


def test_a_deleted_one_forgets_its_hints() -> None:
    rule = governed()
    closed = edit.closed(ran(rule, hints=hints(interval=20)), rule, NOON_MS + 10_000)
    assert closed.dial.hints is None
    assert edit.governed(closed.dial, rule, NOON_MS + 20_000).next_nominal_s is None


def test_expired_hints_are_cleared() -> None:
    rule = governed()
    dial = ran(rule, hints=hints(interval=20, lives_ms=5_000))
    assert edit.governed(dial, rule, NOON_MS + 10_000).hints is None
    ended = freed(dial._replace(in_flight=1), rule, RunState.SUCCESS, 0, NOON_MS + 10_000)
    assert ended.hints is None


def test_the_cause_of_what_is_pending_is_known() -> None:
    rule = governed(min_interval_ms=40_000)
    dial = edit.governed(ran(rule, hints=hints(once=30)), rule, NOON_MS + 10_000)
    found = pending(dial, rule, NOON_MS + 15_000)
    assert found == Plan(NOON + 40, Source.HINT, hint(NOON_MS + 30_000), "min")


def test_admission_is_as_for_any_other_tick() -> None:
    """A trigger in flight is in its way, and ``queue`` makes it wait; nothing is planned meanwhile."""
    rule = governed(overlap_policy=Overlap.QUEUE)
    dial = edit.governed(ran(rule), rule, NOON_MS + 10_000)._replace(in_flight=1)
    decision, after, _ = decide(dial, rule, world_at(NOON_MS + 60_000), 0)
    assert [run.state for run in decision.runs] == [RunState.BUFFERED]
    assert (after.next_nominal_s, after.waiting) == (None, 1)
