"""Progress messages of long-running parts."""

from __future__ import annotations

import sys
from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_line: str) -> None:
    """Print nothing."""


def to_stderr(line: str) -> None:
    """Print a line at once, beside the figures."""
    print(line, file=sys.stderr, flush=True)
