"""The Celery app of the tests. Its tasks record each execution."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, current_task
from redis import Redis

URL = os.environ.get("TOMPION_TEST_REDIS", "redis://127.0.0.1:1/0")
app = Celery("tests", broker=URL, backend=URL)
app.conf.update(task_track_started=True, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


def mark(key: str, state: str) -> None:
    """Record an execution and the id of its task."""
    redis = Redis.from_url(URL)
    redis.rpush(f"ids:{key}", current_task.request.id)
    redis.rpush(f"marks:{key}", state)


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def work(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> Any:
    """Return the arguments."""
    mark(meta["idempotency_key"], "worked")
    return {"dag": dag, "payload": meta["payload"], "token": callback["token"]}


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def fail(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> None:
    """Fail."""
    mark(meta["idempotency_key"], "failed")
    raise ValueError("no luck today")


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def hold(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> None:
    """Start, and never end."""
    mark(meta["idempotency_key"], "started")
    Redis.from_url(URL).blpop(["never"], 0)


@app.task(name=f"{__name__}.retry", bind=True, max_retries=0)  # type: ignore[untyped-decorator]  # Celery has no types
def retry(self: Any, **_: Any) -> None:
    """Fail with Celery's own retry error."""
    raise self.retry(countdown=0)
