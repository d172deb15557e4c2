"""``python -m tests.simulation``: many stories, one story again, or the planted defects.

::

    python -m tests.simulation --seeds 10000          the long form; says how far it is
    python -m tests.simulation --seconds 3600         as many as there is time for
    python -m tests.simulation --seed 4711            one story, told again
    python -m tests.simulation --defects              plants each known mistake and says which seed gave it away
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor

from tests.simulation.defects import DEFECTS, Defect, planted
from tests.simulation.story import Verdict, tell
from tests.simulation.telling import TELLING
from tompion.bootstrap.store import tune_garbage_collector

REPORT_EVERY = 500
BATCH = 5
ENDLESS = 1 << 40
DEFECT_SEEDS = 120


def rule_of(violation: str) -> str:
    """Return what a complaint is about."""
    return violation.split(":", 1)[0].replace("_", " ")


def caught(chosen: Defect, seeds: int = DEFECT_SEEDS) -> Verdict | None:
    """Return the first story in which a planted mistake is given away, by the rule that it breaks and by no other."""
    wanted = TELLING[chosen.name]
    for seed in (wanted.seed, *range(seeds)):
        with planted(chosen):
            verdict = tell(seed)
        if wanted.rule in map(rule_of, verdict.violations):
            return verdict
    return None


def _told(seeds: range) -> list[Verdict]:
    return [tell(seed) for seed in seeds]


def _stories(seeds: range, seconds: float, processes: int) -> Iterator[Verdict]:
    end = time.monotonic() + seconds
    ahead: deque[Future[list[Verdict]]] = deque()
    with ProcessPoolExecutor(processes, initializer=tune_garbage_collector) as pool:
        for first in range(0, len(seeds), BATCH):
            if time.monotonic() > end:
                break
            ahead.append(pool.submit(_told, seeds[first : first + BATCH]))
            if len(ahead) > 2 * processes:
                yield from ahead.popleft().result()
        for batch in ahead:
            yield from batch.result()


def _show(verdict: Verdict) -> None:
    print(f"seed {verdict.seed}: {len(verdict.violations)} violations")
    for text in verdict.violations[:10]:
        print(f"  {text}")


def _search(seeds: range, seconds: float, processes: int) -> int:
    faults: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    commits = bad = done = 0
    for done, verdict in enumerate(_stories(seeds, seconds, processes), start=1):
        faults.update(verdict.faults)
        reached.update(verdict.reached)
        commits += verdict.commits
        if verdict.violations:
            bad += 1
            _show(verdict)
        if done % REPORT_EVERY == 0:
            print(f"{done} scenarios, {faults.total()} faults, {bad} with violations", flush=True)
    print(
        f"{done} scenarios from seed {seeds.start}: {commits} commits, {faults.total()} faults, {bad} with violations"
    )
    print("faults:  " + ", ".join(f"{name} {count}" for name, count in sorted(faults.items())))
    print("reached: " + ", ".join(f"{name} {count}" for name, count in sorted(reached.items())))
    return 1 if bad else 0


def _defects() -> int:
    missed = 0
    for chosen in DEFECTS:
        verdict = caught(chosen)
        missed += verdict is None
        rule = TELLING[chosen.name].rule
        print(f"{chosen.name}: " + (f"NOT CAUGHT by {rule}" if verdict is None else f"seed {verdict.seed}: {rule}"))
    print(f"{len(DEFECTS) - missed} of {len(DEFECTS)} planted defects caught")
    return 1 if missed else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description="Search for a story that goes wrong."
    )
    parser.add_argument("--seeds", type=int, help="how many stories (500, or as many as there is time for)")
    parser.add_argument("--seconds", type=float, help="how long to go on (until all are told)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--seed", type=int, help="one story, by its number")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--defects", action="store_true", help="plant the known mistakes instead")
    given = parser.parse_args()
    if given.defects:
        return _defects()
    if given.seed is not None:
        verdict = tell(given.seed)
        _show(verdict)
        print(f"{verdict.commits} commits, faults: {dict(verdict.faults)}, digest {verdict.digest[:16]}")
        return 1 if verdict.violations else 0
    number = given.seeds or (500 if given.seconds is None else ENDLESS)
    return _search(range(given.first, given.first + number), given.seconds or math.inf, given.processes)


if __name__ == "__main__":
    sys.exit(main())
