"""The contract of an executor: what it is given, and what it says."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from tompion.errors import LaunchRefused
from tompion.model.codec import json_value
from tompion.model.run import RunRow, RunState, idempotency_key
from tompion.model.schedule import Action
from tompion.model.sql_call import SqlCall

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNREAD = object()
NO_OPTIONS: Mapping[str, Any] = {}
Previous: TypeAlias = tuple[str | None, str | None]
"""The execution ids of the schedule's last success and, if that is later, of its last failure."""
MOST_PROGRESS_BYTES = 4_096


def ignore_wait(waits: bool) -> None:
    """Take notice that a launch waits, or no longer does, where no deadline depends on it."""


class RunSignals:
    """What a run says to whoever looks after it, and hears from there, while it is executed."""

    __slots__ = ("cancelled", "lost", "progress", "unwanted")

    def __init__(self) -> None:
        """Nothing was said yet."""
        self.cancelled: RunState | None = None
        self.lost = False
        self.unwanted = False
        self.progress: str | None = None


def unsigned(_subject: str) -> str:
    """Sign nothing: where nobody can call back, a token is of no use."""
    return ""


class RunContext:
    """One attempt at a run, as its executor and the user's function see it.

    What costs something is worked out when it is asked for: most functions want none of it.  An executor that has no
    room yet calls ``waits(True)``, and ``waits(False)`` when the run really begins: ``max_execution_ms`` counts from
    then.  Both are called on the event loop that runs the executor.  ``traceparent`` is what an executor hands on
    of the trace, if there is one.
    """

    __slots__ = (
        "_key", "_payload", "_row", "_text", "action", "link", "namespace", "options", "previous", "schedule_id",
        "sign", "traceparent", "waits",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - what a run is made of
        self,
        row: RunRow,
        namespace: str,
        schedule_id: str,
        action: Action,
        payload: str | None = None,
        options: Mapping[str, Any] = NO_OPTIONS,
        waits: Callable[[bool], None] = ignore_wait,
        sign: Callable[[str], str] = unsigned,
        link: RunSignals | None = None,
    ) -> None:
        """Take the run as the ledger has it, and the payload as JSON."""
        self._row = row
        self._text = payload
        self._payload: Any = UNREAD
        self._key: str | None = None
        self.options = options
        self.waits = waits
        self.sign = sign
        self.link = link or RunSignals()
        self.previous: Previous = (None, None)
        self.traceparent: str | None = None
        self.namespace = namespace
        self.schedule_id = schedule_id
        self.action = action

    @property
    def key(self) -> str:
        """Return the key that is the same for every attempt: whoever must not act twice remembers it."""
        if self._key is None:
            row = self._row
            names = (self.namespace, self.schedule_id)
            self._key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
        return self._key

    @property
    def run_id(self) -> str:
        """Return the id of the run, as operations show it."""
        return str(self._row.id)

    @property
    def source(self) -> str:
        """Return why the run exists: ``schedule``, ``trigger`` or ``backfill``."""
        return self._row.source

    @property
    def scheduled_for(self) -> datetime:
        """Return the nominal time of the run."""
        return _EPOCH + timedelta(seconds=self._row.nominal_s)

    @property
    def attempt(self) -> int:
        """Return which attempt this is; the first is 1."""
        return self._row.attempt

    @property
    def failures(self) -> int:
        """Return how often the run has failed before; a worker that was lost is no failure."""
        return self._row.failures

    @property
    def delivery_id(self) -> str:
        """Return the key and, after a failure, its number: what a target must not take twice."""
        return f"{self.key}.{self.failures}" if self.failures else self.key

    @property
    def payload(self) -> Any:
        """Return what the schedule or the trigger passes on."""
        if self._payload is UNREAD:
            self._payload = None if self._text is None else json.loads(self._text)
        return self._payload

    @property
    def user_id(self) -> str | None:
        """Return on whose behalf the run starts."""
        return self.action.user_id

    @property
    def is_wanted(self) -> bool:
        """Return whether anybody still wants it to go on; a synchronous function, which cannot be stopped, may look."""
        link = self.link
        return link.cancelled is None and not link.lost and not link.unwanted

    def heartbeat(self) -> bool:
        """Say that it lives; return whether anybody still wants it to go on."""
        return self.is_wanted

    def progress(self, value: Any) -> bool:
        """Say how far it is, for people to look at; return whether anybody still wants it to go on."""
        self.link.progress = json_value(value, MOST_PROGRESS_BYTES)
        return self.is_wanted

    @property
    def token(self) -> str:
        """Return what a target shows when it calls back: it is about this run and this attempt alone."""
        return self.sign(f"{self.run_id}.{self.attempt}")

    @property
    def meta(self) -> dict[str, Any]:
        """Return what a target is told about the run, as JSON can say it; its ``traceparent`` only if it is traced."""
        traced = {} if self.traceparent is None else {"traceparent": self.traceparent}
        return {
            "source": self.source,
            "user_id": self.user_id,
            "scheduled_for": self.scheduled_for.isoformat(),
            "idempotency_key": self.key,
            "namespace": self.namespace,
            "schedule_id": self.schedule_id,
            "run_id": self.run_id,
            "attempt": self.attempt,
            "workflow_id": self.action.workflow_id,
            "workflow_version": self.action.workflow_version,
            "payload": self.payload,
            **traced,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a function pass it on to another process, which is not asked about waiting."""
        made_of = (self._row, self.namespace, self.schedule_id, self.action, self._text, dict(self.options))
        return RunContext, made_of, (None, {"traceparent": self.traceparent})

    def __repr__(self) -> str:
        """Return which run it is, and which attempt."""
        return f"<run {self.run_id} of {self.schedule_id!r}, attempt {self.attempt}>"


@dataclass(frozen=True, slots=True)
class Completed:
    """How an attempt ended; ``result`` is JSON."""

    state: RunState = RunState.SUCCESS
    result: str | None = None
    error: str | None = None
    execution_id: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The target has taken the run and will call back: nobody here looks after it any more."""

    execution_id: str | None = None


class Executor(ABC):
    """Something that executes runs.

    ``run`` says how a run ended, or that the target will say so itself.  It may be called again for a run that it was
    given before, with the same key, in this process or in another one: the worker before has died, or was told to stop.
    A target that is told the same key twice must act once.

    Being cancelled means to look after the run no longer.  For an executor that is ``remote`` it does not mean that the
    run is to end: that is what ``cancel`` and ``terminate`` are for.
    """

    remote = False
    """Whether runs go on without this process."""
    wants_previous = False
    """Whether it hands on what the run before has left: then ``RunContext.previous`` says which that was."""
    max_active = 0
    """The most runs that are executed at a time; 0 is no bound."""
    max_per_target = 0
    """The most runs that one target is given at a time; 0 is no bound."""

    @abstractmethod
    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Execute a run: ``dag`` is its workflow's document, ``meta`` everything else.

        Raises :class:`~tompion.errors.LaunchError` if it could not even begin: it is tried again, a few times; and
        :class:`~tompion.errors.LaunchRefused` if that is of no use.
        """

    def target(self, dag: Any, meta: RunContext) -> str:
        """Return which of its targets a run goes to; each is bounded by itself."""
        return ""

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        """Ask a remote run to end.  Return whether ``run``, or the target, will say how it did."""
        return False

    async def terminate(self, dag: Any, meta: RunContext, execution_id: str | None) -> None:  # noqa: B027 - most need not
        """End a remote run by force."""

    async def aclose(self) -> None:  # noqa: B027 - most need not
        """Let go of threads and connections."""


class TransactionalExecutor(Executor):
    """Something that takes a run in the very transaction that records it: both are there, or neither is.

    So nothing is sent, and nobody is waited for.  It says what the database is to call, and what the answer means; an
    engine whose store is such a database does the rest.
    """

    timeout_ms = 1_000
    """The longest that one call may take: meanwhile the transaction keeps others waiting."""

    @abstractmethod
    def call(self, dag: Any, meta: RunContext) -> SqlCall:
        """Return the call that a run is.  Raises :class:`~tompion.errors.LaunchRefused` if it can be none."""

    @abstractmethod
    def called(self, meta: RunContext, answer: str | None) -> Completed | Accepted:
        """Return what it means that the call was made: all there is to do, or that the target will report."""

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Refuse: whoever asks has no transaction."""
        raise LaunchRefused(
            "its runs are part of a PostgreSQL transaction, and this engine has none: "
            "open its store by postgresql://…, or let the workflow name another executor"
        )
