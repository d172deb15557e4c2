"""Celery beat with its own, persistent scheduler: a shelf in a file, written when beat starts and every three minutes.

Schedules are part of the configuration, so nothing is measured for adding them.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from bench.engine.peers.scripts.celery_common import TASK, every, last_run, make_app, race
from bench.engine.peers.scripts.common import Assignment, check_in_time, load, read_assignment

START_S = 3.0
START_EACH_S = 0.0005
"""How long reading the configuration may take, at most: at first, and for each schedule."""


def main(assignment: Assignment) -> None:
    """Configure, let beat run, report."""
    app = make_app(assignment)
    begin = math.ceil(time.time() + START_S + START_EACH_S * assignment.schedules)
    interval = every(assignment, app)
    entry = {"task": TASK, "schedule": interval, "last_run_at": last_run(assignment, begin)}
    app.conf.beat_schedule = {str(number): entry | {"args": (number,)} for number in range(assignment.schedules)}
    shelf = Path(assignment.folder) / "celerybeat-schedule"
    service = load("celery.beat:Service")(app, schedule_filename=str(shelf))
    check_in_time(begin)
    race(assignment, service, begin, None)


if __name__ == "__main__":
    main(read_assignment())
