"""A program of an old release: ``python fill_store.py URL`` leaves rows in every table, and works until it is killed.

It runs with any release, so it uses only the public API, and the few statements that have no API
in Python.  Beside it lies ``tasks.py``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from tompion import Settings, Tompion
from tompion.bootstrap.store import open_store

SETTINGS = Settings(
    misfire_grace_ms=700,
    audit_seal_ms=50,
    sweep_ms=1_000,
    heartbeat_ms=500,
    lock_ttl_ms=2_000,
    lookahead_ms=600_000,  # so that some ticks are still planned when everything else is there
)
YEARLY = "0 0 1 1 *"
EVERY_SECOND = "* * * * * *"


def define(tompion: Any) -> None:
    """Make schedules of every kind while no engine runs."""
    tompion.calendars.put({"name": "closed", "dates": ["2027-01-01"]})
    tompion.workflows.put("flow", {"function": "tasks:note"})
    tompion.workflows.put("flow", {"function": "tasks:fail"})
    tompion.create("missed", cron=EVERY_SECOND, function="tasks:note")
    tompion.create("spread", cron=EVERY_SECOND, function="tasks:note", catchup_policy="spread", overlap_policy="allow")
    tompion.create(
        "queued", cron=EVERY_SECOND, function="tasks:wait", payload={"barrier": "old"}, overlap_policy="queue"
    )
    tompion.create("overlapping", cron=EVERY_SECOND, function="tasks:wait", payload={"barrier": "old"})
    tompion.create("failing", cron=EVERY_SECOND, function="tasks:fail", labels={"team": "etl"}, max_attempts=2)
    tompion.create("elsewhere", cron=EVERY_SECOND, function="tasks:note", queue="unserved", overlap_policy="allow")
    tompion.create("limited", cron=EVERY_SECOND, function="tasks:note", remaining_actions=1)
    tompion.create("shadow", cron=EVERY_SECOND, function="tasks:note", shadow=True)
    tompion.create("slow", cron=YEARLY, function="tasks:wait", payload={"barrier": "old"}, overlap_policy="allow")
    tompion.create("strict", cron=YEARLY, function="tasks:wait", payload={"barrier": "old"}, max_execution_ms=100)
    tompion.create("of-flow", cron=YEARLY, timezone="Europe/Berlin", workflow_id="flow", exclude={"named": ["closed"]})
    tompion.create("edited", cron="0 9 * * *", function="tasks:note", memo={"why": "because"})
    tompion.patch("edited", cron="H 10 * * *", jitter_ms=300_000, request_id="an edit")
    tompion.create("polled", intervals="5m", function="tasks:note", adaptive=True, min_interval_ms=1_000)
    tompion.schedules.hint("polled", interval_ms=60_000, reason="it grows")
    tompion.create("paused", cron=EVERY_SECOND, function="tasks:note")
    tompion.pause("paused", note="by hand")
    tompion.create("deleted", cron=EVERY_SECOND, function="tasks:note")
    tompion.delete("deleted")
    tompion.create("skipped", cron="0 0 * * *", function="tasks:note")
    tompion.schedules.skip("skipped")
    tompion.keys.create("reader", role="reader")
    tompion.queues.pause("reports", note="repairs")
    tompion.workflows.pause("flow")


def live(tompion: Any) -> None:
    """Let runs begin, end and wait in every way."""
    tompion.trigger("strict")
    cancelled, terminated, _left = (tompion.trigger("slow") for _ in range(3))
    tompion.trigger("edited", payload={"is": "its own"}, request_id="a trigger")
    tompion.trigger("of-flow")
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    tompion.backfill("skipped", midnight - timedelta(days=3), midnight)
    tompion.backfill("queued", midnight, midnight + timedelta(seconds=30))
    began = {cancelled.run_id, terminated.run_id}
    until(lambda: began <= {item.run_id for item in tompion.runs.list("slow").items if item.started_at is not None})
    tompion.runs.cancel(cancelled.run_id)
    tompion.runs.terminate(terminated.run_id)


def until(check: Callable[[], bool]) -> None:
    """Wait until something is so."""
    turn = threading.Event()
    assert any(check() or turn.wait(0.05) for _ in range(2_400)), check


def main(url: str) -> None:
    """Fill a store."""
    with Tompion(url, engine=False) as tompion:
        define(tompion)
        created = tompion.get("shadow").created_at
    with closing(open_store(url)) as store:
        store.write(lambda t: t.search_attribute_insert("default", "Team", "Keyword")).result()
        store.write(lambda t: t.secret_get_or_create("sessions", "a secret")).result()
    until(lambda: datetime.now(UTC) - created > timedelta(seconds=4.2))  # several are missed: one alone is not spread
    receiver = {"url": "http://127.0.0.1:9/", "secret_env": "OPS_SECRET", "allow": ["127.0.0.1:9"]}
    tompion = Tompion(url, settings=SETTINGS, notifications={"ops": receiver}, queues=("default",))
    tompion.open()
    live(tompion)
    sys.stdout.write("alive\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    os.environ["OPS_SECRET"] = "whsec_" + "QUJD" * 8
    main(sys.argv[1])
