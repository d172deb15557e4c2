"""Recorded traces as a module of TLA+, one for each model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.models.recorder import Commit, Key, Recording
from tests.simulation.scenario import BEGIN
from tompion.model.policy import CatchUp, Policy
from tompion.model.run import IN_FLIGHT, OPEN, Reason, RunRow, RunSource, RunState
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan.edit import skips_of
from tompion.plan.stored_definition import stored_policy, stored_spec
from tompion.spec.compiler import compile_spec
from tompion.spec.jitter import fire_time_ms

BEGIN_S = int(BEGIN)
NONE = "-1000000000"
"""The value of None in the model of the planner."""
AHEAD_S = 310
"""A trace has ticks this far after the last commit, so that a model always has the next one."""


class Module(NamedTuple):
    """A module with traces: the number of traces and steps, and the number of commits that the model covers."""

    text: str
    traces: int
    steps: int
    of: int


class Trace(NamedTuple):
    """One trace: its steps, each a record, and their common fields."""

    steps: list[str]
    common: str = ""
    begins: bool = False
    """Whether the first step is a commit too, and is compared with the model's initial state."""

    @property
    def held(self) -> int:
        """Return the number of commits that are compared with the model."""
        return len(self.steps) - (not self.begins)

    def __str__(self) -> str:
        steps = "<<\n    " + ",\n    ".join(self.steps) + "\n  >>"
        return f"[{self.common}, steps |-> {steps}]" if self.common else steps


def module(traces: list[Trace], definitions: Iterable[str] = (), *, of: int | None = None) -> Module:
    """Return the module of some traces. ``of`` is the number of steps including omitted ones."""
    text = ",\n  ".join(map(str, traces))
    lines = ["---- MODULE Traces ----", "EXTENDS Integers, TLC", *definitions, f"Traces == <<\n  {text}\n>>", "===="]
    held = sum(trace.held for trace in traces)
    return Module("\n".join(lines) + "\n", len(traces), held, held if of is None else of)


# --- the fire transaction -------------------------------------------------------------------------------------------


class Versions:
    """The versions of all schedules of all traces, numbered from 1, as the planner's model expects them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._texts: dict[tuple[int, int, str], int] = {}
        self._specs: list[str] = []
        self._ticks: list[str] = []
        self._fires: list[str] = []
        self._policies: list[str] = []

    def number(self, recording: Recording, key: int, version: int) -> int:
        """Return the number of a version. Its first use adds its definition."""
        place = (recording.seed, key, version)
        if place not in self._numbers:
            self._numbers[place] = len(self._numbers) + 1
            self._add(recording, key, version)
        return self._numbers[place]

    def _add(self, recording: Recording, key: int, version: int) -> None:
        stored = recording.versions[key, version]
        spec, policy = stored_spec(stored.spec), stored_policy(stored.policy)
        ticks = compile_spec(spec, schedule_id=stored.schedule_id)
        first_s = min(commit.now_ms for commit in recording.commits) // 1000  # a clock step may lead before the begin
        last_s = max(commit.now_ms for commit in recording.commits) // 1000 + AHEAD_S
        fires = {
            tick: fire_time_ms(
                ticks, tick, schedule_id=stored.schedule_id, jitter_ms=spec.jitter_ms, mode=spec.jitter_mode
            )
            for tick in ticks.between_epochs(min(first_s, BEGIN_S), last_s)
        }
        self._specs.append(str(self._texts.setdefault((recording.seed, key, stored.spec), len(self._texts))))
        self._ticks.append("{" + ", ".join(str(seconds(tick)) for tick in fires) + "}")
        moved = [f"{seconds(tick)} :> {moment(fire)}" for tick, fire in fires.items() if fire != tick * 1000]
        punctual = f"[t \\in TraceTicks[{len(self._ticks)}] |-> t]"
        self._fires.append(" @@ ".join([*moved, punctual]))
        self._policies.append(_policy(policy))

    def definitions(self) -> list[str]:
        """Return them as constants."""
        return [
            f"TraceSpecs == <<{', '.join(self._specs)}>>",
            f"TraceTicks == <<{', '.join(self._ticks)}>>",
            f"TraceFires == <<{', '.join(self._fires)}>>",
            f"TracePolicies == <<{', '.join(self._policies)}>>",
        ]


def fire_module(recordings: Iterable[Recording]) -> Module:
    """Return the traces of all states, except where they are outside of the planner's model.

    Fixed delays, adaptive schedules and purges are outside of it.
    """
    versions = Versions()
    traces = []
    of = 0
    for recording in recordings:
        for key in sorted({key for commit in recording.commits for key in commit.states}):
            steps = list(_state_steps(recording, key, versions))
            of += len(steps)
            for piece in _pieces(steps):
                from_creation = piece[0] is steps[0]
                ends_at = moment(recording.over_ms) if piece[-1] is steps[-1] else NONE
                common = f"fromCreation |-> {boolean(from_creation)}, endsAt |-> {ends_at}"
                traces.append(Trace(piece, common, begins=from_creation))
    return module(traces, versions.definitions(), of=of)


def _pieces(steps: list[str | None]) -> list[list[str]]:
    """Return the pieces between omitted commits. A piece of one step only has its initial state."""
    pieces: list[list[str]] = [[]]
    for step in steps:
        if step:
            pieces[-1].append(step)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _state_steps(recording: Recording, key: int, versions: Versions) -> Iterator[str | None]:
    """Yield a state after each relevant commit, or ``None`` while it is outside of the model.

    A commit that wrote a tick or a dropped range is relevant even if it did not change the state.
    """
    state: ScheduleState | None = None
    before: str | None = None
    known_keys: set[Key] = set()
    for commit in recording.commits:
        state = commit.states.get(key, state)
        ticks = {
            run_key: row
            for run_key, row in commit.runs.items()
            if run_key[0] == key and row.source == RunSource.SCHEDULE
        }
        decided = [row for run_key, row in ticks.items() if run_key not in known_keys]
        known_keys |= ticks.keys()
        dropped_ranges = [dropped_range for dropped_range in commit.dropped_ranges if dropped_range.schedule_key == key]
        if not (key in commit.states or decided or dropped_ranges):
            continue
        if state is None:
            yield None
            continue
        modelled = _is_modelled(recording, state)
        record = _state_record(state, versions.number(recording, key, state.version) if modelled else -state.version)
        if record == before and not (decided or dropped_ranges):
            continue
        before = record
        if not modelled:
            yield None
            continue
        dropped = members(
            _range(dropped_range, versions.number(recording, key, dropped_range.version))
            for dropped_range in dropped_ranges
        )
        yield (
            f"[now |-> {moment(commit.now_ms)}, state |-> {record}, {_decided(decided)}, ranges |-> {dropped}, "
            f"full |-> {boolean(_is_full(decided))}]"
        )


def _decided(rows: list[RunRow]) -> str:
    """Return the ticks that a commit decided, and the number of rows that it wrote for them: one for each."""
    ticks = sorted({row.nominal_s for row in rows})
    return f"runs |-> {members(str(seconds(tick)) for tick in ticks)}, rows |-> {len(rows)}"


def _is_full(decided: list[RunRow]) -> bool:
    """Return whether every slot was taken at the last tick of a commit."""
    last = max(decided, key=lambda row: row.nominal_s, default=None)
    return last is not None and last.state == RunState.SKIPPED and last.reason == Reason.OVERLAP


def _is_modelled(recording: Recording, state: ScheduleState) -> bool:
    stored = recording.versions[state.schedule_key, state.version]
    follows = any(interval.anchor == "completion" for interval in stored_spec(stored.spec).intervals)
    return not follows and not stored_policy(stored.policy).adaptive


def _state_record(state: ScheduleState, version: int) -> str:
    next_fire, until = (NONE if time is None else moment(time) for time in (state.next_fire_ms, state.pause_until_ms))
    following, carried = (
        NONE if time is None else seconds(time) for time in (state.next_nominal_s, state.carry_until_s)
    )
    skips = members(str(seconds(tick)) for tick in sorted(skips_of(state)))
    return (
        f"[version |-> {version}, cursor |-> {seconds(state.cursor_s)}, next |-> {following}, "
        f"nextFire |-> {next_fire}, paused |-> {boolean(state.paused)}, until |-> {until}, "
        f"closed |-> {boolean(state.closed)}, "
        f'carry |-> "{state.carry or "no"}", carryUntil |-> {carried}, '
        f"left |-> {NONE if state.remaining is None else state.remaining}, skips |-> {skips}]"
    )


def _range(dropped_range: DroppedRange, version: int) -> str:
    return (
        f"[after |-> {seconds(dropped_range.after_s)}, until |-> {seconds(dropped_range.until_s)}, "
        f"ticks |-> {dropped_range.ticks}, "
        f'reason |-> "{dropped_range.reason}", version |-> {version}, at |-> {moment(dropped_range.decided_ms)}]'
    )


def _policy(policy: Policy) -> str:
    catchup = "all" if policy.catchup_policy == CatchUp.FIRE_IMMEDIATELY else policy.catchup_policy
    window = NONE if policy.catchup_window_s is None else policy.catchup_window_s * 1000
    return f'[catchup |-> "{catchup}", window |-> {window}, onResume |-> "{policy.on_resume}"]'


def seconds(epoch_s: int) -> int:
    """Return an instant of whole seconds as milliseconds since traces begin."""
    return (epoch_s - BEGIN_S) * 1000


def moment(epoch_ms: int) -> int:
    """Return an instant as milliseconds since traces begin."""
    return epoch_ms - BEGIN_S * 1000


def boolean(value: bool) -> str:
    """Return a truth value."""
    return "TRUE" if value else "FALSE"


def members(texts: Iterable[str]) -> str:
    """Return a set of texts."""
    return "{" + ", ".join(texts) + "}"


# --- leases ---------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """The holder of a run and its attempt."""

    state: str
    attempt: int
    owner: int
    held: bool

    def __str__(self) -> str:
        held = boolean(self.held)
        return f'[state |-> "{self.state}", attempt |-> {self.attempt}, owner |-> {self.owner}, held |-> {held}]'


NO_RUN = Held("none", 0, 0, False)


def held(row: RunRow) -> Held:
    """Return a run as the model of leases sees it."""
    if row.state in OPEN - IN_FLIGHT:
        return NO_RUN
    state = "flight" if row.state in IN_FLIGHT else "final"
    return Held(state, row.attempt, row.owner or 0, state == "flight" and row.owner is not None and row.due_ms is None)


def lease_module(recordings: Iterable[Recording]) -> Module:
    """Return the traces of all runs."""
    traces: list[Trace] = []
    for recording in recordings:
        known_keys: dict[Key, Held] = {}
        steps: dict[Key, list[str]] = {}
        for commit in recording.commits:
            for key, row in commit.runs.items():
                before, after = known_keys.get(key, NO_RUN), held(row)
                if before != after:
                    steps.setdefault(key, [_held_step(NO_RUN, False, False)]).append(_transition(commit, before, after))
                    known_keys[key] = after
        traces += map(Trace, steps.values())
    return module(traces)


def _transition(commit: Commit, before: Held, after: Held) -> str:
    until = commit.leases_before.get(before.owner)
    lease_expired = until is not None and until <= commit.now_ms and before.owner not in commit.leases
    return _held_step(after, lease_expired, after.owner in commit.leases_before and after.owner in commit.leases)


def _held_step(run: Held, lease_expired: bool, has_lease: bool) -> str:
    return f"[run |-> {run}, leaseExpired |-> {boolean(lease_expired)}, hasLease |-> {boolean(has_lease)}]"
