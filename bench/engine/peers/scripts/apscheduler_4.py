"""APScheduler 4 (an alpha) with its SQLAlchemy data store.

Tuned: every tick is kept (all fire times, no misfire limit, any number of running jobs), the job is a coroutine (the
cheapest executor), many jobs may run at once, and results are not stored.  PostgreSQL is driven by asyncpg.  SQLite has
one connection, because with two the scheduler's transactions and those of its worker could lock seconds_per_schedule
other out. Its asynchronous driver is left alone, as the documentation advises.
"""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime
from typing import Any

from bench.engine.peers.scripts.common import (
    PROBES,
    SCHEMA,
    Assignment,
    Tick,
    check_in_time,
    load,
    read_assignment,
    report,
    wait_for_end,
)
from bench.engine.peers.scripts.sql import is_sqlite, make_durable, new_schema, with_driver

JOBS_AT_ONCE = 1_000

TICKS: list[Tick] = []


async def job(number: int) -> None:
    """Record the run."""
    now = time.time()
    TICKS.append((number, CURRENT_JOB.get().scheduled_fire_time.timestamp(), now))


def make_store(url: str) -> Any:
    """Return an empty data store."""
    store = load("apscheduler.datastores.sqlalchemy:SQLAlchemyDataStore")
    if is_sqlite(url):
        engine = load("sqlalchemy:create_engine")(url, pool_size=1, max_overflow=0)
        make_durable(engine)
        return store(engine, start_from_scratch=True)
    new_schema(url)
    engine = load("sqlalchemy.ext.asyncio:create_async_engine")(with_driver(url, "asyncpg"), pool_reset_on_return=None)
    return store(engine, schema=SCHEMA)


async def race(assignment: Assignment) -> None:
    """Add the schedules, let them run, report."""
    defaults = load("apscheduler:TaskDefaults")(job_executor="async", max_running_jobs=None, misfire_grace_time=None)
    scheduler = load("apscheduler:AsyncScheduler")(
        make_store(assignment.store), max_concurrent_jobs=JOBS_AT_ONCE, cleanup_interval=None, task_defaults=defaults
    )
    trigger = load("apscheduler.triggers.interval:IntervalTrigger")
    keep_all = load("apscheduler:CoalescePolicy").all

    async def add(number: int, begin: float) -> None:
        every = trigger(seconds=assignment.period, start_time=datetime.fromtimestamp(begin, UTC))
        await scheduler.add_schedule(job, every, id=str(number), args=(number,), coalesce=keep_all)

    async with scheduler:
        begin = await begin_of(add, scheduler, assignment.schedules)
        start = time.perf_counter()
        for number in range(assignment.schedules):
            await add(number, begin)
        adding_s = time.perf_counter() - start
        check_in_time(begin)
        await scheduler.start_in_background()
        await asyncio.to_thread(wait_for_end, assignment, begin, lambda: len(TICKS))
        report(assignment, begin, list(TICKS), adding_s)


async def begin_of(add: Any, scheduler: Any, schedules: int) -> int:
    """Return a second soon after all schedules will have been added, as ``common.begin_after`` does."""
    count = min(PROBES, schedules)
    later = time.time() + 86_400
    await add(0, later)
    start = time.perf_counter()
    for number in range(1, count + 1):
        await add(number, later)
    seconds_per_schedule = (time.perf_counter() - start) / count
    for number in range(count + 1):
        await scheduler.remove_schedule(str(number))
    return math.ceil(time.time() + 2.5 + 1.6 * seconds_per_schedule * schedules)


if __name__ == "__main__":
    CURRENT_JOB = load("apscheduler:current_job")
    asyncio.run(race(read_assignment()))
