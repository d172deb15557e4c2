"""The whole ring of searches.

::

    python -m tests.prove --minutes 60              run it for so long, and print what was tried and found
    python -m tests.prove --minutes 60 --record     and add it to what is on record in docs/guarantees.md
    python -m tests.prove --only chaos --read FILE  add what a search has said that was run by itself
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.prove import record
from tests.prove.searches import RING, Found, Search, read, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the searches one after the other. Return 1 if one of them has found something."""
    parser = argparse.ArgumentParser(prog="python -m tests.prove", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long, in all (default: 10)")
    parser.add_argument("--only", choices=[item.name for item in RING], action="append", help="one of them, or some")
    parser.add_argument("--record", action="store_true", help="add the figures to those of docs/guarantees.md")
    parser.add_argument("--read", type=Path, nargs="+", metavar="FILE", help="record what one search has said before")
    parser.add_argument("--seconds", type=float, default=0, help="how long each run took that is read (default: 0)")
    parser.add_argument("--commit", default="HEAD", help="of which code the figures are (default: HEAD)")
    given = parser.parse_args(arguments)
    chosen = [item for item in RING if given.only is None or item.name in given.only]
    if given.read is not None:
        if given.only is None or len(chosen) != 1:
            parser.error("--read: name the one search that has said it, with --only")
        said = [file.read_text(encoding="utf-8") for file in given.read]
        return _kept([read(chosen[0], given.seconds, 0, item) for item in said], given.commit)
    whole = sum(item.share for item in chosen)
    found = [run(item, given.minutes * 60 * item.share / whole) for item in chosen]
    for item in found:
        if not item.is_clean:
            print(f"\n{item.search.name} has found something, or could not search:\n{item.said[-4_000:]}")
    print(f"\n{table(found)}")
    if given.record:
        return _kept(found, given.commit)
    return 0 if all(item.is_clean for item in found) else 1


def _kept(found: list[Found], of: str) -> int:
    """Add to the record. What could not be counted is not kept, but what was found is."""
    commit = subprocess.run(["git", "rev-parse", "--short=9", of], check=True, capture_output=True, text=True)
    counted = [item for item in found if item.tried]
    date = datetime.now(tz=UTC).date().isoformat()
    record.save([*record.load(), *(record.entry_of(item, date, commit.stdout.strip()) for item in counted)])
    print(f"{len(counted)} of {len(found)} runs put on record")
    return 0 if all(item.is_clean for item in found) else 1


def run(search: Search, seconds: float) -> Found:
    """Run one search, whose own lines are shown as they come."""
    argv = [sys.executable, "-u", "-m", *search.command(seconds)]
    print(f"\n{search.name}, {seconds:.0f} s: {search.proves}", flush=True)
    begin = time.monotonic()
    said = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            print(f"  {line}", end="", flush=True)
    return read(search, time.monotonic() - begin, process.returncode, "".join(said))


if __name__ == "__main__":
    sys.exit(main())
