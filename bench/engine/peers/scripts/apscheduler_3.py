"""APScheduler 3 with its SQLAlchemy job store.

Tuned: every tick is kept (``coalesce`` off, no misfire limit, any number of instances), the store's statements commit
by themselves (it runs one per transaction, so two round trips less each), and the pool that runs the jobs is small,
because threads that wait for the interpreter lock slow the scheduler's own.  As no tick is ever dropped, the k-th run
of a schedule is its k-th tick.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from bench.engine.peers.scripts.common import (
    SCHEMA,
    Assignment,
    Run,
    begin_after,
    check_in_time,
    in_order,
    load,
    read_assignment,
    report,
    wait_for_end,
)
from bench.engine.peers.scripts.sql import is_sqlite, make_durable, new_schema, with_driver

WORKERS = 2

RUNS: list[Run] = []


def job(number: int) -> None:
    """Record the run."""
    RUNS.append((number, time.time()))


def make_store(url: str) -> Any:
    """Return an empty job store."""
    options = {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None}
    if is_sqlite(url):
        engine = load("sqlalchemy:create_engine")(url, **options)
        make_durable(engine)
        return load("apscheduler.jobstores.sqlalchemy:SQLAlchemyJobStore")(engine=engine)
    new_schema(url)
    engine = load("sqlalchemy:create_engine")(with_driver(url, "psycopg"), **options)
    return load("apscheduler.jobstores.sqlalchemy:SQLAlchemyJobStore")(engine=engine, tableschema=SCHEMA)


def make_scheduler(url: str) -> Any:
    """Return a scheduler that is running, but paused."""
    scheduler = load("apscheduler.schedulers.background:BackgroundScheduler")(
        jobstores={"default": make_store(url)},
        executors={"default": load("apscheduler.executors.pool:ThreadPoolExecutor")(WORKERS)},
        job_defaults={"coalesce": False, "misfire_grace_time": None, "max_instances": 1_000_000},
        timezone=UTC,
    )
    scheduler.start(paused=True)
    scheduler.remove_all_jobs()
    return scheduler


def main(assignment: Assignment) -> None:
    """Add the schedules, let them run, report."""
    scheduler = make_scheduler(assignment.store)
    trigger = load("apscheduler.triggers.interval:IntervalTrigger")

    def add(number: int, begin: float = time.time() + 86_400) -> None:
        every = trigger(seconds=assignment.period, start_date=datetime.fromtimestamp(begin, UTC), timezone=UTC)
        scheduler.add_job(job, every, args=(number,), id=str(number))

    begin = begin_after(add, scheduler.remove_all_jobs, assignment.schedules)
    start = time.perf_counter()
    for number in range(assignment.schedules):
        add(number, begin)
    adding_s = time.perf_counter() - start
    check_in_time(begin)
    scheduler.resume()
    wait_for_end(assignment, begin, lambda: len(RUNS))
    report(assignment, begin, in_order(list(RUNS), assignment, begin), adding_s)


if __name__ == "__main__":
    main(read_assignment())
