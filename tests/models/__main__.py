"""``python -m tests.models``: run scenarios, and compare each of their commits with the models."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count

from models.checking import Missing, command
from models.table import HOLDS
from tests.models.recorder import Recording, record
from tests.models.replay import REPLAYS

AT_ONCE = 40
"""So many traces are one question to TLC."""


def main(arguments: list[str] | None = None) -> int:
    """Replay the requested number of scenarios, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("--seeds", type=int, help="how many traces (40, or as many as there is time for)")
    parser.add_argument("--seconds", type=float, help="begin no others after so long")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    options = parser.parse_args(arguments)
    try:
        command()
    except Missing as error:
        print(f"python -m tests.models: {error}", file=sys.stderr)
        return 2
    wrong = scenarios = 0
    held: Counter[str] = Counter()
    of: Counter[str] = Counter()
    ends_s = time.monotonic() + options.seconds if options.seconds else float("inf")
    seeds = options.seeds or (None if options.seconds else 40)
    for recordings in _batches(options.first, None if seeds is None else options.first + seeds):
        scenarios += len(recordings)
        for name, replay in REPLAYS.items():
            replayed = replay(recordings)
            is_right = replayed.report.verdict == HOLDS
            wrong += not is_right
            held[name] += replayed.steps
            of[name] += replayed.of
            print(
                f"{name:8} seeds {recordings[0].seed}–{recordings[-1].seed}: {replayed.traces:,} traces, "
                f"{_share(replayed.steps, replayed.of)}, "
                f"{'each a step of the model' if is_right else replayed.report.output}",
                flush=True,
            )
        if time.monotonic() >= ends_s:
            break
    for name in REPLAYS:
        print(f"{name:8} {_share(held[name], of[name])}")
    print(f"{sum(held.values()):,} commits held against the models, {scenarios:,} scenarios")
    return 1 if wrong else 0


def _share(held: int, of: int) -> str:
    """Return the number of relevant commits that were compared with a model."""
    return f"{held:,} of {of:,} commits ({100 * held / max(of, 1):.0f} %)"


def _batches(first: int, end: int | None) -> Iterator[list[Recording]]:
    for begin in count(first, AT_ONCE):
        if end is not None and begin >= end:
            return
        until = begin + AT_ONCE if end is None else min(begin + AT_ONCE, end)
        yield [record(seed) for seed in range(begin, until)]


if __name__ == "__main__":
    sys.exit(main())
