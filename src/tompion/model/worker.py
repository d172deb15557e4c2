"""What a worker that is connected over a network is told, and says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tompion.model.schedule import Action


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that may ask for runs, how often something must be heard of it, and how long it is waited for."""

    worker_id: int
    name: str
    heartbeat_ms: int
    lease_ms: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A run that a worker has been given; ``token`` is what it shows when it speaks of it.

    ``traceparent`` is what its function hands on, if the service writes traces.
    """

    run_id: str
    token: str
    attempt: int
    failures: int
    namespace: str
    schedule_id: str
    source: str
    scheduled_for: datetime
    request_id: str | None
    action: Action
    payload: Any
    max_execution_ms: int | None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatAck:
    """The answer to a worker's heartbeat: the tokens of runs that are to end, and of those that are not its own."""

    to_cancel: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InstanceInfo:
    """A process that runs an engine, or a worker without a store; ``alive`` is one that was heard of lately."""

    instance_id: int
    name: str
    kind: str
    release: str
    queues: tuple[str, ...]
    alive: bool
    started_at: datetime
    last_heartbeat_at: datetime
    stopped_at: datetime | None
    skew_ms: int


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: whether it is paused, how many serve it, and how many runs wait, for these or for a pause to end."""

    queue: str
    paused: bool
    served_by: int
    waiting: int
    waiting_since: datetime | None
