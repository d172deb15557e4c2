"""``python -m tests.models``: tell stories, and hold every commit of them against the models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from models.checking import Missing, command
from models.table import HOLDS
from tests.models.recording import Recording, record
from tests.models.replaying import REPLAYS

AT_ONCE = 40
"""So many stories are one question to TLC."""


def main(arguments: list[str] | None = None) -> int:
    """Replay as many stories as the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("--seeds", type=int, default=40, help="how many stories (40)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    given = parser.parse_args(arguments)
    try:
        command()
    except Missing as error:
        print(f"python -m tests.models: {error}", file=sys.stderr)
        return 2
    wrong = 0
    for recordings in _batches(given.first, given.first + given.seeds):
        for name, replay in REPLAYS.items():
            replayed = replay(recordings)
            is_right = replayed.answer.verdict == HOLDS
            wrong += not is_right
            print(
                f"{name:8} seeds {recordings[0].seed}–{recordings[-1].seed}: {replayed.stories:,} stories, "
                f"{replayed.steps:,} commits, {'each a step of the model' if is_right else replayed.answer.output}",
                flush=True,
            )
    return 1 if wrong else 0


def _batches(first: int, end: int) -> Iterator[list[Recording]]:
    for begin in range(first, end, AT_ONCE):
        yield [record(seed) for seed in range(begin, min(begin + AT_ONCE, end))]


if __name__ == "__main__":
    sys.exit(main())
