"""Traces for the model of overlap and buffer: the changes of each commit to the runs of one schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.models.recorder import Commit, Key, Recording
from tests.models.tla_text import NONE, Module, Trace, boolean, members, module, moment
from tompion.model.policy import Policy
from tompion.model.run import AUTOMATIC_SOURCES, IN_FLIGHT, RunRow, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.edit import skips_of
from tompion.plan.stored_definition import stored_action, stored_policy


class Change(NamedTuple):
    """One commit that changed the runs of a schedule, and the state before it."""

    now_ms: int
    state_before: ScheduleState
    state: ScheduleState
    policy: Policy
    before: dict[Key, RunRow]
    after: dict[Key, RunRow]
    target_paused: set[Key]


def overlap_module(recordings: Iterable[Recording]) -> Module:
    """Return the traces of all schedules, each until the schedule is purged."""
    traces = []
    for recording in recordings:
        for key in sorted({key for commit in recording.commits for key in commit.states}):
            changes = _changes(recording, key)
            if changes:
                traces.append(_trace(changes))
    return module(traces)


def _changes(recording: Recording, key: int) -> list[Change]:
    state: ScheduleState | None = None
    runs: dict[Key, RunRow] = {}
    changes: list[Change] = []
    for commit in recording.commits:
        state_before, state = state, commit.states.get(key, state)
        if state is None or state_before is None:
            continue
        policy = stored_policy(recording.versions[key, state.version].policy)
        ours = {run_key: row for run_key, row in commit.runs.items() if run_key[0] == key}
        after = runs | {
            run_key: row for run_key, row in ours.items() if not _was_dropped_by_delete(row, runs.get(run_key))
        }
        if any(place(after[run_key]) != place(runs.get(run_key)) for run_key in ours if run_key in after):
            target_paused = _target_paused(recording, commit, state, runs, after) if commit.paused_queues else set()
            changes.append(Change(commit.now_ms, state_before, state, policy, runs, after, target_paused))
        runs = after
    return changes


def _target_paused(
    recording: Recording, commit: Commit, state: ScheduleState, before: dict[Key, RunRow], after: dict[Key, RunRow]
) -> set[Key]:
    """The runs whose target is paused. A buffered run keeps the target of its decision, as a backfill does."""
    keys = set()
    for key, row in after.items():
        keeps = row.source == RunSource.BACKFILL or place(before.get(key)) == "wait"
        version = row.version if keeps else state.version
        if stored_action(recording.versions[row.schedule_key, version].action).queue in commit.paused_queues:
            keys.add(key)
    return keys


def place(row: RunRow | None) -> str:
    """Return the place of a run in the model. A planned run has none yet."""
    if row is None or row.state == RunState.PLANNED:
        return "none"
    if row.state == RunState.BUFFERED:
        return "wait"
    return "flight" if row.state in IN_FLIGHT else "final"


def _was_dropped_by_delete(row: RunRow, before: RunRow | None) -> bool:
    """Return whether a delete has dropped a planned run before its time."""
    return row.reason == "deleted" and before is not None and before.state == RunState.PLANNED


def _trace(changes: list[Change]) -> Trace:
    """Number the runs in the order in which they would wait, and return their changes as a trace."""
    queued: dict[Key, int] = {}
    for change in changes:
        for key, row in change.after.items():
            queued.setdefault(key, row.decided_ms)
            if row.queued_ms is not None:
                queued[key] = row.queued_ms
    last = changes[-1].after
    ordered = sorted(queued, key=lambda key: (last[key].source == RunSource.BACKFILL, queued[key], key))
    numbers = {key: number for number, key in enumerate(ordered, start=1)}
    kinds = ", ".join(
        f"[auto |-> {'TRUE' if last[key].source in AUTOMATIC_SOURCES else 'FALSE'}, "
        f'overlap |-> "{last[key].overlap or "own"}"]'
        for key in ordered
    )
    nothing = _record(changes[0], numbers, {}, [], set())
    return Trace([nothing, *(_step(change, numbers) for change in changes)], f"kinds |-> <<{kinds}>>")


def _step(change: Change, numbers: dict[Key, int]) -> str:
    before = {key: place(change.before.get(key)) for key in change.after}
    came = [key for key, row in change.after.items() if before[key] == "none" and place(row) != "none"]
    came.sort(key=lambda key: (change.after[key].fire_ms, key))
    ended = {key for key, row in change.after.items() if before[key] == "flight" and place(row) == "final"}
    return _record(change, numbers, change.after, came, set() if came else ended)


def _record(change: Change, numbers: dict[Key, int], runs: dict[Key, RunRow], came: list[Key], ended: set[Key]) -> str:
    state_before = change.state_before
    skips = skips_of(state_before)
    unheld = {key for key, row in change.before.items() if _is_unheld(row)}
    skipped = {key for key in change.after if key[1] in skips and key[2] == 0}
    states = ", ".join(f'"{place(runs.get(key))}"' for key in numbers)
    return (
        f"[now |-> {moment(change.now_ms)}, policy |-> {policy_text(change.policy)}, "
        f"left |-> {-1 if state_before.remaining is None else state_before.remaining}, "
        f"last |-> {NONE if state_before.last_start_ms is None else moment(state_before.last_start_ms)}, "
        f"paused |-> {boolean(change.state.paused)}, "
        f"closed |-> {boolean(change.state.closed and not state_before.closed)}, "
        f"unheld |-> {_numbers(numbers, unheld)}, targetPaused |-> {_numbers(numbers, change.target_paused)}, "
        f"skipped |-> {_numbers(numbers, skipped)}, ticks |-> <<{', '.join(str(numbers[key]) for key in came)}>>, "
        f"ended |-> {_numbers(numbers, ended)}, state |-> <<{states}>>]"
    )


def _numbers(numbers: dict[Key, int], keys: set[Key]) -> str:
    return members(str(number) for number in sorted(numbers[key] for key in keys))


def policy_text(policy: Policy) -> str:
    """Return a policy as admission reads it."""
    keep = "first" if policy.buffer_keep == "first" else "latest"
    return (
        f'[overlap |-> "{policy.overlap_policy}", slots |-> {policy.max_concurrent}, keep |-> "{keep}", '
        f"shortest |-> {policy.min_interval_ms or 0}, shadow |-> {boolean(policy.shadow)}]"
    )


def _is_unheld(row: RunRow) -> bool:
    """Return whether no instance holds a run in flight: it can be claimed, or was left behind."""
    if row.state not in IN_FLIGHT:
        return False
    return (row.owner is None and row.state == RunState.ENQUEUED) or (row.owner is not None and row.due_ms is not None)
