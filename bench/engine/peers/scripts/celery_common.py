"""Shared code of Celery beat and RedBeat, which are schedulers inside ``celery beat``.

A tick is counted when beat has published its message to the broker.  No worker runs: it would take processor time from
beat and could only be later.  Beat stores an interval and the time of the last run, so that every
delay shifts all later ticks. The k-th run of a schedule is held against its k-th tick.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.engine.peers.scripts.common import Assignment, Run, in_order, load, report, wait_for_end

RUNS: list[Run] = []
TASK = "job"


def make_app(assignment: Assignment, **settings: Any) -> Any:
    """Return an empty broker's application with one task that does nothing."""
    load("redis:Redis").from_url(assignment.store).flushdb()
    app = load("celery:Celery")("peer", broker=assignment.store)
    app.conf.update(
        timezone="UTC",
        task_ignore_result=True,
        task_publish_retry=False,
        worker_send_task_events=False,
        task_send_sent_event=False,
        **settings,
    )
    app.task(name=TASK, ignore_result=True)(job)
    app.finalize()
    load("celery.signals:after_task_publish").connect(on_published, weak=False)
    return app


def job(number: int) -> None:
    """Do nothing. No worker runs it."""


def on_published(body: Any = None, **_rest: Any) -> None:
    """See a message that the broker has taken."""
    RUNS.append((body[0][0], time.time()))


def every(assignment: Assignment, app: Any) -> Any:
    """Return the interval of a schedule as Celery's object."""
    return load("celery.schedules:schedule")(timedelta(seconds=assignment.period), app=app)


def last_run(assignment: Assignment, begin: float) -> datetime:
    """Return the last run that makes a schedule due when the race begins."""
    return datetime.fromtimestamp(begin - assignment.period, UTC)


def race(assignment: Assignment, service: Any, begin: float, adding_s: float | None) -> None:
    """Let beat run until all ticks were seen or the time is over, and report."""
    beat = threading.Thread(target=service.start, daemon=True)
    beat.start()

    def seen() -> int:
        if not beat.is_alive():
            raise SystemExit("celery beat ended by itself")
        return len(RUNS)

    wait_for_end(assignment, begin, seen)
    report(assignment, begin, in_order(list(RUNS), assignment, begin), adding_s)
