"""The scenarios of the page about policies."""

from __future__ import annotations

from typing import Any

from tests.documentation.timelines import Scenario

FIVE = "*/5 * * * *"
OUTAGE = "7m, down 20m, 12m"
PAUSE = "7m, pause, 20m, resume, 7m"


def _overlap(name: str, **fields: Any) -> Scenario:
    return Scenario(name, FIVE, "24m", takes="7m", fields=fields)


def _missed(name: str, steps: str = OUTAGE, **fields: Any) -> Scenario:
    return Scenario(name, FIVE, steps, takes="1m", fields=fields)


SCENARIOS = [
    _overlap("skip", overlap_policy="skip"),
    _overlap("allow", overlap_policy="allow"),
    _overlap("queue", overlap_policy="queue"),
    Scenario("buffer-one", FIVE, "34m", takes="12m", fields={"overlap_policy": "buffer_one"}),
    Scenario("buffer-first", FIVE, "34m", takes="12m", fields={"overlap_policy": "buffer_one", "buffer_keep": "first"}),
    _overlap("cancel-other", overlap_policy="cancel_other"),
    _overlap("terminate-other", overlap_policy="terminate_other"),
    Scenario("two", FIVE, "24m", takes="12m", fields={"overlap_policy": "skip", "max_concurrent": 2}),
    Scenario("full", FIVE, "29m", takes="24m", fields={"overlap_policy": "queue"}, settings={"max_buffer": 2}),
    _missed("none", catchup_policy="none"),
    _missed("coalesce", catchup_policy="coalesce"),
    _missed("fire-immediately", catchup_policy="fire_immediately", overlap_policy="queue"),
    _missed("fire-immediately-skip", catchup_policy="fire_immediately", overlap_policy="skip"),
    Scenario(
        "spread",
        FIVE,
        "7m, down 20m, 12m",
        fields={"catchup_policy": "spread", "overlap_policy": "queue"},
        settings={"lookahead_ms": 600_000},
    ),
    _missed("window", catchup_policy="fire_immediately", catchup_window="10m", overlap_policy="queue"),
    Scenario("late", FIVE, "4m, down 80s, 8m", takes="1m", column="20s", label_every=15),
    _missed("resume-policy", PAUSE, catchup_policy="fire_immediately", overlap_policy="queue", on_resume="policy"),
    _missed("resume-skip", PAUSE, catchup_policy="fire_immediately", overlap_policy="queue", on_resume="skip"),
    _missed("resume-once", PAUSE, catchup_policy="none", on_resume="fire_once"),
    Scenario("pause-in-flight", FIVE, "6m, pause, 7m, trigger, 10m", takes="4m"),
    Scenario(
        "target-paused", FIVE, "7m, pause target, 11m, resume target, 6m",
        fields={"overlap_policy": "queue"}, workflow=True,
    ),
    Scenario("skip-next", FIVE, "7m, skip, 12m"),
    Scenario("backfill", FIVE, "7m, backfill 11:30-11:45, 7m"),
    Scenario("backfill-allow", FIVE, "7m, backfill 11:30-11:45 overlap=allow, 7m"),
    Scenario("backfill-missing", FIVE, "7m, down 20m, 4m, backfill 12:00-12:30 only=missing, 7m", takes="45s"),
    Scenario(
        "backfill-failed", FIVE, "17m, backfill 12:00-12:15 only=failed, 7m", fails_at=frozenset({"12:05"}),
    ),
    Scenario("shadow", FIVE, "12m", fields={"shadow": True}),
    Scenario("actions", FIVE, "22m", fields={"remaining_actions": 2}),
    Scenario("min-interval", FIVE, "17m", fields={"min_interval_ms": 420_000}),
    Scenario("deadline", FIVE, "17m", takes="7m", fields={"max_execution_ms": 180_000}),
    Scenario(
        "pause-on-failure", FIVE, "17m", fields={"pause_on_failure": True}, fails_at=frozenset({"12:05"}),
    ),
    Scenario(
        "retry", FIVE, "17m", fields={"max_attempts": 3, "retry_delay_ms": 60_000}, fails_at=frozenset({"12:05"}),
    ),
    Scenario(
        "jitter-symmetric", "0 * * * *", "3m", takes="10s", fields={"jitter_ms": 60_000},
        begin="11:59", column="5s", label_every=12, ids=("alpha", "beta", "gamma", "delta"),
    ),
    Scenario(
        "jitter-delay", "0 * * * *", "3m", takes="10s", fields={"jitter_ms": 60_000, "jitter_mode": "delay"},
        begin="11:59", column="5s", label_every=12, ids=("alpha", "beta", "gamma", "delta"),
    ),
]  # fmt: skip
