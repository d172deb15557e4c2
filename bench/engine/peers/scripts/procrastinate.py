"""Procrastinate with periodic tasks.

A tick is counted when its job stands in PostgreSQL, by the time that the database wrote down with it.  No worker
fetches jobs: it would take time from the deferrer and could only be later.  Schedules are part of the program, so
nothing is measured for adding them.
"""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime
from typing import Any

from bench.engine.peers.scripts.common import SCHEMA, Assignment, Tick, load, read_assignment, report
from bench.engine.peers.scripts.sql import new_schema

START_S = 3.0
START_EACH_S = 0.001
"""How long registering and a first look at every schedule may take, at most."""

SEEN = """
SELECT (job.args ->> 'number')::integer, (job.args ->> 'timestamp')::float8, extract(epoch FROM event.at)::float8
FROM procrastinate_jobs AS job JOIN procrastinate_events AS event ON event.job_id = job.id
WHERE event.type = 'deferred' AND (job.args ->> 'timestamp')::float8 >= %s
"""


def cron_of(assignment: Assignment, begin: float) -> str:
    """Return a cron expression with seconds: the sixth field is theirs."""
    if not assignment.is_burst:
        return "* * * * * *"
    due = datetime.fromtimestamp(begin, UTC)
    return f"{due.minute} {due.hour} * * * {due.second}"


async def race(assignment: Assignment) -> None:
    """Register the schedules, let the deferrer run, report."""
    new_schema(assignment.store)
    inside = {"options": f"-c search_path={SCHEMA}"}
    connector = load("procrastinate:PsycopgConnector")(conninfo=assignment.store, kwargs=inside)
    app = load("procrastinate:App")(connector=connector)

    @app.task(name="job")  # type: ignore[untyped-decorator]  # the peer is loaded by name, so it has no types
    async def job(timestamp: int, number: int) -> None:
        """Do nothing. No worker fetches the job."""

    begin = math.ceil(time.time() + START_S + START_EACH_S * assignment.schedules)
    cron = cron_of(assignment, begin)
    for number in range(assignment.schedules):
        app.periodic(cron=cron, periodic_id=str(number), task_kwargs={"number": number})(job)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await run_deferrer(app, assignment, begin)
    with load("psycopg:connect")(assignment.store, **inside) as connection:
        ticks: list[Tick] = connection.execute(SEEN, [begin]).fetchall()
    report(assignment, begin, ticks, None)


async def run_deferrer(app: Any, assignment: Assignment, begin: float) -> None:
    """Let the deferrer work until the time is over, or until all that is expected was deferred."""
    if not assignment.is_burst:
        await asyncio.sleep(begin - 0.5 - time.time())
    deferrer = load("procrastinate.periodic:PeriodicDeferrer")(app.periodic_registry)
    work = asyncio.create_task(deferrer.worker())
    while time.time() < begin + assignment.seconds:
        await asyncio.sleep(0.05)
        if work.done():
            work.result()
        if assignment.is_burst and len(deferrer.last_defers) == assignment.schedules:
            await asyncio.sleep(0.5)  # the last was noted before it was written
            break
    work.cancel()


if __name__ == "__main__":
    asyncio.run(race(read_assignment()))
