"""A program of the next release: ``python pause_all.py URL`` pauses every schedule."""

from __future__ import annotations

import sys

from tompion import Tompion

if __name__ == "__main__":
    with Tompion(sys.argv[1], engine=False) as tompion:
        tompion.schedules.pause_matching(everything=True)
