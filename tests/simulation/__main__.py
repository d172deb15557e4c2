"""``python -m tests.simulation`` runs many scenarios, one scenario again, or the planted defects.

::

    python -m tests.simulation --seeds 10000          run 10,000 scenarios and print the progress
    python -m tests.simulation --seconds 3600         run scenarios for an hour
    python -m tests.simulation --seed 4711            run one scenario again
    python -m tests.simulation --defects              plant each defect and print the seed that detects it
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
from tests.simulation.expected_detections import EXPECTED_DETECTIONS
from tests.simulation.scenario import Verdict, run_scenario
from tompion.bootstrap.store import tune_garbage_collector

REPORT_EVERY = 500
BATCH = 5
UNLIMITED = 1 << 40
DEFECT_SEEDS = 120


def rule_of(violation: str) -> str:
    """Return the rule of a violation."""
    return violation.split(":", 1)[0].replace("_", " ")


def detect(defect: Defect, seeds: int = DEFECT_SEEDS) -> Verdict | None:
    """Return the first scenario in which the expected rule detects a planted defect."""
    expected = EXPECTED_DETECTIONS[defect.name]
    for seed in (expected.seed, *range(seeds)):
        with planted(defect):
            verdict = run_scenario(seed)
        if expected.rule in map(rule_of, verdict.violations):
            return verdict
    return None


def _run_batch(seeds: range) -> list[Verdict]:
    return [run_scenario(seed) for seed in seeds]


def _verdicts(seeds: range, seconds: float, processes: int) -> Iterator[Verdict]:
    end = time.monotonic() + seconds
    ahead: deque[Future[list[Verdict]]] = deque()
    with ProcessPoolExecutor(processes, initializer=tune_garbage_collector) as pool:
        for first in range(0, len(seeds), BATCH):
            if time.monotonic() > end:
                break
            ahead.append(pool.submit(_run_batch, seeds[first : first + BATCH]))
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
    for done, verdict in enumerate(_verdicts(seeds, seconds, processes), start=1):
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


def _check_defects() -> int:
    missed = 0
    for defect in DEFECTS:
        verdict = detect(defect)
        missed += verdict is None
        rule = EXPECTED_DETECTIONS[defect.name].rule
        print(f"{defect.name}: " + (f"NOT DETECTED by {rule}" if verdict is None else f"seed {verdict.seed}: {rule}"))
    print(f"{len(DEFECTS) - missed} of {len(DEFECTS)} planted defects detected")
    return 1 if missed else 0


def main() -> int:
    """Run the scenarios that the options select, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description="Search for a scenario that violates a rule."
    )
    parser.add_argument("--seeds", type=int, help="number of scenarios (500, or unlimited with --seconds)")
    parser.add_argument("--seconds", type=float, help="time limit (none)")
    parser.add_argument("--first", type=int, default=0, help="first seed (0)")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--processes", type=int, default=2, help="number of processes (2)")
    parser.add_argument("--defects", action="store_true", help="run the planted defects instead")
    options = parser.parse_args()
    if options.defects:
        return _check_defects()
    if options.seed is not None:
        verdict = run_scenario(options.seed)
        _show(verdict)
        print(f"{verdict.commits} commits, faults: {dict(verdict.faults)}, digest {verdict.digest[:16]}")
        return 1 if verdict.violations else 0
    number = options.seeds or (500 if options.seconds is None else UNLIMITED)
    return _search(range(options.first, options.first + number), options.seconds or math.inf, options.processes)


if __name__ == "__main__":
    sys.exit(main())
