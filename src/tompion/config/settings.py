"""Limits of an engine, each with its unit in its name.

The defaults suit a single developer. A platform team overrides them in one place. A wrong value is an error before
anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from tompion.errors import InvalidInput
from tompion.model.policy import CATCHUP_ALIASES, OVERLAP_ALIASES, CatchUp, LaunchErrors, Overlap

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
DAY_MS = 24 * 60 * MINUTE_MS
ENUM_SETTINGS: dict[str, tuple[type[StrEnum], dict[str, Any]]] = {
    "default_overlap_policy": (Overlap, OVERLAP_ALIASES),
    "default_catchup_policy": (CatchUp, CATCHUP_ALIASES),
    "launch_errors": (LaunchErrors, {}),
}
"""Settings that are not numbers: the enum of their values, and aliases of these."""
MAX_FIELD_VALUES = {
    "default_jitter_ms": 366 * DAY_MS,
    "min_interval_ms": 366 * DAY_MS,
    "max_execution_ms": 30 * DAY_MS,
}
"""Maximum of settings that are defaults or limits of a schedule's field. The field has the same maximum."""
MAX_VALUES = {**MAX_FIELD_VALUES, "lookahead_ms": 366 * DAY_MS}
MAX_DURATION_MS = 36_600 * DAY_MS
"""Maximum of every other duration: a hundred years, so that times stay within the range of a date."""
MIN_VALUES = {"misfire_grace_ms": 500}
"""Minimum of settings for which 1 is too low. With a shorter grace period an engine would miss every tick."""
MAY_BE_ZERO = frozenset(
    {
        "audit_retention_ms",
        "default_jitter_ms",
        "max_schedules_per_namespace",
        "min_interval_ms",
        "settle_gather_ms",
        "shutdown_grace_ms",
    }
)
T = TypeVar("T")


def _limit(default: T, meaning: str) -> T:
    """Return a dataclass field with a default and the description for the reference and the web UI."""
    limit: T = field(default=default, metadata={"meaning": meaning})
    return limit


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and defaults of one instance."""

    tick_ms: int = _limit(SECOND_MS, "maximum sleep of an idle engine before it polls for work that was not announced")
    lookahead_ms: int = _limit(60 * SECOND_MS, "how far ahead `spread` distributes missed ticks")
    misfire_grace_ms: int = _limit(
        30 * SECOND_MS, "a tick that is up to this late is fired late; a later one is missed"
    )
    max_catchup_per_tick: int = _limit(
        100, "maximum missed ticks of one schedule that start per `tick_ms`; a warning reports when the others wait"
    )
    catchup_rate_per_s: int = _limit(1_000, "maximum missed ticks per second that all instances together start")
    max_buffer: int = _limit(1_000, "maximum waiting runs of one schedule")
    max_dropped_range_ticks: int = _limit(
        50_000, "maximum dropped ticks of one schedule that one pass counts; the next pass counts the rest"
    )
    fire_batch: int = _limit(2_000, "maximum schedules that one fire transaction claims")
    settle_batch: int = _limit(2_000, "maximum outcomes that one transaction writes")
    settle_gather_ms: int = _limit(2, "how long an engine collects outcomes before it writes them together")
    max_active_launches: int = _limit(
        10_000,
        "maximum runs that one instance executes at a time; at the limit it claims nothing. After a lost lease the "
        "limit is a quarter of the runs that it held, at least `max_threads`, and grows by half with each heartbeat",
    )
    max_threads: int = _limit(32, "maximum synchronous functions that one instance executes at a time")
    lock_ttl_ms: int = _limit(
        120 * SECOND_MS,
        "how long an instance's lease lasts after its last heartbeat; then other instances take over its runs. The "
        "runs of a process that has ended are taken over within 5 seconds",
    )
    heartbeat_ms: int = _limit(30 * SECOND_MS, "how often an instance renews its lease")
    sweep_ms: int = _limit(5 * MINUTE_MS, "how often an instance runs maintenance: zombie runs and retention")
    zombie_after_ms: int = _limit(
        10 * MINUTE_MS, "a run fails if its owner sent no heartbeat for this long and no other instance took it over"
    )
    launch_tries: int = _limit(
        3, "maximum quick tries to launch a run that cannot start; together they are one attempt"
    )
    launch_retry_ms: int = _limit(100, "delay before the second quick try; it doubles with each try")
    launch_errors: LaunchErrors = _limit(  # noqa: RUF009 - the function makes a field
        LaunchErrors.WAIT,
        "handling of a launch that did not reach its target: `wait` repeats it until the deadline, `fail` counts it as "
        "a failed attempt",
    )
    launch_deadline_ms: int = _limit(
        60 * MINUTE_MS,
        "how long a run waits for a target that cannot be reached, if its schedule has neither "
        "`launch_deadline_ms` nor `catchup_window`",
    )
    launch_backoff_ms: int = _limit(
        SECOND_MS, "delay before the next launch for a target that cannot be reached; it doubles with each failure"
    )
    max_launch_backoff_ms: int = _limit(30 * SECOND_MS, "maximum of that delay")
    max_pickups: int = _limit(
        10,
        "maximum times that a run is taken over from a dead worker before it fails as the cause; from the second time "
        "on, a worker executes such runs one at a time. Runs that a stopping worker hands back do not count",
    )
    max_clock_skew_ms: int = _limit(
        60 * SECOND_MS, "an instance stops firing if its clock differs from the database's by more than this"
    )
    backfills_per_iteration: int = _limit(10, "maximum runs that one pass starts for one backfill")
    max_backfill_ticks: int = _limit(10_000, "maximum ticks of one backfill")
    max_backfills: int = _limit(100, "maximum unfinished backfills of one schedule")
    max_payload_bytes: int = _limit(256 * 1024, "maximum size of the payload of a schedule or trigger")
    max_result_bytes: int = _limit(
        16 * 1024, "maximum size of a result or error; longer ones are truncated, and truncated results are marked"
    )
    max_name_chars: int = _limit(200, "maximum length of a schedule id, namespace, workflow id, queue or label")
    max_page: int = _limit(1_000, "maximum items on a page of a list")
    max_schedules_per_namespace: int = _limit(
        0, "maximum schedules of one namespace that are not deleted; 0 means no limit"
    )
    max_schedules_per_calendar: int = _limit(
        10_000, "maximum schedules that a change of one named calendar replans at once"
    )
    retention_ms: int = _limit(
        90 * DAY_MS, "retention of finished runs, dropped ranges and the history of deleted schedules"
    )
    audit_retention_ms: int = _limit(
        0, "retention of the audit log; 0 means unlimited, other values must be at least twice `retention_ms`"
    )
    audit_seal_ms: int = _limit(10 * SECOND_MS, "how often an instance adds new audit rows to the hash chain")
    request_retention_ms: int = _limit(7 * DAY_MS, "how long the response to a request id is stored")
    max_metric_namespaces: int = _limit(
        50, "maximum namespaces with their own label in the metrics; later ones share `other`"
    )
    notification_timeout_ms: int = _limit(10 * SECOND_MS, "timeout of one attempt to deliver a notification")
    notification_retry_ms: int = _limit(
        5 * SECOND_MS, "delay before the second attempt to deliver a notification; it doubles, up to an hour"
    )
    notification_give_up_ms: int = _limit(DAY_MS, "how long delivery of a notification is attempted")
    stalled_after_ms: int = _limit(
        30 * SECOND_MS,
        "an engine that has not polled for this long is unhealthy: its ping stops, and `/readyz` reports it",
    )
    overloaded_after_ms: int = _limit(
        60 * SECOND_MS,
        "an engine that has had ticks later than `misfire_grace_ms` for this long is overloaded: `/readyz` reports it, "
        "and so do problems",
    )
    shutdown_grace_ms: int = _limit(30 * SECOND_MS, "how long a stopping engine waits for its runs")
    default_overlap_policy: Overlap = _limit(  # noqa: RUF009 - the function makes a field
        Overlap.SKIP, "`overlap_policy` of a schedule without one; any of its values"
    )
    default_catchup_policy: CatchUp = _limit(  # noqa: RUF009 - the function makes a field
        CatchUp.NONE, "`catchup_policy` of a schedule without one"
    )
    default_jitter_ms: int = _limit(0, "`jitter_ms` of a schedule without one")
    max_execution_ms: int = _limit(30 * MINUTE_MS, "maximum of the `max_execution_ms` of a schedule; at most 30 days")
    min_interval_ms: int = _limit(0, "minimum of the `min_interval_ms` of a schedule, and its default")

    def __post_init__(self) -> None:
        """Check every value, and the values that depend on each other."""
        for setting in fields(self):
            object.__setattr__(self, setting.name, check_setting(setting.name, getattr(self, setting.name)))
        if self.heartbeat_ms * 2 > self.lock_ttl_ms:
            raise InvalidInput(
                f"heartbeat_ms is {self.heartbeat_ms}: it must be at most half of lock_ttl_ms ({self.lock_ttl_ms}), "
                "or a healthy worker could lose its runs"
            )
        if 0 < self.audit_retention_ms < 2 * self.retention_ms:
            raise InvalidInput(
                f"audit_retention_ms is {self.audit_retention_ms}: it must be at least twice retention_ms "
                f"({self.retention_ms}), or 'tompion verify' could not distinguish deleted from damaged schedules"
            )


def check_setting(name: str, value: Any) -> Any:
    """Return a value of a setting, aliases resolved. Raise :class:`~tompion.errors.InvalidInput` if it is wrong."""
    if name in ENUM_SETTINGS:
        return _parse_enum(name, value)
    min_value = 0 if name in MAY_BE_ZERO else MIN_VALUES.get(name, 1)
    if type(value) is not int or value < min_value:
        raise InvalidInput(f"{name} is {value!r}: it must be a whole number of at least {min_value}")
    max_value = MAX_VALUES.get(name, MAX_DURATION_MS if name.endswith("_ms") else value)
    if value > max_value:
        raise InvalidInput(f"{name} is {value}: it must be at most {max_value}")
    return value


def _parse_enum(name: str, value: object) -> StrEnum:
    kind, aliases = ENUM_SETTINGS[name]
    words: dict[str, StrEnum] = {**{str(member): member for member in kind}, **aliases}
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"{name} is {value!r}: it must be one of {', '.join(words)}")
    return words[value]
