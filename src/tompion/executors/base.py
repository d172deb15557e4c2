"""The contract of an executor: what it receives and what it returns."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from tompion.encoding.bounded_text import json_value
from tompion.encoding.instant import datetime_s
from tompion.errors import LaunchRefused
from tompion.model.run import RunRow, RunState, idempotency_key
from tompion.model.schedule import Action
from tompion.model.sql_call import SqlCall

UNPARSED = object()
NO_OPTIONS: Mapping[str, Any] = {}
Previous: TypeAlias = tuple[str | None, str | None]
"""The execution ids of the schedule's last success and, if that is later, of its last failure."""
MAX_PROGRESS_BYTES = 4_096


def ignore_wait(is_waiting: bool) -> None:
    """Ignore that a run waits, because it has no deadline."""


class RunSignals:
    """Signals between an attempt and the worker that supervises it."""

    __slots__ = ("progress", "should_continue")

    def __init__(self) -> None:
        self.should_continue: bool = True
        """False once the attempt was cancelled, timed out, or lost to another worker."""
        self.progress: str | None = None


def no_token(_subject: str) -> str:
    """Return an empty token, for processes that accept no callbacks."""
    return ""


class RunContext:
    """One attempt at a run, as its executor and the user's function see it.

    Derived values are computed on first access, because most functions need none of them. An executor without a free
    slot calls ``on_wait(True)``, and ``on_wait(False)`` when the run starts: ``max_execution_ms`` counts from then. It
    calls both on its own event loop. ``traceparent`` is the trace context to pass to the target.
    """

    __slots__ = (
        "_key", "_payload", "_row", "_text", "action", "namespace", "on_wait", "options", "previous", "schedule_id",
        "sign", "signals", "traceparent",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - the fields of a run
        self,
        row: RunRow,
        namespace: str,
        schedule_id: str,
        action: Action,
        payload: str | None = None,
        options: Mapping[str, Any] = NO_OPTIONS,
        on_wait: Callable[[bool], None] = ignore_wait,
        sign: Callable[[str], str] = no_token,
        signals: RunSignals | None = None,
    ) -> None:
        self._row = row
        self._text = payload
        self._payload: Any = UNPARSED
        self._key: str | None = None
        self.options: Mapping[str, Any] = options
        self.on_wait: Callable[[bool], None] = on_wait
        self.sign: Callable[[str], str] = sign
        self.signals: RunSignals = signals or RunSignals()
        self.previous: Previous = (None, None)
        self.traceparent: str | None = None
        self.namespace: str = namespace
        self.schedule_id: str = schedule_id
        self.action: Action = action

    @property
    def idempotency_key(self) -> str:
        """Return the idempotency key. It is the same for every attempt of a run."""
        if self._key is None:
            row = self._row
            names = (self.namespace, self.schedule_id)
            self._key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
        return self._key

    @property
    def run_id(self) -> str:
        """Return the id of the run."""
        return str(self._row.id)

    @property
    def source(self) -> str:
        """Return why the run exists: ``schedule``, ``trigger`` or ``backfill``."""
        return self._row.source

    @property
    def run_at(self) -> datetime:
        """Return the nominal time of the run."""
        return datetime_s(self._row.nominal_s)

    @property
    def attempt(self) -> int:
        """Return the number of this attempt. The first is 1."""
        return self._row.attempt

    @property
    def failures(self) -> int:
        """Return how often the run has failed. A lost worker does not count as a failure."""
        return self._row.failures

    @property
    def delivery_id(self) -> str:
        """Return the key, followed by the number of failures, if any. A target must accept each value once."""
        return f"{self.idempotency_key}.{self.failures}" if self.failures else self.idempotency_key

    @property
    def payload(self) -> Any:
        """Return the payload of the schedule or the trigger."""
        if self._payload is UNPARSED:
            self._payload = None if self._text is None else json.loads(self._text)
        return self._payload

    @property
    def user_id(self) -> str | None:
        """Return the id of the user who owns the run."""
        return self.action.user_id

    @property
    def should_continue(self) -> bool:
        """Return whether the run should continue. A synchronous function, which cannot be interrupted, checks this."""
        return self.signals.should_continue

    def heartbeat(self) -> bool:
        """Send a heartbeat. Return whether the run should continue."""
        return self.should_continue

    def progress(self, value: Any) -> bool:
        """Record the progress of the run. Return whether the run should continue."""
        self.signals.progress = json_value(value, MAX_PROGRESS_BYTES)
        return self.should_continue

    @property
    def token(self) -> str:
        """Return the callback token. It is valid for this attempt of this run only."""
        return self.sign(f"{self.run_id}.{self.attempt}")

    @property
    def meta(self) -> dict[str, Any]:
        """Return the run as JSON data for a target. It has a ``traceparent`` only if the run is traced."""
        trace_fields = {} if self.traceparent is None else {"traceparent": self.traceparent}
        return {
            "source": self.source,
            "user_id": self.user_id,
            "scheduled_for": self.run_at.isoformat(),
            "idempotency_key": self.idempotency_key,
            "namespace": self.namespace,
            "schedule_id": self.schedule_id,
            "run_id": self.run_id,
            "attempt": self.attempt,
            "workflow_id": self.action.workflow_id,
            "workflow_version": self.action.workflow_version,
            "payload": self.payload,
            **trace_fields,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, so that a function can pass the run to another process. Callbacks are not pickled."""
        arguments = (self._row, self.namespace, self.schedule_id, self.action, self._text, dict(self.options))
        return RunContext, arguments, (None, {"traceparent": self.traceparent})

    def __repr__(self) -> str:
        """Return the run id, the schedule id and the attempt."""
        return f"<run {self.run_id} of {self.schedule_id!r}, attempt {self.attempt}>"


@dataclass(frozen=True, slots=True)
class Completed:
    """The outcome of an attempt. ``result`` is JSON. ``exception`` is logged with its traceback and not stored."""

    state: RunState = RunState.SUCCESS
    result: str | None = None
    error: str | None = None
    execution_id: str | None = None
    exception: BaseException | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The target has accepted the run and will report its outcome. The worker no longer supervises it."""

    execution_id: str | None = None


class Executor(ABC):
    """Executes runs.

    ``run`` returns the outcome of a run, or :class:`Accepted` if the target will report it.  It may be called again for
    the same run, with the same key, in this process or in another one, after a worker has died or stopped.  A target
    that receives the same key twice must act once.

    Cancelling the task means that this process no longer supervises the run.  For an executor that is ``remote``, the
    run itself continues: ``cancel`` and ``terminate`` end it.
    """

    remote = False
    """Whether runs continue without this process."""
    wants_previous = False
    """Whether it passes on the result of the previous run. ``RunContext.previous`` then has its execution ids."""
    max_active = 0
    """The maximum number of concurrent runs. 0 means no limit."""
    max_per_target = 0
    """The maximum number of concurrent runs per target. 0 means no limit."""

    @abstractmethod
    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Execute a run. ``dag`` is the document of its workflow.

        Raises :class:`~tompion.errors.TargetUnreachable` if the run did not reach its target,
        :class:`~tompion.errors.LaunchError` if it could not start for another reason and a retry may help, and
        :class:`~tompion.errors.LaunchRefused` if a retry is useless.
        """

    def target(self, dag: Any, run_context: RunContext) -> str:
        """Return the target of a run. Each target has its own concurrency limit."""
        return ""

    def address(self, dag: Any, run_context: RunContext) -> str:
        """Return the address of the target. While it cannot be reached, launches to the same address wait."""
        return self.target(dag, run_context)

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        """Request the cancellation of a remote run. Return whether ``run`` or the target will report the outcome."""
        return False

    async def terminate(self, dag: Any, run_context: RunContext, execution_id: str | None) -> None:  # noqa: B027 - optional for most executors
        """End a remote run by force."""

    async def aclose(self) -> None:  # noqa: B027 - optional for most executors
        """Close threads and connections."""


class TransactionalExecutor(Executor):
    """Executes a run in the transaction that records it: both are committed, or neither is.

    It sends nothing and waits for nothing.  It describes the SQL call and interprets the returned value.  The engine
    makes the call, provided that its store is PostgreSQL.
    """

    timeout_ms = 1_000
    """The timeout of one call. The transaction holds its locks meanwhile."""

    @abstractmethod
    def call(self, dag: Any, run_context: RunContext) -> SqlCall:
        """Return the SQL call for a run. Raises :class:`~tompion.errors.LaunchRefused` for invalid options."""

    @abstractmethod
    def outcome_of_call(self, run_context: RunContext, answer: str | None) -> Completed | Accepted:
        """Return the outcome of a call that was made: completed, or accepted if the target will report."""

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Raise, because a run outside of a transaction is not supported."""
        raise LaunchRefused(
            "the executor needs a PostgreSQL store, and this engine has another one: "
            "use a store at postgresql://…, or choose another executor for the workflow"
        )
