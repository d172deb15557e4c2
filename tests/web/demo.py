"""Demo data: schedules of all kinds, an hour of history, and a few problems."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.web.kit import Service
from tompion.client import Client

BERLIN = "Europe/Berlin"
WORK: dict[str, Any] = {"function": "tasks:work"}
SCHEDULES: dict[str, dict[str, Any]] = {
    "billing/invoices": {"cron": "0 6 1 * *", "timezone": BERLIN, "labels": {"team": "billing"}},
    "billing/reminders": {"cron": "30 8 * * MON-FRI", "timezone": BERLIN, "labels": {"team": "billing"}},
    "billing/payouts": {"cron": "*/5 * * * *", "labels": {"team": "billing"}, "overlap_policy": "queue"},
    "crm/sync": {"cron": "*/2 * * * *", "labels": {"team": "sales"}, "catchup_policy": "coalesce"},
    "crm/scores": {"intervals": "10m", "labels": {"team": "sales"}},
    "data/daily-report": {"cron": "30 2 * * *", "timezone": BERLIN, "labels": {"team": "data"}},
    "data/export": {"cron": "*/4 * * * *", "function": "tasks:refused", "labels": {"team": "data"}},
    "data/warehouse": {"cron": "0 * * * *", "timezone": "America/New_York", "labels": {"team": "data"}},
    "ops/backup": {"cron": "15 3 * * *", "timezone": "UTC", "labels": {"team": "ops"}},
    "ops/certificates": {"rrules": "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "timezone": BERLIN},
    "ops/health": {"cron": "* * * * *", "labels": {"team": "ops"}},
    "ops/rotate-logs": {"cron": "0 0 * * *", "exclude": {"named": ["bank-holidays"]}},
    "web/sitemap": {"cron": "H 4 * * *", "jitter_ms": 600_000},
    "web/thumbnails": {"cron": "*/3 * * * *", "overlap_policy": "allow", "labels": {"team": "web"}},
    "web/warm-cache": {"cron": "*/3 * * * *", "labels": {"team": "web"}},
}
SPIKE_SCHEDULES = 14
BACKFILLED = (
    "billing/payouts", "crm/sync", "crm/scores", "data/export", "ops/health", "web/thumbnails", "web/warm-cache",
)  # fmt: skip
DAYS = 24
"""Days of history of the daily report."""
SLOW_MS = 400_000
"""Duration of the runs that overlap."""


def furnish(service: Service) -> None:
    """Create the demo data in an empty service."""
    client = service.client
    client.calendars.put({"name": "bank-holidays", "dates": ["2026-12-25", "2026-12-26", "2027-01-01", "2027-04-05"]})
    client.workflows.put("ping", {"executor": "http", "options": {"url": "https://example.org/ping"}})
    client.workflows.put("ping", {"executor": "http", "options": {"url": "https://example.org/v2/ping"}})
    client.workflows.put("nightly", {"executor": "http", "options": {"url": "https://example.org/nightly"}})
    for name, fields in SCHEDULES.items():
        client.create(name, **{**WORK, **fields})
    for number in range(SPIKE_SCHEDULES):
        client.create(f"tenants/{number:03}/digest", cron="0 7 * * *", timezone=BERLIN, labels={"team": "mail"}, **WORK)
    client.create("poll/orders", intervals="60s", adaptive=True, max_interval_ms=600_000, **WORK)
    client.patch("billing/reminders", cron="45 8 * * MON-FRI", description="Reminders for invoices that are due")
    client.pause("ops/certificates", paused_by="ann", note="Waiting for the new provider")
    client.pause("data/warehouse", paused_by="bob", note="Migration", until=datetime.now(UTC) + timedelta(hours=9))
    client.workflows.pause("nightly", note="Cluster migration")
    client.create("data/nightly", cron="0 1 * * *", timezone=BERLIN, workflow_id="nightly", labels={"team": "data"})
    client.create("data/new-export", cron="*/15 * * * *", shadow=True, labels={"team": "data"}, **WORK)
    client.schedules.skip("data/daily-report")
    client.schedules.hint("poll/orders", interval_ms=120_000, ttl_ms=3_600_000, reason="Quiet night")
    _remember(service, client)


def _remember(service: Service, client: Client) -> None:
    """Backfill the last hour, and move the runs to their scheduled times."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    since = dict.fromkeys(BACKFILLED, now - timedelta(hours=1)) | {"data/daily-report": now - timedelta(days=DAYS)}
    for name, begin in since.items():
        (backfill,) = client.backfill(name, begin, now - timedelta(minutes=1), overlap="allow")
        while client.schedules.get_backfill(backfill.backfill_id).status == "RUNNING" or client.get(name).in_flight:
            pass  # each iteration waits for a request
    random = Random(7)
    with closing(sqlite3.connect(service.home / "web.db", timeout=120)) as connection:
        rows = connection.execute(
            "SELECT run_number, nominal_s, r.state, schedule_id "
            "FROM schedule_runs r JOIN schedules USING (schedule_key)"
        ).fetchall()
        for number, nominal_s, state, name in rows:
            late = int(random.expovariate(1 / 18)) + 4 + (900 if random.random() < 0.01 else 0)
            started = nominal_s * 1000 + late
            took = int(random.gammavariate(2, 900)) + 40 + (SLOW_MS if name == "web/thumbnails" else 0)
            took = min(took, int(now.timestamp() * 1000) - started)
            connection.execute(
                "UPDATE schedule_runs SET fire_ms = nominal_s * 1000, decided_ms = ?, started_ms = ?, finished_ms = ?, "
                "source = 'schedule' "
                "WHERE run_number = ?",
                (started - 2, started, started + took if state in ("SUCCESS", "FAILED") else None, number),
            )
        _vary(connection)
        connection.execute(
            "UPDATE schedules SET paused_ms = paused_ms - ? WHERE schedule_id = 'ops/certificates'", (19 * 86_400_000,)
        )
        connection.commit()


def _vary(connection: sqlite3.Connection) -> None:
    """Add problems: failed and skipped reports, missed ticks, waiting runs."""
    of = "schedule_key = (SELECT schedule_key FROM schedules WHERE schedule_id = ?)"
    mine = [
        number
        for (number,) in connection.execute(
            f"SELECT run_number FROM schedule_runs WHERE {of} ORDER BY nominal_s DESC",
            ("data/daily-report",),
        )
    ]
    ended = "UPDATE schedule_runs SET state = ?, reason = ?, error = ?, result = NULL WHERE run_number = ?"
    connection.execute(ended, ("FAILED", None, "OperationalError: the database is starting up", mine[3]))
    connection.execute(ended, ("SKIPPED", "overlap", None, mine[8]))
    connection.execute(ended, ("TIMED_OUT", None, "the run exceeded its timeout of 60 seconds", mine[12]))
    counted = f"UPDATE schedule_state SET successes = successes - 3, failed = 2, skipped = 1 WHERE {of}"
    connection.execute(counted, ("data/daily-report",))
    connection.execute(f"UPDATE schedule_state SET waiting = 14, in_flight = 1 WHERE {of}", ("billing/payouts",))
    (now_s,) = connection.execute("SELECT max(nominal_s) FROM schedule_runs").fetchone()
    connection.execute(
        "INSERT INTO dropped_ranges SELECT schedule_key, ?, ?, 6, 'missed', 1, ? FROM schedules WHERE schedule_id = ?",
        (now_s - 7_200, now_s - 3_700, (now_s - 3_600) * 1_000, "crm/scores"),
    )
