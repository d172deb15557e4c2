"""Recorded stories as the model of backfills sees them: what each commit did to the row of one backfill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tests.models.overlap_trace import place, policy_text
from tests.models.recorder import Commit, Key, Recording
from tests.models.tla_text import BEGIN_S, NONE, Module, Told, boolean, members, module, moment
from tests.simulation.story import SETTINGS
from tompion.model.backfill import BackfillRow
from tompion.model.run import FINAL, OPEN, RunRow, RunSource, RunState
from tompion.model.schedule_state import ScheduleState
from tompion.plan.stored_definition import stored_action, stored_policy, stored_spec
from tompion.spec.compiler import compile_spec

UNDONE = frozenset({RunState.SKIPPED, RunState.CANCELLED})


class Before(NamedTuple):
    """What a commit found: the dial of the schedule, its runs, and the row of the backfill."""

    state: ScheduleState
    runs: dict[Key, RunRow]
    row: BackfillRow | None


def backfill_module(recordings: Iterable[Recording]) -> Module:
    """Return the stories of all backfills, each until it is over, or gone with its schedule."""
    stories = []
    for recording in recordings:
        ids = sorted({each for commit in recording.commits for each in commit.backfills})
        stories += [_told(recording, each) for each in ids]
    return module(stories)


def _told(recording: Recording, backfill_id: int) -> Told:
    asked = next(row for commit in recording.commits if (row := commit.backfills.get(backfill_id)) is not None)
    stored = recording.versions[asked.schedule_key, asked.version]
    compiled = compile_spec(stored_spec(stored.spec), schedule_id=stored.schedule_id)
    ticks = list(compiled.between_epochs(asked.start_s, asked.end_s))
    steps = [
        _step(recording, commit, before, asked, ticks)
        for commit, before in _about(recording, asked)
        if asked.backfill_id not in commit.backfills or commit.backfills[asked.backfill_id] is not None
    ]
    common = (
        f"first |-> {_second(asked.start_s)}, end |-> {_second(asked.end_s)}, "
        f'only |-> "{asked.only}", overlap |-> "{asked.overlap}", '
        f"total |-> {asked.total}, undecided |-> {asked.undecided}, "
        f"ticks |-> {members(str(_second(tick)) for tick in ticks)}"
    )
    return Told(steps, common, begins=True)


def _about(recording: Recording, asked: BackfillRow) -> Iterator[tuple[Commit, Before]]:
    """Yield each commit that changed the row of a backfill or wrote runs of it, and what was there before."""
    key = asked.schedule_key
    state: ScheduleState | None = None
    runs: dict[Key, RunRow] = {}
    row: BackfillRow | None = None
    for commit in recording.commits:
        if asked.backfill_id in commit.backfills or _written(commit, asked, runs):
            assert state is not None, "a backfill is asked of a schedule that is there"
            yield commit, Before(state, runs, row)
            row = commit.backfills.get(asked.backfill_id, row)
        state = commit.states.get(key, state)
        runs = runs | {each: run for each, run in commit.runs.items() if each[0] == key}


def _written(commit: Commit, asked: BackfillRow, known: dict[Key, RunRow]) -> list[RunRow]:
    """The runs of a backfill that a commit has written."""
    return [
        run
        for key, run in commit.runs.items()
        if run.source == RunSource.BACKFILL and run.origin == asked.backfill_id and key not in known
    ]


def _step(recording: Recording, commit: Commit, before: Before, asked: BackfillRow, ticks: list[int]) -> str:
    row = commit.backfills.get(asked.backfill_id, before.row)
    assert row is not None, "it was told that it is gone"
    state, runs = before.state, before.runs
    policy = stored_policy(recording.versions[asked.schedule_key, state.version].policy)
    queue = stored_action(recording.versions[asked.schedule_key, asked.version].action).queue
    places = [place(run) for run in runs.values()]
    if before.row is None:
        coming = ticks
    else:
        cursor = before.row.cursor_s
        coming = list(islice((tick for tick in ticks if tick > cursor), SETTINGS.backfills_per_iteration))
    freed = any(each[0] == asked.schedule_key and each[2] and run.state in FINAL for each, run in commit.runs.items())
    written = _written(commit, asked, runs)
    new = members(f'[tick |-> {_second(run.nominal_s)}, place |-> "{place(run)}"]' for run in written)
    return (
        f"[now |-> {moment(commit.now_ms)}, fill |-> {_fill(row)}, done |-> {row.done}, "
        f"next |-> {NONE if row.next_ms is None else moment(row.next_ms)}, runs |-> {new}, "
        f"cursor |-> {_second(state.cursor_s)}, spent |-> {boolean(state.remaining == 0)}, "
        f"policy |-> {policy_text(policy)}, paused |-> {boolean(state.paused)}, "
        f"stalled |-> {boolean(queue in commit.paused_queues)}, flight |-> {places.count('flight')}, "
        f"waiting |-> {places.count('wait')}, freed |-> {boolean(freed)}, ends |-> {_ends(asked, runs, coming)}]"
    )


def _fill(row: BackfillRow) -> str:
    return (
        f'[state |-> "{row.state.lower()}", cursor |-> {_second(row.cursor_s)}, last |-> {_second(row.last_s)}, '
        f'only |-> "{row.only}", overlap |-> "{row.overlap}"]'
    )


def _ends(asked: BackfillRow, runs: dict[Key, RunRow], ticks: list[int]) -> str:
    """What had become of the ticks that matter, where there was anything, and where anybody asks."""
    if asked.only == "all":
        return "<<>>"
    found: dict[int, set[str]] = {}
    for run in runs.values():
        if run.nominal_s in ticks and (run.origin == 0 or run.source == RunSource.BACKFILL):
            found.setdefault(run.nominal_s, set()).add(_end(run))
    told = (f"{_second(tick)} :> {{{', '.join(sorted(ends))}}}" for tick, ends in found.items())
    return f"({' @@ '.join(told)})" if found else "<<>>"


def _end(run: RunRow) -> str:
    if run.state in OPEN or run.state == RunState.SUCCESS:
        return '"done"'
    return '"undone"' if run.state in UNDONE else '"failed"'


def _second(epoch_s: int) -> int:
    return epoch_s - BEGIN_S
