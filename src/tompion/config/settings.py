"""Every limit, with its unit in its name.

The defaults are what a single developer wants; a platform team overrides them in one place.  A setting that cannot be
obeyed is refused here, before anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from tompion.errors import InvalidInput
from tompion.model.policy import CATCHUP_ALIASES, OVERLAP_ALIASES, CatchUp, Overlap

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
DAY_MS = 24 * 60 * MINUTE_MS
CHOICES: dict[str, tuple[type[StrEnum], dict[str, Any]]] = {
    "default_overlap_policy": (Overlap, OVERLAP_ALIASES),
    "default_catchup_policy": (CatchUp, CATCHUP_ALIASES),
}
"""Settings that are no numbers: what they may be, and other names for it."""
MAX_VALUES = {"default_jitter_ms": 366 * DAY_MS, "min_interval_ms": 366 * DAY_MS}
"""What some are at most, because a schedule's own field is."""
T = TypeVar("T")


def _limit(default: T, meaning: str) -> T:
    """What a limit is unless somebody says otherwise, and what it means: to readers of the manual and of the page."""
    limit: T = field(default=default, metadata={"meaning": meaning})
    return limit


@dataclass(frozen=True, slots=True)
class Settings:
    """What an instance obeys."""

    tick_ms: int = _limit(
        SECOND_MS, "the longest that an idle engine sleeps before it looks for work that nobody announced"
    )
    lookahead_ms: int = _limit(60 * SECOND_MS, "how far ahead `spread` distributes missed ticks")
    misfire_grace_ms: int = _limit(30 * SECOND_MS, "a tick no later than this is late; a later one is missed")
    max_catchup_per_tick: int = _limit(100, "the most missed ticks of one schedule that one pass starts")
    catchup_rate_per_s: int = _limit(1_000, "the most missed ticks per second that the whole fleet starts")
    max_buffer: int = _limit(1_000, "the most runs of one schedule that wait")
    max_span_ticks: int = _limit(
        50_000, "the most ticks that one pass counts for one schedule; the rest is counted in the next pass"
    )
    fire_batch: int = _limit(2_000, "the most schedules that one fire transaction claims")
    settle_batch: int = _limit(2_000, "the most outcomes that one transaction writes")
    settle_gather_ms: int = _limit(2, "how long outcomes are gathered before they are written together")
    max_active_launches: int = _limit(
        10_000,
        "the most runs that one instance executes at a time; beyond that it claims nothing. After it was too "
        "busy to prolong its lease it takes a quarter of what it held, but not less than `max_threads`, and half "
        "as much again with each heartbeat",
    )
    max_threads: int = _limit(32, "the most synchronous functions that one instance executes at a time")
    lock_ttl_ms: int = _limit(
        120 * SECOND_MS, "how long an instance's lease lasts after its last sign of life; then others take its runs"
    )
    heartbeat_ms: int = _limit(30 * SECOND_MS, "how often an instance prolongs its lease")
    sweep_ms: int = _limit(5 * MINUTE_MS, "how often an instance cleans up")
    zombie_after_ms: int = _limit(
        10 * MINUTE_MS, "a run whose owner has been silent for so long, and that nobody picks up, has failed"
    )
    launch_tries: int = _limit(3, "how often a launch that cannot even begin is tried")
    launch_retry_ms: int = _limit(100, "the pause before the second try of a launch; it doubles")
    max_pickups: int = _limit(
        10,
        "how often a run is picked up from a worker that died with it, before it counts as the cause; what a "
        "worker hands back when it stops is not counted",
    )
    max_clock_skew_ms: int = _limit(
        60 * SECOND_MS, "an instance whose clock is further from the database's stops firing"
    )
    backfills_per_iteration: int = _limit(10, "the most runs that one pass starts for one backfill")
    max_backfill_ticks: int = _limit(10_000, "the most ticks of one backfill")
    max_backfills: int = _limit(100, "the most unfinished backfills of one schedule")
    max_payload_bytes: int = _limit(256 * 1024, "the largest payload of a schedule or trigger")
    max_result_bytes: int = _limit(16 * 1024, "results and errors are cut to this length, and results say so")
    max_name_chars: int = _limit(200, "the longest schedule id, namespace, workflow id, queue or label")
    max_page: int = _limit(1_000, "the longest page of a list")
    max_schedules_per_namespace: int = _limit(
        0, "the most schedules of one namespace that are not deleted; 0 is no bound"
    )
    max_schedules_per_calendar: int = _limit(
        10_000, "the most schedules that a change of one named calendar re-plans at once"
    )
    retention_ms: int = _limit(
        90 * DAY_MS, "how long finished runs, spans and the history of deleted schedules are kept"
    )
    audit_retention_ms: int = _limit(
        0, "how long the audit is kept; 0 is for ever, and anything else at least twice `retention_ms`"
    )
    audit_seal_ms: int = _limit(10 * SECOND_MS, "how often an instance puts new rows of the audit into their chains")
    request_retention_ms: int = _limit(7 * DAY_MS, "how long the answer to a request id is kept")
    max_metric_namespaces: int = _limit(
        50, "how many namespaces have numbers of their own in the metrics; those that are seen later share `other`"
    )
    notification_timeout_ms: int = _limit(10 * SECOND_MS, "how long one try to deliver a notice may take")
    notification_retry_ms: int = _limit(
        5 * SECOND_MS, "the pause before the second try to deliver a notice; it doubles, up to an hour"
    )
    notification_give_up_ms: int = _limit(DAY_MS, "how long the delivery of a notice is tried")
    stalled_after_ms: int = _limit(
        30 * SECOND_MS,
        "an engine that has not looked for work for so long is not working: its ping stops, and `/readyz` says so",
    )
    shutdown_grace_ms: int = _limit(30 * SECOND_MS, "how long a stopping engine waits for the runs it executes")
    default_overlap_policy: Overlap = _limit(  # noqa: RUF009 - it makes a field
        Overlap.SKIP, "the `overlap_policy` of a schedule that is written without one; any of its words"
    )
    default_catchup_policy: CatchUp = _limit(  # noqa: RUF009 - it makes a field
        CatchUp.NONE, "the `catchup_policy` of a schedule that is written without one"
    )
    default_jitter_ms: int = _limit(0, "the `jitter_ms` of a schedule that is written without one")
    min_interval_ms: int = _limit(
        0, "the least `min_interval_ms` that a schedule may be written with, and what one without it gets"
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be obeyed, naming the setting."""
        for setting in fields(self):
            name, value = setting.name, getattr(self, setting.name)
            if name in CHOICES:
                object.__setattr__(self, name, _chosen(name, value))
            elif type(value) is not int or value < _least(name):
                raise InvalidInput(f"{name} is {value!r}: it must be a whole number of at least {_least(name)}")
            elif value > MAX_VALUES.get(name, value):
                raise InvalidInput(f"{name} is {value}: it must be at most {MAX_VALUES[name]}")
        if self.heartbeat_ms * 2 > self.lock_ttl_ms:
            raise InvalidInput(
                f"heartbeat_ms is {self.heartbeat_ms}: at most half of lock_ttl_ms ({self.lock_ttl_ms}), "
                "or a healthy worker could lose its runs"
            )
        if 0 < self.audit_retention_ms < 2 * self.retention_ms:
            raise InvalidInput(
                f"audit_retention_ms is {self.audit_retention_ms}: at least twice retention_ms ({self.retention_ms}), "
                "or 'tompion verify' could no longer tell a schedule that was deleted from one that is damaged"
            )


_MAY_BE_ZERO = frozenset(
    {
        "audit_retention_ms",
        "default_jitter_ms",
        "max_schedules_per_namespace",
        "min_interval_ms",
        "misfire_grace_ms",
        "settle_gather_ms",
        "shutdown_grace_ms",
    }
)


def _least(name: str) -> int:
    return 0 if name in _MAY_BE_ZERO else 1


def _chosen(name: str, value: object) -> StrEnum:
    """Return what a word means; raises if it means nothing."""
    kind, aliases = CHOICES[name]
    words: dict[str, StrEnum] = {**{str(each): each for each in kind}, **aliases}
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"{name} is {value!r}: it must be one of {', '.join(words)}")
    return words[value]
