"""A program of the next release: ``python calming.py URL`` pauses every schedule."""

from __future__ import annotations

import sys

from foliot import SyncFoliot

if __name__ == "__main__":
    with SyncFoliot(sys.argv[1], engine=False) as foliot:
        foliot.pause_matching(everything=True)
