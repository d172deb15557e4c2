"""Compare Tompion with another library for a given time.

``python -m tests.conformance.peers croner --seconds 600`` draws new expressions in rounds, each with the next seed. It
prints every disagreement that no documented difference predicts, with its seed, and then exits with status 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from tests.conformance.peers.comparison import compare, draw_questions
from tests.conformance.peers.examples import PEERS
from tests.support.seeds import new_seed

EXPRESSIONS_PER_ROUND = 1_000
PLACES_EACH = 4


def main() -> int:
    """Run rounds until the time has passed, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.peers", description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=new_seed())
    arguments = parser.parse_args()
    peer, seed, end = PEERS[arguments.peer], arguments.seed, time.monotonic() + arguments.seconds
    questions, unexplained, codes = 0, 0, Counter[tuple[str, ...]]()
    while time.monotonic() < end:
        rng = random.Random(seed)
        outcome = compare(peer, draw_questions(rng, peer, EXPRESSIONS_PER_ROUND, PLACES_EACH))
        questions, unexplained = questions + outcome.questions, unexplained + len(outcome.unexplained)
        codes += outcome.codes
        for case in outcome.unexplained:
            sys.stdout.write(f"seed {seed}: {case}\n")
        sys.stdout.flush()
        seed += 1
    sys.stdout.write(f"{questions} questions from seed {arguments.seed} to {seed - 1}, {unexplained} unexplained\n")
    sys.stdout.writelines(f"{count:8} {' and '.join(names)}\n" for names, count in codes.most_common())
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
