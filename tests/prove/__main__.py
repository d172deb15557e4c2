"""Runs all searches.

::

    python -m tests.prove --minutes 60              run it for an hour, and print tries and violations
    python -m tests.prove --minutes 60 --record     and add it to the record in docs/guarantees.md
    python -m tests.prove --only chaos --read FILE  add the output of a search that was run by itself
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
from tests.prove.searches import SEARCHES, Search, SearchResult, read, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the searches one after the other. Return 1 if one has found a violation."""
    parser = argparse.ArgumentParser(prog="python -m tests.prove", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long, in all (default: 10)")
    parser.add_argument(
        "--only", choices=[search.name for search in SEARCHES], action="append", help="one of them, or some"
    )
    parser.add_argument("--record", action="store_true", help="add the figures to those of docs/guarantees.md")
    parser.add_argument("--read", type=Path, nargs="+", metavar="FILE", help="record the output of one search")
    parser.add_argument("--seconds", type=float, default=0, help="how long each run took that is read (default: 0)")
    parser.add_argument("--commit", default="HEAD", help="of which code the figures are (default: HEAD)")
    options = parser.parse_args(arguments)
    chosen = [search for search in SEARCHES if options.only is None or search.name in options.only]
    if options.read is not None:
        if options.only is None or len(chosen) != 1:
            parser.error("--read: name the search with --only")
        outputs = [file.read_text(encoding="utf-8") for file in options.read]
        return _record([read(chosen[0], options.seconds, 0, output) for output in outputs], options.commit)
    whole = sum(search.share for search in chosen)
    results = [run(search, options.minutes * 60 * search.share / whole) for search in chosen]
    for result in results:
        if not result.is_clean:
            print(f"\n{result.search.name} has found a violation, or failed:\n{result.output[-4_000:]}")
    print(f"\n{table(results)}")
    if options.record:
        return _record(results, options.commit)
    return 0 if all(result.is_clean for result in results) else 1


def _record(results: list[SearchResult], of: str) -> int:
    """Add results to the record, except those without a count."""
    commit = subprocess.run(["git", "rev-parse", "--short=9", of], check=True, capture_output=True, text=True)
    counted = [result for result in results if result.tried]
    date = datetime.now(tz=UTC).date().isoformat()
    record.save([*record.load(), *(record.entry_of(result, date, commit.stdout.strip()) for result in counted)])
    print(f"{len(counted)} of {len(results)} runs recorded")
    return 0 if all(result.is_clean for result in results) else 1


def run(search: Search, seconds: float) -> SearchResult:
    """Run one search, whose own lines are shown as they come."""
    argv = [sys.executable, "-u", "-m", *search.command(seconds)]
    print(f"\n{search.name}, {seconds:.0f} s: {search.proves}", flush=True)
    begin = time.monotonic()
    lines = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            print(f"  {line}", end="", flush=True)
    return read(search, time.monotonic() - begin, process.returncode, "".join(lines))


if __name__ == "__main__":
    sys.exit(main())
