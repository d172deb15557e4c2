"""The Celery app of the tests. Its tasks record each execution."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, current_task
from redis import Redis

URL = os.environ.get("TOMPION_TEST_REDIS", "redis://127.0.0.1:1/0")
app = Celery("tests", broker=URL, backend=URL)
app.conf.update(task_track_started=True, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


def mark(state: str) -> None:
    """Record an execution and the id of its task, by the key of its run."""
    redis, request = Redis.from_url(URL), current_task.request
    redis.rpush(f"ids:{request.tompion['idempotency_key']}", request.id)
    redis.rpush(f"marks:{request.tompion['idempotency_key']}", state)


@app.task(name=f"{__name__}.work", bind=True)  # type: ignore[untyped-decorator]  # Celery has no types
def work(self: Any) -> Any:
    """Return the DAG, the payload and the token of the run."""
    mark("worked")
    run = self.request.tompion
    return {"dag": run.get("dag"), "payload": run.get("payload"), "token": run["callback_token"]}


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def close_day(city: str, *, dry: bool = False) -> str:
    """Return the arguments, as a task does that is not written for Tompion."""
    return f"{city} {dry}"


@app.task(name=f"{__name__}.describe", bind=True)  # type: ignore[untyped-decorator]  # Celery has no types
def describe(self: Any) -> Any:
    """Return the header that describes the run."""
    return self.request.tompion


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def fail() -> None:
    """Fail."""
    mark("failed")
    raise ValueError("no luck today")


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def hold() -> None:
    """Start, and never end."""
    mark("started")
    Redis.from_url(URL).blpop(["never"], 0)


@app.task(name=f"{__name__}.retry", bind=True, max_retries=0)  # type: ignore[untyped-decorator]  # Celery has no types
def retry(self: Any, **_: Any) -> None:
    """Fail with Celery's own retry error."""
    raise self.retry(countdown=0)
