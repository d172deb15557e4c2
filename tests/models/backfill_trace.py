"""Traces for the model of backfills: the changes of each commit to the row of one backfill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tests.models.overlap_trace import place, policy_text
from tests.models.recorder import Commit, Key, Recording
from tests.models.tla_text import BEGIN_S, NONE, Module, Trace, boolean, members, module, moment
from tests.simulation.scenario import SETTINGS
from tompion.model.backfill import BackfillRow
from tompion.model.run import FINAL, OPEN, RunRow, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.stored_definition import stored_action, stored_policy, stored_spec
from tompion.spec.compiler import compile_spec

UNDONE = frozenset({RunState.SKIPPED, RunState.CANCELLED})


class Before(NamedTuple):
    """The input of a commit: the state of the schedule, its runs, and the row of the backfill."""

    state: ScheduleState
    runs: dict[Key, RunRow]
    row: BackfillRow | None


def backfill_module(recordings: Iterable[Recording]) -> Module:
    """Return the traces of all backfills, each until it is over, or gone with its schedule."""
    traces = []
    for recording in recordings:
        ids = sorted({run_key for commit in recording.commits for run_key in commit.backfills})
        traces += [_trace(recording, run_key) for run_key in ids]
    return module(traces)


def _trace(recording: Recording, backfill_id: int) -> Trace:
    backfill = next(row for commit in recording.commits if (row := commit.backfills.get(backfill_id)) is not None)
    stored = recording.versions[backfill.schedule_key, backfill.version]
    compiled = compile_spec(stored_spec(stored.spec), schedule_id=stored.schedule_id)
    ticks = list(compiled.between_epochs(backfill.start_s, backfill.end_s))
    steps = [
        _step(recording, commit, before, backfill, ticks)
        for commit, before in _about(recording, backfill)
        if backfill.backfill_id not in commit.backfills or commit.backfills[backfill.backfill_id] is not None
    ]
    common = (
        f"first |-> {_second(backfill.start_s)}, end |-> {_second(backfill.end_s)}, "
        f'only |-> "{backfill.only}", overlap |-> "{backfill.overlap}", '
        f"total |-> {backfill.total}, undecided |-> {backfill.undecided}, "
        f"ticks |-> {members(str(_second(tick)) for tick in ticks)}"
    )
    return Trace(steps, common, begins=True)


def _about(recording: Recording, backfill: BackfillRow) -> Iterator[tuple[Commit, Before]]:
    """Yield each commit that changed the row of a backfill or wrote runs of it, and what was there before."""
    key = backfill.schedule_key
    state: ScheduleState | None = None
    runs: dict[Key, RunRow] = {}
    row: BackfillRow | None = None
    for commit in recording.commits:
        if backfill.backfill_id in commit.backfills or _written(commit, backfill, runs):
            assert state is not None, "the schedule of a backfill exists"
            yield commit, Before(state, runs, row)
            row = commit.backfills.get(backfill.backfill_id, row)
        state = commit.states.get(key, state)
        runs = runs | {run_key: run for run_key, run in commit.runs.items() if run_key[0] == key}


def _written(commit: Commit, backfill: BackfillRow, runs_before: dict[Key, RunRow]) -> list[RunRow]:
    """The runs of a backfill that a commit wrote."""
    return [
        run
        for key, run in commit.runs.items()
        if run.source == RunSource.BACKFILL and run.origin == backfill.backfill_id and key not in runs_before
    ]


def _step(recording: Recording, commit: Commit, before: Before, backfill: BackfillRow, ticks: list[int]) -> str:
    row = commit.backfills.get(backfill.backfill_id, before.row)
    assert row is not None, "a trace ends when its backfill is gone"
    state, runs = before.state, before.runs
    policy = stored_policy(recording.versions[backfill.schedule_key, state.version].policy)
    queue = stored_action(recording.versions[backfill.schedule_key, backfill.version].action).queue
    places = [place(run) for run in runs.values()]
    if before.row is None:
        next_ticks = ticks
    else:
        cursor = before.row.cursor_s
        next_ticks = list(islice((tick for tick in ticks if tick > cursor), SETTINGS.backfills_per_iteration))
    freed = any(
        run_key[0] == backfill.schedule_key and run_key[2] and run.state in FINAL
        for run_key, run in commit.runs.items()
    )
    written = _written(commit, backfill, runs)
    new = members(f'[tick |-> {_second(run.nominal_s)}, place |-> "{place(run)}"]' for run in written)
    return (
        f"[now |-> {moment(commit.now_ms)}, backfill |-> {_record(row)}, done |-> {row.done}, "
        f"next |-> {NONE if row.next_ms is None else moment(row.next_ms)}, runs |-> {new}, "
        f"cursor |-> {_second(state.cursor_s)}, spent |-> {boolean(state.remaining == 0)}, "
        f"policy |-> {policy_text(policy)}, paused |-> {boolean(state.paused)}, "
        f"targetPaused |-> {boolean(queue in commit.paused_queues)}, flight |-> {places.count('flight')}, "
        f"waiting |-> {places.count('wait')}, freed |-> {boolean(freed)}, ends |-> {_ends(backfill, runs, next_ticks)}]"
    )


def _record(row: BackfillRow) -> str:
    return (
        f'[state |-> "{row.state.lower()}", cursor |-> {_second(row.cursor_s)}, last |-> {_second(row.last_s)}, '
        f'only |-> "{row.only}", overlap |-> "{row.overlap}"]'
    )


def _ends(backfill: BackfillRow, runs: dict[Key, RunRow], ticks: list[int]) -> str:
    """Return the states of the relevant ticks, if the filter of the backfill needs them."""
    if backfill.only == "all":
        return "<<>>"
    states: dict[int, set[str]] = {}
    for run in runs.values():
        if run.nominal_s in ticks and (run.origin == 0 or run.source == RunSource.BACKFILL):
            states.setdefault(run.nominal_s, set()).add(_end(run))
    entries = (f"{_second(tick)} :> {{{', '.join(sorted(ends))}}}" for tick, ends in states.items())
    return f"({' @@ '.join(entries)})" if states else "<<>>"


def _end(run: RunRow) -> str:
    if run.state in OPEN or run.state == RunState.SUCCESS:
        return '"done"'
    return '"undone"' if run.state in UNDONE else '"failed"'


def _second(epoch_s: int) -> int:
    return epoch_s - BEGIN_S
