"""``python -m tests.soak --minutes 60 --store postgresql``: an engine under load, and what it holds meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack

from tests.soak.load import Options, soak
from tests.support.servers.postgres import CRASH_SAFE, PostgresServer
from tompion.bootstrap.store import open_migrator


def show_progress(text: str) -> None:
    """Print a progress message."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run. Return 1 if something keeps growing."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--schedules", type=int, default=100, help="how many, each of which ticks every second")
    options = parser.parse_args()
    seconds = options.seconds if options.minutes is None else options.minutes * 60
    with ExitStack() as stack:
        if options.store == "sqlite":
            url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/soak.db"
        else:
            url = stack.enter_context(PostgresServer(CRASH_SAFE)).create_database("soak")
            with open_migrator(url) as migrator:
                migrator.up()
        report = asyncio.run(soak(Options(url, seconds, options.schedules), show_progress))
    for line in report.lines():
        show_progress(line)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
