"""Messages between the service and remote workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tompion.model.schedule import Action


@dataclass(frozen=True, slots=True)
class Worker:
    """A registered remote worker, its heartbeat interval, and the length of its leases."""

    worker_id: int
    name: str
    heartbeat_ms: int
    lease_ms: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A run that a worker has claimed. ``token`` identifies it in later requests.

    ``traceparent`` is set if the service records traces.
    """

    run_id: str
    token: str
    attempt: int
    failures: int
    namespace: str
    schedule_id: str
    source: str
    run_at: datetime
    request_id: str | None
    action: Action
    payload: Any
    max_execution_ms: int | None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatAck:
    """The response to a worker's heartbeat: tokens of runs to cancel, and of runs that it no longer holds."""

    to_cancel: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InstanceInfo:
    """An engine or a remote worker. ``alive`` is true if it sent a heartbeat recently."""

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
    """A queue: whether it is paused, the number of instances that serve it, and its waiting runs."""

    queue: str
    paused: bool
    served_by: int
    waiting: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True)
class ReportAck:
    """The answer to a report: its run, and whether the run should end."""

    run_id: str
    cancel_requested: bool
