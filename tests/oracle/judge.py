"""Compare an engine with the list of ticks, and shrink a disagreement to its core.

An answer is judged exactly when it lies inside the window, or when the rules say that nothing can follow. If the
oracle knows no tick in the rest of the window, then the engine's answer must lie outside of it: that is judged too,
but counted apart.
"""

import json
import random
import signal
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, Protocol

from tests.oracle.brute import Spec, Ticks, Unclear, iso, ticks_of
from tests.oracle.walk import RANGE_END, RANGE_START, Walk, moment_of

INSTANTS_PER_SPEC = 44
LONGEST_BETWEEN = 300
TIMEOUT_S = 10
"""Seconds for all questions about one spec; they are about ninety, and a microsecond is enough for most of them."""


class Engine(Protocol):
    """The engine under test: the compiled form of a spec."""

    def next_epoch(self, after: int, /) -> int | None: ...
    def prev_epoch(self, before: int, /) -> int | None: ...
    def between_epochs(self, start: int, end: int, /) -> Iterable[int]: ...


Build = Callable[[Spec], Engine]


@dataclass(frozen=True)
class Outside:
    """The oracle knows no tick up to the edge of its window: None is right, and so is anything beyond the edge."""

    edge: int
    upwards: bool

    def admits(self, answer: int | None) -> bool:
        return answer is None or (answer >= self.edge if self.upwards else answer < self.edge)

    def __str__(self) -> str:
        return f"None, or {'at or after' if self.upwards else 'before'} {self.edge} ({iso(self.edge)})"


@dataclass(frozen=True)
class Disagreement:
    """Everything that is needed to see it again."""

    spec: Spec
    zone_name: str
    call: str
    expected: str
    got: str
    seen_around: str

    @property
    def kind(self) -> str:
        """Two disagreements of one kind probably have the same cause."""
        return self.got[:40] if self.got.startswith(("rejected", "no answer")) else self.call.split("(")[0]

    def __str__(self) -> str:
        text = json.dumps(self.spec, sort_keys=True)
        engine = f"tompion.compile_spec(tompion.Spec(**json.loads({text!r})))"
        return "\n".join(
            (
                f"spec      {text}",
                f"zone      {self.zone_name}",
                f"call      {self.call}",
                f"expected  {self.expected}",
                f"got       {self.got}",
                f"around    {self.seen_around}",
                f"python    import tompion, json; print({engine}.{self.call})",
            )
        )


def expected_next(ticks: Ticks, spec: Spec, walk: Walk, instant: int) -> int | Outside | None:
    position = bisect_right(ticks.instants, instant)
    if position < len(ticks.instants):
        return ticks.instants[position]
    finished = walk.end >= RANGE_END or ("end_at" in spec and spec["end_at"] < iso(walk.end))
    return None if finished else Outside(walk.end, upwards=True)


def expected_prev(ticks: Ticks, spec: Spec, walk: Walk, instant: int) -> int | Outside | None:
    position = bisect_left(ticks.instants, instant)
    if position > 0:
        return ticks.instants[position - 1]
    nothing_before = walk.start <= RANGE_START or ("start_at" in spec and spec["start_at"] >= iso(walk.start))
    return None if nothing_before else Outside(walk.start, upwards=False)


class TookTooLong(Exception):
    """The engine did not return in bounded time."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Give up on an engine that does not come back. Counts the time of this process, not of a busy machine."""

    def give_up(*_: object) -> NoReturn:
        raise TookTooLong

    previous = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


@dataclass
class Verdict:
    """Result of judging one spec."""

    cases: int = 0
    """(spec, instant) pairs of which at least one direction was judged exactly."""
    loose_cases: int = 0
    """Pairs where both answers lay outside the window."""
    disagreement: Disagreement | None = None


def judge(spec: Spec, walk: Walk, ticks: Ticks, instants: list[int], build: Build) -> Verdict:
    """Call the engine at every instant in both directions. Stop at the first wrong result."""
    call = f"next_epoch({instants[0]})"
    try:
        with patience(TIMEOUT_S):
            return judge_engine(spec, walk, ticks, instants, build(spec))
    except ValueError as error:
        return Verdict(disagreement=describe(spec, walk, call, "a valid spec", f"rejected: {error}", instants[0]))
    except TookTooLong:
        got = f"no answer after {TIMEOUT_S} seconds"
        return Verdict(disagreement=describe(spec, walk, call, "some answer", got, instants[0]))


def judge_engine(spec: Spec, walk: Walk, ticks: Ticks, instants: list[int], engine: Engine) -> Verdict:
    verdict = Verdict()
    for instant in instants:
        exact = 0
        for name, ask, expect in (
            ("next_epoch", engine.next_epoch, expected_next),
            ("prev_epoch", engine.prev_epoch, expected_prev),
        ):
            expected, got = expect(ticks, spec, walk, instant), ask(instant)
            if not (expected.admits(got) if isinstance(expected, Outside) else expected == got):
                verdict.disagreement = describe(spec, walk, f"{name}({instant})", expected, got, instant)
                return verdict
            exact += not isinstance(expected, Outside)
        verdict.cases += exact > 0
        verdict.loose_cases += exact == 0
    verdict.disagreement = judge_between(spec, walk, ticks, instants, engine)
    return verdict


def judge_between(spec: Spec, walk: Walk, ticks: Ticks, instants: list[int], engine: Engine) -> Disagreement | None:
    """`between` is inclusive at both ends: ask it from one drawn instant to another."""
    start, end = instants[len(instants) // 4], instants[3 * len(instants) // 4]
    expected = ticks.instants[bisect_left(ticks.instants, start) : bisect_right(ticks.instants, end)][:LONGEST_BETWEEN]
    got = list(islice(engine.between_epochs(start, end), len(expected) + (len(expected) < LONGEST_BETWEEN)))
    if got == expected:
        return None
    return describe(spec, walk, f"between_epochs({start}, {end})", expected, got, start)


def describe(spec: Spec, walk: Walk, call: str, expected: object, got: object, instant: int) -> Disagreement:
    around = [f"{iso(jump)} clocks jump to {moment_of(walk.wall_at(jump))}" for jump in walk.jumps]
    place = f"at {iso(instant)} = {moment_of(walk.wall_at(instant))} on the wall"
    return Disagreement(spec, walk.zone_name, call, readable(expected), readable(got), "; ".join([place, *around]))


def readable(answer: object) -> str:
    return f"{answer} ({iso(answer)})" if isinstance(answer, int) else str(answer)


def instants_around(ticks: Ticks, walk: Walk, rng: random.Random, count: int = INSTANTS_PER_SPEC) -> list[int]:
    """Instants to ask at: ticks and transitions and one second beside them, the edges, the rest at random."""
    by_distance = sorted(ticks.instants, key=lambda tick: min((abs(tick - jump) for jump in walk.jumps), default=0))
    near = by_distance[:12] if walk.jumps else []
    chosen = rng.sample(near, min(6, len(near))) + rng.sample(ticks.instants, min(6, len(ticks.instants)))
    wanted = {walk.start, walk.end - 1}
    for instant in [*chosen, *walk.jumps]:
        wanted |= {instant - 1, instant, instant + 1}
    wanted |= {rng.randrange(walk.start, walk.end) for _ in range(count - len(wanted))}
    return sorted(instant for instant in wanted if walk.start <= instant < walk.end)


# ---------------------------------------------------------------- shrinking


def shrink(disagreement: Disagreement, walk: Walk, build: Build) -> Disagreement:
    """Leave out whatever can be left out while the engine still disagrees in the same way."""
    best = disagreement
    progress = True
    while progress:
        progress = False
        for smaller in smaller_specs(best.spec):
            again = disagreement_of(smaller, walk, build)
            if again is not None and again.kind == disagreement.kind:
                best, progress = again, True
                break
    return best


def disagreement_of(spec: Spec, walk: Walk, build: Build) -> Disagreement | None:
    try:
        ticks = ticks_of(spec, walk)
    except (Unclear, AssertionError, LookupError, ValueError):
        return None  # too much was left out: this is no spec any more
    instants = instants_around(ticks, walk, random.Random(0), count=200)
    return judge(spec, walk, ticks, instants, build).disagreement


def smaller_specs(spec: Spec) -> Iterator[dict[str, Any]]:
    """The spec with one key, one element of a list or one key of an element left out."""
    for key in spec:
        if key != "timezone":
            yield {name: value for name, value in spec.items() if name != key}
    for path in list_paths(spec, ()):
        smaller = deepcopy(dict(spec))
        holder: Any = smaller
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        yield smaller


def list_paths(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Paths to everything below the top level that can be left out."""
    children = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, child in children:
        if path and (isinstance(part, dict) or len(part) > 1):
            yield (*path, key)
        yield from list_paths(child, (*path, key))
