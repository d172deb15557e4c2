"""A program of any release: ``python create_schedules.py URL`` creates a store and schedules without lost ticks."""

from __future__ import annotations

import sys
from typing import Any

from tompion import Tompion
from tompion.bootstrap.store import open_migrator

EVERY_SECOND = "* * * * * *"
ALL: dict[str, Any] = {"cron": EVERY_SECOND, "catchup_policy": "fire_immediately"}


def main(url: str) -> None:
    """Make some that simply run, one of which runs wait for each other, and a run that takes long."""
    with open_migrator(url, create=True) as migrator:
        migrator.up()
    with Tompion(url, engine=False) as tompion:
        for number in range(8):
            tompion.create(f"steady-{number}", function="tasks:note", overlap_policy="allow", **ALL)
        tompion.create("behind", function="tasks:wait", payload={"barrier": "behind"}, overlap_policy="queue", **ALL)
        tompion.create("lost", cron="0 0 1 1 *", function="tasks:wait", payload={"barrier": "lost"})
        tompion.trigger("lost")


if __name__ == "__main__":
    main(sys.argv[1])
