"""The seed of the tests that draw their cases.

`make test` draws the same cases in every run, so that a failure is caused by the change under test. `TOMPION_TEST_SEED`
chooses other cases. `make prove` draws new cases in every run.
"""

from __future__ import annotations

import os
from random import SystemRandom

VARIABLE = "TOMPION_TEST_SEED"
DEFAULT = 20_261_118


def suite_seed() -> int:
    """Return the seed for this run of the test suite."""
    return int(os.environ.get(VARIABLE) or DEFAULT)


def new_seed() -> int:
    """Return a new seed, for a search that is not part of the test suite."""
    return SystemRandom().randrange(1 << 32)
