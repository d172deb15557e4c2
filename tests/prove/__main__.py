"""``python -m tests.prove --minutes 60``: run the whole ring for so long, and print what was tried and found."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.prove.ring import RING, Found, Search, read, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the searches one after the other; return 1 if one of them has found something."""
    parser = argparse.ArgumentParser(prog="python -m tests.prove", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long, in all (default: 10)")
    parser.add_argument("--only", choices=[each.name for each in RING], action="append", help="one of them, or some")
    given = parser.parse_args(arguments)
    chosen = [each for each in RING if given.only is None or each.name in given.only]
    whole = sum(each.share for each in chosen)
    found = [run(each, given.minutes * 60 * each.share / whole) for each in chosen]
    for each in found:
        if not each.is_clean:
            print(f"\n{each.search.name} has found something, or could not search:\n{each.said[-4_000:]}")
    print(f"\n{table(found)}")
    return 0 if all(each.is_clean for each in found) else 1


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
