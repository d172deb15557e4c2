"""RedBeat, the scheduler for Celery beat that keeps its schedules in Redis.

RedBeat files an entry under the right time only if it is saved in the moment of its last run.  Ours are to be due in a
common second, so they are saved again after they were added, outside the measured time.
"""

from __future__ import annotations

import time

from bench.engine.peers.scripts.celery_common import TASK, every, last_run, make_app, race
from bench.engine.peers.scripts.common import Assignment, begin_after, check_in_time, load, read_assignment

MAX_INTERVAL_S = 1
"""Beat looks for new schedules so often; this is also the longest that it sleeps."""


def main(assignment: Assignment) -> None:
    """Add the schedules, let beat run, report."""
    app = make_app(assignment, redbeat_redis_url=assignment.store, beat_max_loop_interval=MAX_INTERVAL_S)
    app.conf.redbeat_lock_timeout = 3_600  # one pass over many schedules must not outlast the lock
    interval = every(assignment, app)
    new_entry = load("redbeat:RedBeatSchedulerEntry")
    client = load("redis:Redis").from_url(assignment.store)

    def add(number: int, begin: float = time.time() + 86_400) -> None:
        since = last_run(assignment, begin)
        new_entry(str(number), TASK, interval, args=[number], last_run_at=since, app=app).save()

    begin = begin_after(add, client.flushdb, assignment.schedules)
    start = time.perf_counter()
    for number in range(assignment.schedules):
        add(number, begin)
    adding_s = time.perf_counter() - start
    keys = (new_entry.generate_key(app, str(number)) for number in range(assignment.schedules))
    client.zadd(app.redbeat_conf.schedule_key, dict.fromkeys(keys, begin))
    check_in_time(begin)
    service = load("celery.beat:Service")(app, scheduler_cls=load("redbeat:RedBeatScheduler"))
    race(assignment, service, begin, adding_s)


if __name__ == "__main__":
    main(read_assignment())
