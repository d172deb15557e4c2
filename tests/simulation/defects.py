"""Planted defects. Each is a bug that a real scheduler has had, and the simulation must detect it.

A checker that no defect violates proves nothing.  ``python -m tests.simulation --defects`` plants them one by one and
prints the seed that detects each.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.simulation import (
    defects_of_endings,
    defects_of_guards,
    defects_of_hints,
    defects_of_notifications,
    defects_of_workers,
)
from tests.support.planting import DEFECTS, Defect, Patches, defect, planted
from tompion.engine.engine import Engine
from tompion.engine.execution import launcher
from tompion.engine.maintenance import Maintenance
from tompion.engine.steps import backfill, fire, planned, settle
from tompion.engine.steps.fire import FireStep
from tompion.engine.steps.rescue import RescueStep
from tompion.engine.steps.result import StepResult
from tompion.model import run
from tompion.model.policy import CatchUp
from tompion.model.schedule_state import ScheduleState, StateTuple
from tompion.operations import idempotency
from tompion.operations.schedules import control, crud, repository
from tompion.plan import decide, due_ticks, edit, outcome, overlap, pause
from tompion.plan.backfill import next_chunk as backfill_step
from tompion.plan.decide import Decision
from tompion.spec import jitter
from tompion.store.base import Transaction
from tompion.store.sqlite import driver

__all__ = [
    "DEFECTS", "Defect", "defects_of_endings", "defects_of_guards", "defects_of_hints", "defects_of_notifications",
    "defects_of_workers", "planted",
]  # fmt: skip


@defect
def no_unique_key_and_no_row_lock(patches: Patches) -> None:
    """Schedule states are read in one transaction and fired in another, and no constraint rejects the second row."""
    memory: dict[int, list[StateTuple]] = {}
    for name in ("run_insert", "run_insert_fast"):
        patches.sql(name, "ON CONFLICT (schedule_key, nominal_s, origin) DO NOTHING", "")
    drop_index(patches)

    def stale(self: FireStep, transaction: Transaction, limit: int) -> Any:
        now_ms = transaction.now_ms()
        rows = transaction.state_claim_due(now_ms - 10_001, now_ms, limit)
        used, memory[id(self)] = memory.get(id(self)), rows
        return self._fire(transaction, now_ms, rows if used is None else used + rows[:0] or rows, 0)

    patches.set(FireStep, "on_time", stale)


def drop_index(patches: Patches) -> None:
    """Replace the unique index by an ordinary one in every database that is created meanwhile."""
    migrate = driver.SqliteStore._migrate

    def weaker(self: driver.SqliteStore) -> None:
        migrate(self)
        self._writer.execute("DROP INDEX schedule_runs_once")
        self._writer.execute("CREATE INDEX schedule_runs_once ON schedule_runs (schedule_key, nominal_s, origin)")

    patches.set(driver.SqliteStore, "_migrate", weaker)


@defect
def advance_before_insert(patches: Patches) -> None:
    """The cursor moves in one transaction and the runs are inserted in another. A crash between them loses the runs."""
    write = Transaction.write_decisions
    later: list[Any] = []

    def split(self: Transaction, writes: Any) -> Any:
        later.extend(writes.runs)
        return write(self, writes._replace(runs=[]))

    apply = Engine.apply

    def insert(self: Engine, result: StepResult) -> None:
        rows, later[:] = list(later), []
        if rows:
            self._store.write(lambda transaction: transaction.run_insert(rows))
        apply(self, result)

    patches.set(Transaction, "write_decisions", split)
    patches.set(Engine, "apply", insert)


@defect
def overlap_judged_before_the_lock(patches: Patches) -> None:
    """The overlap decision uses the in-flight count of an earlier transaction."""
    seen: dict[int, int] = {}
    begin = Decision.__init__

    def remembered(self: Decision, state: ScheduleState, *rest: Any) -> None:
        begin(self, state, *rest)
        self.in_flight, seen[state.schedule_key] = seen.get(state.schedule_key, state.in_flight), state.in_flight

    patches.set(Decision, "__init__", remembered)


@defect
def pause_read_before_the_lock(patches: Patches) -> None:
    """A pause keeps the next fire time, and the fire transaction does not check the pause."""
    patches.set(pause, "pause_state", lambda state, until_ms: state._replace(paused=True, pause_until_ms=until_ms))
    fire = FireStep._fire

    def blind(self: FireStep, transaction: Transaction, now_ms: int, states: list[StateTuple], budget: int) -> Any:
        return fire(
            self, transaction, now_ms, [ScheduleState._make(row)._replace(paused=False) for row in states], budget
        )

    patches.set(FireStep, "_fire", blind)


@defect
def jitter_not_deterministic(patches: Patches) -> None:
    """Each computation of a fire time draws another jitter."""
    random = Random(1)
    patches.set(
        jitter, "fire_time_ms", lambda ticks, tick, *, jitter_ms, **rest: tick * 1000 + random.randint(0, jitter_ms)
    )


@defect
def fence_not_checked(patches: Patches) -> None:
    """An outcome is accepted although another worker has claimed the run or the run has ended."""
    patches.sql("run_settle", "AND attempt = ?4 AND state IN ('ENQUEUED', 'STARTED')", "")


@defect
def final_states_not_sticky(patches: Patches) -> None:
    """A late outcome overwrites an earlier one."""
    patches.sql("run_settle", "AND state IN ('ENQUEUED', 'STARTED')", "")
    patches.sql("run_settle", "AND attempt = ?4", "AND attempt >= ?4")


@defect
def rescue_keeps_the_attempt(patches: Patches) -> None:
    """A claimed run keeps its fence, so that two owners hold the same one."""
    patches.sql("run_claim", "attempt = attempt + 1,", "attempt = max(attempt, 1),")


@defect
def leases_ignored(patches: Patches) -> None:
    """Runs are claimed while their owner is alive."""
    patches.sql("lease_list_expired", "lease_until_ms <= :now_ms", "lease_until_ms <= :now_ms + 15000")
    patches.sql("work_due", "lease_until_ms <= :now_ms", "lease_until_ms <= :now_ms + 15000")


@defect
def an_expired_lease_keeps_its_runs(patches: Patches) -> None:
    """The runs of an expired lease are not released."""
    patches.set(Transaction, "run_release_expired", lambda self, held, now_ms: set())


@defect
def runs_are_taken_without_a_lease(patches: Patches) -> None:
    """An instance without a lease continues to claim runs under its old number, which no other instance checks."""
    patches.sql("lease_hold", "AND lease_until_ms IS NOT NULL", "")
    patches.sql("lease_renew", "lease_until_ms = :lease_until_ms", "skew_ms = :skew_ms + 0 * :lease_until_ms")
    patches.sql("lease_renew", "AND lease_until_ms IS NOT NULL", "")


@defect
def crashed_runs_are_never_picked_up(patches: Patches) -> None:
    """No instance handles an expired lease."""
    patches.set(RescueStep, "claim", lambda self, transaction, limit: StepResult())
    patches.set(RescueStep, "unknown", lambda self, transaction, held: [])
    patches.sql("run_list_zombies", "due_ms <= :silent_since_ms", "due_ms < 0 AND :silent_since_ms > 0")


@defect
def coalesce_runs_the_first(patches: Patches) -> None:
    """The oldest missed tick runs and the later ones are dropped."""

    def first(self: Any, ticks: list[int], reason: Any) -> bool:
        if ticks and self.budget < 1:
            return False
        for tick in ticks[:1]:
            self._start(tick, self.compiled.fire_ms(tick), reason)
        self._drop(ticks[1:], reason)
        return True

    patches.set(due_ticks._Pass, "_one_of", first)


@defect
def coalesce_leaves_late_ticks_alone(patches: Patches) -> None:
    """The last missed tick runs, and the ticks after it that are only late run besides it."""

    def missed_only(self: Any, ticks: list[int]) -> tuple[int, None] | None:
        later = self._later()
        if later is not None and self._is_late(later):
            self._drop(ticks, run.Reason.COALESCED)
        elif not self._one_of(ticks, run.Reason.COALESCED):
            return ticks[0], None
        return None

    patches.set(due_ticks._Pass, "_coalesce", missed_only)


@defect
def missed_ticks_are_dropped_whatever_the_policy(patches: Patches) -> None:
    """Every late tick is dropped."""
    reason = run.Reason.MISSED
    patches.set(due_ticks._Pass, "_catch_up", lambda self, ticks: self._drop(ticks, reason))


@defect
def a_late_tick_counts_as_missed(patches: Patches) -> None:
    """Ticks within the grace period are dropped."""
    on_time = due_ticks._on_time

    def strict(rule: Any, nominal: int, now_ms: int, cursor: int) -> Any:
        result = on_time(rule, nominal, now_ms, cursor)
        lost = [due for due in result.due if due.fire_ms < now_ms - 1_000]
        if rule.policy.catchup_policy != CatchUp.NONE or not lost:
            return result
        dropped = due_ticks.Dropped(cursor, lost[-1].nominal_s, len(lost), run.Reason.MISSED)
        return result._replace(due=result.due[len(lost) :], dropped=[dropped])

    patches.set(due_ticks, "_on_time", strict)


@defect
def catch_up_is_one_short(patches: Patches) -> None:
    """The last tick of a pass is decided but not written."""
    fire = due_ticks._Pass._fire

    def short(self: Any, ticks: list[int]) -> Any:
        answer = fire(self, ticks)
        self.due = self.due[:-1] if len(self.due) > 1 else self.due
        return answer

    patches.set(due_ticks._Pass, "_fire", short)


@defect
def backfill_leaves_out_its_end(patches: Patches) -> None:
    """The end of a backfill's range is excluded."""
    step = backfill_step

    def shorter(backfill: Any, *rest: Any) -> Any:
        moved = step(backfill._replace(last_s=backfill.last_s - 30), *rest)
        return moved._replace(backfill=moved.backfill._replace(last_s=backfill.last_s))

    patches.set(backfill, "next_chunk", shorter)


@defect
def slots_are_never_freed(patches: Patches) -> None:
    """A run that has ended still counts as in flight."""
    freed = outcome.free_slot

    def kept(state: ScheduleState, *rest: Any) -> ScheduleState:
        return freed(state, *rest)._replace(in_flight=state.in_flight)

    patches.set(settle, "free_slot", kept)


@defect
def waiting_runs_are_never_started(patches: Patches) -> None:
    """A free slot stays free although runs wait for it."""
    patches.set(settle, "release_waiting", lambda *rest: [])
    patches.set(fire, "release_waiting", lambda *rest: [])


@defect
def deferred_ticks_are_forgotten(patches: Patches) -> None:
    """A tick that has to wait is not written, but the cursor advances."""
    tick = Decision.decide_tick

    def forgetful(self: Decision, due: Any) -> None:
        tick(self, due)
        if self.runs and self.runs[-1].state == run.RunState.BUFFERED:
            self.runs.pop()
            self.waiting -= 1

    patches.set(Decision, "decide_tick", forgetful)


@defect
def key_contains_the_attempt(patches: Patches) -> None:
    """Each launch of a run has another key."""
    build = launcher.build_run_context

    def other(*parts: Any) -> Any:
        run_context = build(*parts)
        run_context.schedule_id += f"-{run_context.attempt}"
        return run_context

    patches.set(launcher, "build_run_context", other)


@defect
def resume_moves_the_cursor(patches: Patches) -> None:
    """Resuming drops the ticks of the pause without a record."""
    resumed = pause.resume_state

    def forgetful(state: ScheduleState, rule_: Any, now_ms: int, on_resume: Any) -> ScheduleState:
        after = resumed(state, rule_, now_ms, on_resume)
        return (
            edit.advance_to_next(after, rule_, max(after.cursor_s, edit.cursor_before(now_ms)))
            if state.paused
            else after
        )

    patches.set(pause, "resume_state", forgetful)


@defect
def update_replays_old_ticks(patches: Patches) -> None:
    """A new spec applies from ten minutes ago."""
    replaced = edit.replace_version

    def eager(state: ScheduleState, old: Any, new: Any, now_ms: int) -> Any:
        edited = replaced(state, old, new, now_ms)
        return edited._replace(state=edit.advance_to_next(edited.state, new, now_ms // 1000 - 600))

    patches.set(edit, "replace_version", eager)


@defect
def edit_passes_over_ticks_silently(patches: Patches) -> None:
    """An edit advances the cursor without a dropped range."""
    patches.set(edit, "dropped_between", lambda *rest: [])


@defect
def a_deleted_schedule_fires(patches: Patches) -> None:
    """A deleted schedule continues to fire."""
    fire = FireStep._fire

    def closed(state: ScheduleState, rule_: Any, now_ms: int) -> Any:
        return edit.EditResult(state._replace(closed=True), [])

    def blind(self: FireStep, transaction: Transaction, now_ms: int, rows: list[StateTuple], budget: int) -> Any:
        states = [ScheduleState._make(row) for row in rows]
        answer = fire(self, transaction, now_ms, [state._replace(closed=False) for state in states], budget)
        transaction.rows("state_lock", {"keys": []})
        for state in states:
            if state.closed:
                now = transaction.state_lock([state.schedule_key])[state.schedule_key]
                transaction.state_update([now._replace(closed=True)])
        return answer

    patches.set(edit, "close_state", closed)
    patches.set(FireStep, "_fire", blind)


@defect
def remaining_actions_not_counted(patches: Patches) -> None:
    """A schedule with a limited number of actions runs without a limit."""
    start = Decision._start

    def free(self: Decision, due: Any) -> None:
        before = self.remaining
        start(self, due)
        self.remaining = before

    patches.set(Decision, "_start", free)


@defect
def request_ids_forgotten(patches: Patches) -> None:
    """A request that is sent twice is performed twice."""
    patches.set(idempotency, "answer_once", lambda context, operation, request_id, arguments, kind, do: do())


@defect
def token_is_not_incremented(patches: Patches) -> None:
    """A change does not increment the conflict token."""
    save = repository.save

    def unmoved(session: Any, opened: Any, note: Any, dropped_ranges: Any = None) -> Any:
        return save(session, opened._replace(row=opened.row._replace(token=opened.row.token - 1)), note, dropped_ranges)

    patches.set(control, "save", unmoved)
    patches.set(crud, "save", unmoved)


@defect
def launch_before_commit(patches: Patches) -> None:
    """Runs are launched inside the transaction, which may still fail."""
    on_time = FireStep.on_time
    engines: list[Engine] = []
    begin = Engine.__init__

    def noted(self: Engine, *rest: Any, **named: Any) -> None:
        begin(self, *rest, **named)
        engines.append(self)

    def early(self: FireStep, transaction: Transaction, limit: int) -> Any:
        fired = on_time(self, transaction, limit)
        owner = next(engine for engine in engines if engine.context is self._context)
        owner.launcher.start(fired.launches, fired.now_ms)
        return replace(fired, launches=[])

    patches.set(Engine, "__init__", noted)
    patches.set(FireStep, "on_time", early)


@defect
def buffer_is_unbounded(patches: Patches) -> None:
    """The number of waiting runs has no limit."""
    admit = overlap.decide_overlap
    patches.set(
        decide,
        "decide_overlap",
        lambda policy, flying, waiting, most, overlap=None: admit(policy, flying, waiting, 1 << 30, overlap),
    )


@defect
def fires_a_little_early(patches: Patches) -> None:
    """Ticks that are due within three seconds fire at once."""
    on_time = due_ticks._on_time
    patches.set(
        due_ticks, "_on_time", lambda rule_, nominal, now_ms, cursor: on_time(rule_, nominal, now_ms + 3_000, cursor)
    )
    patches.sql("state_claim_due", "next_fire_ms <= :until_ms", "next_fire_ms <= :until_ms + 3000")
    patches.sql("work_due", "next_fire_ms <= :now_ms)", "next_fire_ms <= :now_ms + 3000)")


@defect
def skips_are_ignored(patches: Patches) -> None:
    """A tick with a skip request runs."""
    skip_reason = Decision._permanent_skip_reason

    def blind(self: Decision, nominal_s: int) -> Any:
        reason = skip_reason(self, nominal_s)
        return None if reason == run.Reason.SKIP_REQUESTED else reason

    patches.set(Decision, "_permanent_skip_reason", blind)


@defect
def outcomes_are_dropped_when_the_store_fails(patches: Patches) -> None:
    """An outcome that could not be written is lost, and its run stays in flight."""
    patches.set(launcher.Launcher, "put_back", lambda self, outcomes: None)
    patches.set(Maintenance, "renew_lease", lambda self: self.check())
    patches.set(RescueStep, "unknown", lambda self, transaction, held: [])
    patches.sql("run_claim", "r.due_ms <= :now_ms", "r.due_ms <= :now_ms AND r.attempt = 0")
    patches.sql("run_list_zombies", "due_ms <= :silent_since_ms", "due_ms < 0 AND :silent_since_ms > 0")


@defect
def a_retry_is_never_due(patches: Patches) -> None:
    """A retry is due 1,000 seconds too late."""
    patches.sql("run_settle", "due_ms = ?9", "due_ms = ?9 + 1000000")


@defect
def planned_runs_ignore_overlap(patches: Patches) -> None:
    """A planned run starts whatever else is in flight."""
    begin = Decision

    def alone(state: ScheduleState, *rest: Any) -> Decision:
        decision = begin(state, *rest)
        decision.in_flight = decision.waiting = -100
        return decision

    released = Decision.state_after_planned

    def corrected(self: Decision) -> ScheduleState:
        after = released(self)
        flying, waiting = self.state.in_flight, self.state.waiting
        return after._replace(in_flight=after.in_flight + 100 + flying, waiting=after.waiting + 100 + waiting)

    patches.set(planned, "Decision", alone)
    patches.set(Decision, "state_after_planned", corrected)


@defect
def dropped_ranges_are_miscounted(patches: Patches) -> None:
    """A dropped range counts one tick less than it covers."""
    patches.set(
        due_ticks, "Dropped", lambda after, until, ticks, reason: _dropped(after, until, max(0, ticks - 1), reason)
    )


_dropped = due_ticks.Dropped
