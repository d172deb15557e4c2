"""The contract of an executor."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from foliot.model.run import RunRow, RunState, idempotency_key
from foliot.model.schedule import Action

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNREAD = object()


def nobody_asks(waits: bool) -> None:
    """Take notice that a launch waits, or no longer does, where no deadline depends on it."""


class Launch:
    """One attempt at a run, as its executor and the user's function see it.

    What costs something is worked out when it is asked for: most functions want none of it.  An executor that has no
    room yet calls ``waits(True)``, and ``waits(False)`` when the run really begins: ``max_execution_ms`` counts from
    then.  Both are called on the event loop that runs the executor.
    """

    __slots__ = ("_payload", "_row", "_text", "action", "document", "namespace", "schedule_id", "waits")

    def __init__(  # noqa: PLR0913 - what a run is made of
        self,
        row: RunRow,
        namespace: str,
        schedule_id: str,
        action: Action,
        payload: str | None = None,
        document: Any = None,
        waits: Callable[[bool], None] = nobody_asks,
    ) -> None:
        """Take the run as the ledger has it, and the payload as JSON."""
        self._row = row
        self._text = payload
        self._payload: Any = UNREAD
        self.waits = waits
        self.namespace = namespace
        self.schedule_id = schedule_id
        self.action = action
        self.document = document

    @property
    def key(self) -> str:
        """Return the key that is the same for every attempt: whoever must not act twice remembers it."""
        row = self._row
        return idempotency_key(self.namespace, self.schedule_id, row.source, row.nominal_s, row.origin, row.request_id)

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
    def payload(self) -> Any:
        """Return what the schedule or the trigger passes on."""
        if self._payload is UNREAD:
            self._payload = None if self._text is None else json.loads(self._text)
        return self._payload

    @property
    def user_id(self) -> str | None:
        """Return on whose behalf the run starts."""
        return self.action.user_id

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a function pass it on to another process, which is not asked about waiting."""
        return Launch, (self._row, self.namespace, self.schedule_id, self.action, self._text, self.document)

    def __repr__(self) -> str:
        """Return which run it is, and which attempt."""
        return f"<run {self.run_id} of {self.schedule_id!r}, attempt {self.attempt}>"


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended; ``result`` is JSON."""

    state: RunState = RunState.SUCCESS
    result: str | None = None
    error: str | None = None
    execution_id: str | None = None


class Executor(Protocol):
    """Something that executes runs."""

    async def run(self, launch: Launch) -> Ended:
        """Execute and say how it ended.  Raises :class:`~foliot.errors.LaunchError` if it could not even begin."""
        ...

    def close(self) -> None:
        """Let go of threads and connections."""
        ...
