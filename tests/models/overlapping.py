"""Recorded stories as the model of overlap and buffer sees them: what each commit did to the runs of one schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from foliot.model.dial import Dial
from foliot.model.policy import Policy
from foliot.model.run import AUTOMATIC, IN_FLIGHT, RunRow, RunState, Source
from foliot.plan.definition import stored_policy
from tests.models.recording import Commit, Key, Recording
from tests.models.writing import Module, Told, module


class Change(NamedTuple):
    """One commit that did something to the runs of a schedule."""

    dial: Dial
    policy: Policy
    was_closed: bool
    before: dict[Key, RunRow]
    after: dict[Key, RunRow]


def overlap_module(recordings: Iterable[Recording]) -> Module:
    """Return the stories of all schedules, each until something happens that the model leaves out.

    That is a limit, a minimal interval, a tick that somebody asked to skip, a shadow, or a paused target.
    """
    stories = []
    for recording in recordings:
        for key in sorted({key for commit in recording.commits for key in commit.dials}):
            changes = _changes(recording, key)
            if len(changes) > 1:
                stories.append(_told(changes))
    return module(stories)


def _changes(recording: Recording, key: int) -> list[Change]:
    dial: Dial | None = None
    runs: dict[Key, RunRow] = {}
    changes: list[Change] = []
    for commit in recording.commits:
        was_closed = dial is not None and dial.closed
        if key in commit.dials:
            dial = commit.dials[key]
        if dial is None:
            if runs:
                break
            continue
        policy = stored_policy(recording.versions[key, dial.version].policy)
        if not _is_modelled(commit, dial, policy):
            break
        ours = {each: row for each, row in commit.runs.items() if each[0] == key}
        after = runs | {each: row for each, row in ours.items() if not _never_came(row, runs.get(each))}
        if any(place(after[each]) != place(runs.get(each)) for each in after):
            changes.append(Change(dial, policy, was_closed, runs, after))
        runs = after
    return changes


def _is_modelled(commit: Commit, dial: Dial, policy: Policy) -> bool:
    limited = dial.remaining is not None or dial.skips is not None or policy.min_interval_ms
    return not limited and not policy.shadow and not commit.paused_queues


def place(row: RunRow | None) -> str:
    """Return where a run stands; one that is planned has not come yet."""
    if row is None or row.state == RunState.PLANNED:
        return "none"
    if row.state == RunState.BUFFERED:
        return "wait"
    return "flight" if row.state in IN_FLIGHT else "final"


def _never_came(row: RunRow, before: RunRow | None) -> bool:
    """Whether a delete has dropped a planned run before its time."""
    return row.reason == "deleted" and before is not None and before.state == RunState.PLANNED


def _told(changes: list[Change]) -> Told:
    """Number the runs in the order in which they would wait, and tell each change."""
    queued: dict[Key, int] = {}
    for change in changes:
        for key, row in change.after.items():
            queued.setdefault(key, row.decided_ms)
            if row.queued_ms is not None:
                queued[key] = row.queued_ms
    last = changes[-1].after
    ordered = sorted(queued, key=lambda key: (last[key].source == Source.BACKFILL, queued[key], key))
    numbers = {key: number for number, key in enumerate(ordered, start=1)}
    kinds = ", ".join(
        f'[auto |-> {"TRUE" if last[key].source in AUTOMATIC else "FALSE"}, overlap |-> "{last[key].overlap or "own"}"]'
        for key in ordered
    )
    nothing = _record(changes[0], numbers, {}, [], set())
    return Told([nothing, *(_step(change, numbers) for change in changes)], f"kinds |-> <<{kinds}>>")


def _step(change: Change, numbers: dict[Key, int]) -> str:
    before = {key: place(change.before.get(key)) for key in change.after}
    came = [key for key, row in change.after.items() if before[key] == "none" and place(row) != "none"]
    came.sort(key=lambda key: (change.after[key].fire_ms, key))
    ended = {key for key, row in change.after.items() if before[key] == "flight" and place(row) == "final"}
    return _record(change, numbers, change.after, came, set() if came else ended)


def _record(change: Change, numbers: dict[Key, int], runs: dict[Key, RunRow], came: list[Key], ended: set[Key]) -> str:
    policy, dial = change.policy, change.dial
    adrift = [numbers[key] for key, row in change.before.items() if _is_adrift(row)]
    states = ", ".join(f'"{place(runs.get(key))}"' for key in numbers)
    keep = "first" if policy.buffer_keep == "first" else "latest"
    return (
        f'[policy |-> [overlap |-> "{policy.overlap_policy}", slots |-> {policy.max_concurrent}, keep |-> "{keep}"], '
        f"paused |-> {_boolean(dial.paused)}, closed |-> {_boolean(dial.closed and not change.was_closed)}, "
        f"adrift |-> {{{', '.join(map(str, adrift))}}}, ticks |-> <<{', '.join(str(numbers[key]) for key in came)}>>, "
        f"ended |-> {{{', '.join(str(numbers[key]) for key in ended)}}}, state |-> <<{states}>>]"
    )


def _is_adrift(row: RunRow) -> bool:
    """Whether nobody holds a run in flight: it is to be claimed, or was left behind."""
    if row.state not in IN_FLIGHT:
        return False
    return (row.owner is None and row.state == RunState.ENQUEUED) or (row.owner is not None and row.due_ms is not None)


def _boolean(value: bool) -> str:
    return "TRUE" if value else "FALSE"
