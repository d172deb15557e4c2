"""A service with something to look at: schedules of all kinds, an hour of history, and a few things that are wrong."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from foliot.client import Client
from tests.web.kit import Service

BERLIN = "Europe/Berlin"
WORK = {"function": "tasks:work"}
SCHEDULES: dict[str, dict[str, Any]] = {
    "billing/invoices": {"cron": "0 6 1 * *", "timezone": BERLIN, "labels": {"team": "billing"}},
    "billing/reminders": {"cron": "30 8 * * MON-FRI", "timezone": BERLIN, "labels": {"team": "billing"}},
    "billing/payouts": {"cron": "*/5 * * * *", "labels": {"team": "billing"}, "overlap_policy": "queue"},
    "crm/sync": {"cron": "*/2 * * * *", "labels": {"team": "sales"}, "catchup_policy": "coalesce"},
    "crm/scores": {"intervals": "10m", "labels": {"team": "sales"}},
    "data/daily-report": {"cron": "30 2 * * *", "timezone": BERLIN, "labels": {"team": "data"}},
    "data/export": {"cron": "*/4 * * * *", "function": "tasks:fails", "labels": {"team": "data"}},
    "data/warehouse": {"cron": "0 * * * *", "timezone": "America/New_York", "labels": {"team": "data"}},
    "ops/backup": {"cron": "15 3 * * *", "timezone": "UTC", "labels": {"team": "ops"}},
    "ops/certificates": {"rrules": "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "timezone": BERLIN},
    "ops/health": {"cron": "* * * * *", "labels": {"team": "ops"}},
    "ops/rotate-logs": {"cron": "0 0 * * *", "exclude": {"named": ["bank-holidays"]}},
    "web/sitemap": {"cron": "H 4 * * *", "jitter_ms": 600_000},
    "web/warm-cache": {"cron": "*/3 * * * *"},
}
HERD = 14
BACKFILLED = ("billing/payouts", "crm/sync", "crm/scores", "data/export", "ops/health", "web/warm-cache")


def furnish(service: Service) -> None:
    """Put everything into a service that is empty."""
    other = service.other
    other.put_calendar({"name": "bank-holidays", "dates": ["2026-12-25", "2026-12-26", "2027-01-01", "2027-04-05"]})
    other.put_workflow("ping", {"executor": "http", "options": {"url": "https://example.org/ping"}})
    other.put_workflow("ping", {"executor": "http", "options": {"url": "https://example.org/v2/ping"}})
    other.put_workflow("nightly", {"executor": "command", "options": {"command": "nightly"}})
    for name, given in SCHEDULES.items():
        other.create(name, **{**WORK, **given})
    for number in range(HERD):
        other.create(f"tenants/{number:03}/digest", cron="0 7 * * *", timezone=BERLIN, labels={"team": "mail"}, **WORK)
    other.create("poll/orders", intervals="60s", adaptive=True, max_interval_ms=600_000, **WORK)
    other.patch("billing/reminders", cron="45 8 * * MON-FRI", description="Reminds of invoices that are due")
    other.pause("ops/certificates", paused_by="ann", note="waits for the new provider")
    other.pause("data/warehouse", paused_by="bob", note="migration", until=datetime.now(UTC) + timedelta(hours=9))
    other.skip("data/daily-report")
    other.hint("poll/orders", interval_ms=120_000, ttl_ms=3_600_000, reason="a quiet night")
    _remember(service, other)


def _remember(service: Service, other: Client) -> None:
    """Run the last hour again, and let it have been then."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    for name in BACKFILLED:
        (made,) = other.backfill(name, now - timedelta(hours=1), now - timedelta(minutes=1), overlap="allow")
        while other.get_backfill(made.backfill_id).state == "RUNNING" or other.get(name).in_flight:
            pass  # each look is a request: it waits by itself
    random = Random(7)
    with closing(sqlite3.connect(service.home / "web.db", timeout=30)) as connection:
        rows = connection.execute("SELECT run_number, nominal_s, state FROM schedule_runs").fetchall()
        for number, nominal_s, state in rows:
            late = int(random.expovariate(1 / 18)) + 4 + (900 if random.random() < 0.01 else 0)
            started = nominal_s * 1000 + late
            took = int(random.gammavariate(2, 900)) + 40
            connection.execute(
                "UPDATE schedule_runs SET fire_ms = nominal_s * 1000, decided_ms = ?, started_ms = ?, finished_ms = ?, "
                "source = 'schedule' "
                "WHERE run_number = ?",
                (started - 2, started, started + took if state in ("SUCCESS", "FAILED") else None, number),
            )
        connection.execute(
            "UPDATE schedules SET paused_ms = paused_ms - ? WHERE schedule_id = 'ops/certificates'", (19 * 86_400_000,)
        )
        connection.commit()
