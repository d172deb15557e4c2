"""All errors that Tompion raises on purpose, in one tree.

::

    TompionError                base class of all errors
    ├── InvalidInput            the input is invalid. Do not retry
    │   ├── InvalidSpec         … in a spec. Has the field, the position and a hint
    │   │   └── UnknownZone     … a time zone that is not in the time zone data
    │   ├── InvalidTime         … an instant without a zone, or not a time
    │   └── InvalidField        … any other field of a request
    ├── Unauthenticated         missing or invalid credentials. Send an API key or a token
    ├── Forbidden               the caller lacks the required role
    ├── NotFound                no such schedule, run, backfill, calendar or workflow
    ├── Conflict                the change conflicts with the stored state. Read again, then retry
    │   ├── AlreadyExists       … the id already exists
    │   ├── StaleToken          … the schedule has changed since it was read
    │   ├── ScheduleClosed      … the schedule has been deleted
    │   ├── RequestReused       … the request id was used for another request
    │   └── StaleReport         … the report is about an attempt that is not current
    ├── LimitExceeded           a limit was reached. Request less, or raise the limit
    ├── TooManyRequests         the rate limit was reached. Wait, then retry
    ├── OutcomeUnknown          the response to a change was lost. Check whether it happened
    ├── LaunchError             a run could not start, such as a missing function. Retry
    │   ├── TargetUnreachable   … because the target is down. The run waits for it
    │   └── LaunchRefused       … and a retry would fail, too
    ├── StoreError              the store cannot be used
    │   ├── StoreUnavailable    … temporarily: no connection, busy, full. Retry
    │   ├── SchemaOutdated      … its schema is older than this release. Migrate it
    │   └── SchemaTooNew        … its schema is newer than this release. Use a newer release
    └── MalformedZoneFile       the installed time zone data is damaged. Reinstall it

Each class has a stable ``code``, and ``retryable`` for retry loops.
"""

from __future__ import annotations


class TompionError(Exception):
    """Base class of all errors that Tompion raises on purpose."""

    code = "error"
    retryable = False


class InvalidInput(TompionError, ValueError):
    """The input is invalid."""

    code = "invalid_input"


class InvalidSpec(InvalidInput):
    """A spec that is invalid or ambiguous.

    ``field`` is the path of the offending field (``cron``, ``exclude.windows``), ``position`` the index of the
    offending character in ``text``, ``expected`` the accepted input, and ``hint`` a remedy. ``str()`` has all of them
    on one line.
    """

    code = "invalid_spec"

    def __init__(  # noqa: PLR0913 - the parts of the message
        self,
        problem: str,
        *,
        field: str | None = None,
        position: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.field = field
        self.position = position
        self.expected = expected
        self.hint = hint
        self.text = text

    def located(self, *, field: str | None = None, text: str | None = None, shift: int = 0) -> InvalidSpec:
        """Return the error with an outer ``field``, and its position ``shift`` characters later in ``text``."""
        return type(self)(
            self.problem,
            field=_join_path(field, self.field),
            position=None if self.position is None else self.position + shift,
            expected=self.expected,
            hint=self.hint,
            text=text if text is not None else self.text,
        )

    def __str__(self) -> str:
        """Return one line: field, problem, position, expected input and hint."""
        line = f"{self.field}: {self.problem}" if self.field else self.problem
        if self.position is not None:
            line += f" at position {self.position + 1}"
        if self.text is not None:
            line += f" of {_shorten(self.text)!r}"
        if self.expected:
            line += f"; expected {self.expected}"
        if self.hint:
            line += f"; {self.hint}"
        return " ".join(line.splitlines())


class UnknownZone(InvalidSpec):
    """A time zone that is not in the time zone data."""

    code = "unknown_zone"


class InvalidTime(InvalidInput):
    """An instant without an offset, or text that is not a time."""

    code = "invalid_time"


class InvalidField(InvalidInput):
    """An invalid field of a request. ``field`` is its name."""

    code = "invalid_field"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class Unauthenticated(TompionError):
    """Missing or invalid credentials."""

    code = "unauthenticated"


class Forbidden(TompionError):
    """The caller lacks the required role."""

    code = "forbidden"


class NotFound(TompionError):
    """The object does not exist, or the caller may not see it."""

    code = "not_found"


class Conflict(TompionError):
    """The change conflicts with the stored state. Nothing was written."""

    code = "conflict"


class AlreadyExists(Conflict):
    """The id already exists."""

    code = "already_exists"


class StaleToken(Conflict):
    """The schedule has changed since the caller read it. ``conflict_token`` is the current one."""

    code = "stale_token"

    def __init__(self, stale_token: int, conflict_token: int, changed: str = "") -> None:
        reason = changed or f"{stale_token} is stale, the schedule is at {conflict_token}"
        super().__init__(f"conflict_token: {reason}; read it again, then retry")
        self.field = "conflict_token"
        self.stale_token = stale_token
        self.conflict_token = conflict_token


class ScheduleClosed(Conflict):
    """The schedule has been deleted. It can be read, or created again."""

    code = "schedule_closed"


class RequestReused(Conflict):
    """A request id that was used for another request before."""

    code = "request_reused"


class StaleReport(Conflict):
    """A report about an attempt that is not current, or about a finished run."""

    code = "stale_report"


class LaunchError(TompionError):
    """A run could not start. ``retry_after_s`` is the delay that its target demands before the next attempt."""

    code = "launch_error"
    retryable = True

    def __init__(self, message: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TargetUnreachable(LaunchError):
    """A launch did not reach its target: the target is down, unreachable or unavailable."""

    code = "target_unreachable"
    was_called = True
    """False if the launch did not call its target, because the target could not be reached a short time ago."""


class LaunchRefused(LaunchError):
    """A run could not start, and a retry would fail, too."""

    code = "launch_refused"
    retryable = False


class StoreError(TompionError):
    """The store cannot be used."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store is unreachable, busy or full. The same call may succeed later."""

    code = "store_unavailable"
    retryable = True


class SchemaOutdated(StoreError):
    """The store has to be migrated before this release can use it."""

    code = "schema_outdated"


class SchemaTooNew(StoreError):
    """The store was migrated by a newer release. Nothing was written."""

    code = "schema_too_new"


class LimitExceeded(TompionError):
    """A limit was reached. The message names it."""

    code = "limit_exceeded"


class TooManyRequests(TompionError):
    """The rate limit of the service was reached. The same call may succeed later."""

    code = "too_many_requests"
    retryable = True


class OutcomeUnknown(TompionError):
    """The response to a change was lost. The change may have happened or not.

    This affects only changes without a request id. Others are sent again, and done once.
    """

    code = "outcome_unknown"


class MalformedZoneFile(TompionError):
    """A file of the time zone data that does not conform to RFC 9636."""

    code = "malformed_zone_file"


def display(value: object, limit: int = 60) -> str:
    """Return a value for a message: quoted and shortened. It never raises."""
    if isinstance(value, str):
        return repr(_shorten(value, limit))
    if isinstance(value, int) and abs(value) >= 10**limit:
        return "a huge number"
    try:
        return _shorten(repr(value), limit)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"


def _join_path(outer: str | None, inner: str | None) -> str | None:
    if outer and inner:
        return outer + inner if inner.startswith("[") else f"{outer}.{inner}"
    return outer or inner


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
