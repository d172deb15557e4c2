"""Every error Tompion raises on purpose, in one tree.

::

    TompionError                 anything this package raises on purpose
    ├── InvalidInput            the caller sent something that cannot be right; do not retry
    │   ├── InvalidSpec         … in a schedule's spec: names the field, the position and the way out
    │   │   └── UnknownZone     … a time zone that the pinned time zone data does not have
    │   ├── InvalidTime         … an instant: naive where a zone is needed, or not a time at all
    │   └── InvalidField        … any other field of a request; names it
    ├── Unauthenticated         nobody knows who asks; show a key or a token
    ├── Forbidden               whoever asks may not do that; ask for a role
    ├── NotFound                there is no such schedule, run, backfill, calendar or workflow
    ├── Conflict                the change does not fit what is stored; read again and decide again
    │   ├── AlreadyExists       … the id is taken
    │   ├── StaleToken          … somebody else has changed the schedule since
    │   ├── ScheduleClosed      … the schedule has been deleted
    │   ├── RequestReused       … the request id was used for another request
    │   └── StaleReport         … the attempt that is reported on is not the current one
    ├── LimitExceeded           a named limit was reached; ask for less, or raise the limit
    ├── TooManyRequests         a service is asked too often; wait a moment, then retry
    ├── OutcomeUnknown          the answer to a change was lost, and nothing lets it be sent twice; look, then decide
    ├── LaunchError             a run could not even begin: its function or workflow cannot be found; try again
    │   └── LaunchRefused       … and trying again is of no use
    ├── StoreError              the store cannot be used as it is
    │   ├── StoreUnavailable    … just now: no connection, busy, full; retry
    │   ├── SchemaOutdated      … its schema is older than this release; migrate it
    │   └── SchemaTooNew        … its schema is newer than this release; use a newer release
    └── MalformedZoneFile       the installed time zone data is damaged; reinstall it

Each class carries a stable ``code`` for machines and ``retryable`` for callers that loop.
"""

from __future__ import annotations


class TompionError(Exception):
    """Anything that Tompion raises on purpose."""

    code = "error"
    retryable = False


class InvalidInput(TompionError, ValueError):
    """The caller sent something that cannot be right."""

    code = "invalid_input"


class InvalidSpec(InvalidInput):
    """A spec that cannot be read, or can be read in two ways.

    ``field`` is the path of the offending field (``cron``, ``exclude.windows``), ``position`` the index of the
    offending character in ``text``, ``expected`` what would have been accepted there, and ``hint`` the likely
    intention.  ``str()`` puts all of it on one line.
    """

    code = "invalid_spec"

    def __init__(  # noqa: PLR0913 - an error that explains itself has that many things to say
        self,
        problem: str,
        *,
        field: str | None = None,
        position: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
        text: str | None = None,
    ) -> None:
        """Keep each part apart, so that a door can show them in its own way."""
        super().__init__(problem)
        self.problem = problem
        self.field = field
        self.position = position
        self.expected = expected
        self.hint = hint
        self.text = text

    def located(self, *, field: str | None = None, text: str | None = None, shift: int = 0) -> InvalidSpec:
        """Return the same error seen from further out: inside ``field``, ``shift`` characters into ``text``."""
        return type(self)(
            self.problem,
            field=_joined(field, self.field),
            position=None if self.position is None else self.position + shift,
            expected=self.expected,
            hint=self.hint,
            text=text if text is not None else self.text,
        )

    def __str__(self) -> str:
        """One line: field, problem, where, what was expected, what to write instead."""
        line = f"{self.field}: {self.problem}" if self.field else self.problem
        if self.position is not None:
            line += f" at position {self.position + 1}"
        if self.text is not None:
            line += f" of {_shortened(self.text)!r}"
        if self.expected:
            line += f"; expected {self.expected}"
        if self.hint:
            line += f"; {self.hint}"
        return " ".join(line.splitlines())


class UnknownZone(InvalidSpec):
    """A time zone name that the pinned time zone data does not have."""

    code = "unknown_zone"


class InvalidTime(InvalidInput):
    """An instant that is none: naive where an offset is needed, or text that is not a time."""

    code = "invalid_time"


class InvalidField(InvalidInput):
    """A field of a request that cannot be right; ``field`` names it."""

    code = "invalid_field"

    def __init__(self, field: str, problem: str) -> None:
        """Name the field and say what is wrong with it."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class Unauthenticated(TompionError):
    """Nobody knows who asks."""

    code = "unauthenticated"


class Forbidden(TompionError):
    """Whoever asks may not do that."""

    code = "forbidden"


class NotFound(TompionError):
    """There is no such thing, or not for this caller."""

    code = "not_found"


class Conflict(TompionError):
    """The change does not fit what is stored; nothing was written."""

    code = "conflict"


class AlreadyExists(Conflict):
    """The id is taken."""

    code = "already_exists"


class StaleToken(Conflict):
    """The schedule has changed since the caller read it; ``token`` is the present one."""

    code = "stale_token"

    def __init__(self, given: int, token: int, changed: str = "") -> None:
        """Say which token was given and which would have been right, or what else has changed since."""
        why = changed or f"{given} is stale, the schedule is at {token}"
        super().__init__(f"token: {why}; read it again, then decide again")
        self.field = "token"
        self.given = given
        self.token = token


class ScheduleClosed(Conflict):
    """The schedule has been deleted; it can be read, or created again."""

    code = "schedule_closed"


class RequestReused(Conflict):
    """A request id that was used for another request before."""

    code = "request_reused"


class StaleReport(Conflict):
    """A word about an attempt that is no longer the current one, or about a run that is over."""

    code = "stale_report"


class LaunchError(TompionError):
    """A run that could not even begin."""

    code = "launch_error"
    retryable = True


class LaunchRefused(LaunchError):
    """A run that could not begin, and could not the next time."""

    code = "launch_refused"
    retryable = False


class StoreError(TompionError):
    """The store cannot be used as it is."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store cannot be reached, is busy or is full; the same call may succeed later."""

    code = "store_unavailable"
    retryable = True


class SchemaOutdated(StoreError):
    """The store has to be migrated before this release can use it."""

    code = "schema_outdated"


class SchemaTooNew(StoreError):
    """The store was migrated by a newer release; nothing was written."""

    code = "schema_too_new"


class LimitExceeded(TompionError):
    """A named limit was reached; the message names it."""

    code = "limit_exceeded"


class TooManyRequests(TompionError):
    """A service is asked more often than it allows; the same call may succeed in a moment."""

    code = "too_many_requests"
    retryable = True


class OutcomeUnknown(TompionError):
    """A change that was sent to a service, and whose answer was lost: it may have happened, or not.

    Only changes that carry no request id end like this; the others are sent again, and done once.
    """

    code = "outcome_unknown"


class MalformedZoneFile(TompionError):
    """A file of the time zone package that is not what RFC 9636 describes."""

    code = "malformed_zone_file"


def display(value: object, limit: int = 60) -> str:
    """Return any value as it may stand in a message: quoted, shortened, and never an error of its own."""
    if isinstance(value, str):
        return repr(_shortened(value, limit))
    if isinstance(value, int) and abs(value) >= 10**limit:
        return "a huge number"
    try:
        return _shortened(repr(value), limit)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"


def _joined(outer: str | None, inner: str | None) -> str | None:
    if outer and inner:
        return outer + inner if inner.startswith("[") else f"{outer}.{inner}"
    return outer or inner


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
