"""Recorded stories as a module of TLA+: one for each model that is held against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.models.recorder import Commit, Key, Recording
from tests.simulation.story import BEGIN
from tompion.model.policy import CatchUp, Policy
from tompion.model.run import IN_FLIGHT, OPEN, Reason, RunRow, RunSource, RunState
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan.edit import skips_of
from tompion.plan.stored_definition import stored_policy, stored_spec
from tompion.spec.compiler import compile_spec
from tompion.spec.jitter import fire_time_ms

BEGIN_S = int(BEGIN)
NONE = "-1000000000"
"""What the planner's model calls None."""
AHEAD_S = 310
"""Ticks are told this far beyond the last commit, so that a model always knows the next one: five minutes at most."""


class Module(NamedTuple):
    """A module with stories, how many stories and steps it has, and how many commits the model is about."""

    text: str
    stories: int
    steps: int
    of: int


class Told(NamedTuple):
    """One story: its steps, each a record, and what they have in common."""

    steps: list[str]
    common: str = ""
    begins: bool = False
    """Whether the first step is a commit, too, and held against what the model says of a beginning."""

    @property
    def held(self) -> int:
        """How many commits are held against the model."""
        return len(self.steps) - (not self.begins)

    def __str__(self) -> str:
        steps = "<<\n    " + ",\n    ".join(self.steps) + "\n  >>"
        return f"[{self.common}, steps |-> {steps}]" if self.common else steps


def module(stories: list[Told], definitions: Iterable[str] = (), *, of: int | None = None) -> Module:
    """Return the module that holds stories; ``of`` is how many steps there would be if nothing were left out."""
    told = ",\n  ".join(map(str, stories))
    lines = ["---- MODULE Stories ----", "EXTENDS Integers, TLC", *definitions, f"Stories == <<\n  {told}\n>>", "===="]
    held = sum(story.held for story in stories)
    return Module("\n".join(lines) + "\n", len(stories), held, held if of is None else of)


# --- the fire transaction -------------------------------------------------------------------------------------------


class Versions:
    """The versions of all schedules of all stories, numbered from 1, as the planner's model wants them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._texts: dict[tuple[int, int, str], int] = {}
        self._specs: list[str] = []
        self._ticks: list[str] = []
        self._fires: list[str] = []
        self._policies: list[str] = []

    def number(self, recording: Recording, key: int, version: int) -> int:
        """Return the number of a version; it is told with the first use."""
        place = (recording.seed, key, version)
        if place not in self._numbers:
            self._numbers[place] = len(self._numbers) + 1
            self._tell(recording, key, version)
        return self._numbers[place]

    def _tell(self, recording: Recording, key: int, version: int) -> None:
        stored = recording.versions[key, version]
        spec, policy = stored_spec(stored.spec), stored_policy(stored.policy)
        ticks = compile_spec(spec, schedule_id=stored.schedule_id)
        last_s = max(commit.now_ms for commit in recording.commits) // 1000 + AHEAD_S
        fires = {
            tick: fire_time_ms(
                ticks, tick, schedule_id=stored.schedule_id, jitter_ms=spec.jitter_ms, mode=spec.jitter_mode
            )
            for tick in ticks.between_epochs(BEGIN_S, last_s)
        }
        self._specs.append(str(self._texts.setdefault((recording.seed, key, stored.spec), len(self._texts))))
        self._ticks.append("{" + ", ".join(str(seconds(tick)) for tick in fires) + "}")
        moved = [f"{seconds(tick)} :> {moment(fire)}" for tick, fire in fires.items() if fire != tick * 1000]
        punctual = f"[t \\in ToldTicks[{len(self._ticks)}] |-> t]"
        self._fires.append(" @@ ".join([*moved, punctual]))
        self._policies.append(_policy(policy))

    def definitions(self) -> list[str]:
        """Return them as constants."""
        return [
            f"ToldSpecs == <<{', '.join(self._specs)}>>",
            f"ToldTicks == <<{', '.join(self._ticks)}>>",
            f"ToldFires == <<{', '.join(self._fires)}>>",
            f"ToldPolicies == <<{', '.join(self._policies)}>>",
        ]


def fire_module(recordings: Iterable[Recording]) -> Module:
    """Return the stories of all dials, but for the time in which they are what the planner's model leaves out.

    That is a fixed delay, or an adaptive schedule; and a purge.
    """
    versions = Versions()
    stories = []
    of = 0
    for recording in recordings:
        for key in sorted({key for commit in recording.commits for key in commit.states}):
            steps = list(_dial_steps(recording, key, versions))
            of += len(steps)
            for piece in _pieces(steps):
                born = piece[0] is steps[0]
                over = moment(recording.over_ms) if piece[-1] is steps[-1] else NONE
                stories.append(Told(piece, f"born |-> {boolean(born)}, over |-> {over}", begins=born))
    return module(stories, versions.definitions(), of=of)


def _pieces(steps: list[str | None]) -> list[list[str]]:
    """Return what is between the commits that are left out; a piece of one step says nothing but how it was born."""
    pieces: list[list[str]] = [[]]
    for step in steps:
        if step:
            pieces[-1].append(step)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _dial_steps(recording: Recording, key: int, versions: Versions) -> Iterator[str | None]:
    """Yield a dial after each commit that was about it, None where it is what the model leaves out.

    A commit that wrote a tick or a span is about it even where it has left the dial alone.
    """
    state: ScheduleState | None = None
    before: str | None = None
    known: set[Key] = set()
    for commit in recording.commits:
        state = commit.states.get(key, state)
        ticks = {each: row for each, row in commit.runs.items() if each[0] == key and row.source == RunSource.SCHEDULE}
        decided = [row for each, row in ticks.items() if each not in known]
        known |= ticks.keys()
        dropped_ranges = [dropped_range for dropped_range in commit.dropped_ranges if dropped_range.schedule_key == key]
        if not (key in commit.states or decided or dropped_ranges):
            continue
        if state is None:
            yield None
            continue
        modelled = _is_modelled(recording, state)
        told = _dial(state, versions.number(recording, key, state.version) if modelled else -state.version)
        if told == before and not (decided or dropped_ranges):
            continue
        before = told
        if not modelled:
            yield None
            continue
        dropped = members(
            _span(dropped_range, versions.number(recording, key, dropped_range.version))
            for dropped_range in dropped_ranges
        )
        yield (
            f"[now |-> {moment(commit.now_ms)}, dial |-> {told}, {_decided(decided)}, spans |-> {dropped}, "
            f"full |-> {boolean(_is_full(decided))}]"
        )


def _decided(rows: list[RunRow]) -> str:
    """Tell which ticks a commit has decided, and how many rows it wrote for them: one for each, if all is well."""
    ticks = sorted({row.nominal_s for row in rows})
    return f"runs |-> {members(str(seconds(tick)) for tick in ticks)}, rows |-> {len(rows)}"


def _is_full(decided: list[RunRow]) -> bool:
    """Whether the last tick that a commit has decided found every slot taken."""
    last = max(decided, key=lambda row: row.nominal_s, default=None)
    return last is not None and last.state == RunState.SKIPPED and last.reason == Reason.OVERLAP


def _is_modelled(recording: Recording, state: ScheduleState) -> bool:
    stored = recording.versions[state.schedule_key, state.version]
    follows = any(interval.anchor == "completion" for interval in stored_spec(stored.spec).intervals)
    return not follows and not stored_policy(stored.policy).adaptive


def _dial(state: ScheduleState, version: int) -> str:
    look, until = (NONE if time is None else moment(time) for time in (state.next_fire_ms, state.pause_until_ms))
    following, carried = (
        NONE if time is None else seconds(time) for time in (state.next_nominal_s, state.carry_until_s)
    )
    skips = members(str(seconds(tick)) for tick in sorted(skips_of(state)))
    return (
        f"[version |-> {version}, cursor |-> {seconds(state.cursor_s)}, next |-> {following}, look |-> {look}, "
        f"paused |-> {boolean(state.paused)}, until |-> {until}, closed |-> {boolean(state.closed)}, "
        f'carry |-> "{state.carry or "no"}", carryUntil |-> {carried}, '
        f"left |-> {NONE if state.remaining is None else state.remaining}, skips |-> {skips}]"
    )


def _span(dropped_range: DroppedRange, version: int) -> str:
    return (
        f"[after |-> {seconds(dropped_range.after_s)}, until |-> {seconds(dropped_range.until_s)}, ticks |-> {dropped_range.ticks}, "
        f'reason |-> "{dropped_range.reason}", version |-> {version}, at |-> {moment(dropped_range.decided_ms)}]'
    )


def _policy(policy: Policy) -> str:
    catchup = "all" if policy.catchup_policy == CatchUp.FIRE_IMMEDIATELY else policy.catchup_policy
    window = NONE if policy.catchup_window_s is None else policy.catchup_window_s * 1000
    return f'[catchup |-> "{catchup}", window |-> {window}, onResume |-> "{policy.on_resume}"]'


def seconds(epoch_s: int) -> int:
    """Return an instant of whole seconds as milliseconds since stories begin."""
    return (epoch_s - BEGIN_S) * 1000


def moment(epoch_ms: int) -> int:
    """Return an instant as milliseconds since stories begin."""
    return epoch_ms - BEGIN_S * 1000


def boolean(value: bool) -> str:
    """Return a truth value."""
    return "TRUE" if value else "FALSE"


def members(texts: Iterable[str]) -> str:
    """Return a set of what is written already."""
    return "{" + ", ".join(texts) + "}"


# --- leases ---------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """Who holds a run, by which attempt."""

    state: str
    attempt: int
    owner: int
    held: bool

    def __str__(self) -> str:
        held = boolean(self.held)
        return f'[state |-> "{self.state}", attempt |-> {self.attempt}, owner |-> {self.owner}, held |-> {held}]'


UNBORN = Held("none", 0, 0, False)


def held(row: RunRow) -> Held:
    """Return a run as the model of leases sees it."""
    if row.state in OPEN - IN_FLIGHT:
        return UNBORN
    state = "flight" if row.state in IN_FLIGHT else "final"
    return Held(state, row.attempt, row.owner or 0, state == "flight" and row.owner is not None and row.due_ms is None)


def lease_module(recordings: Iterable[Recording]) -> Module:
    """Return the stories of all runs."""
    stories: list[Told] = []
    for recording in recordings:
        known: dict[Key, Held] = {}
        steps: dict[Key, list[str]] = {}
        for commit in recording.commits:
            for key, row in commit.runs.items():
                before, after = known.get(key, UNBORN), held(row)
                if before != after:
                    steps.setdefault(key, [_held_step(UNBORN, False, False)]).append(_transition(commit, before, after))
                    known[key] = after
        stories += map(Told, steps.values())
    return module(stories)


def _transition(commit: Commit, before: Held, after: Held) -> str:
    until = commit.leases_before.get(before.owner)
    over = until is not None and until <= commit.now_ms and before.owner not in commit.leases
    return _held_step(after, over, after.owner in commit.leases_before and after.owner in commit.leases)


def _held_step(run: Held, over: bool, leads: bool) -> str:
    return f"[run |-> {run}, over |-> {boolean(over)}, leads |-> {boolean(leads)}]"
