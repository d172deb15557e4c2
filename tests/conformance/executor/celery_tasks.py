"""The Celery app of the tests: its tasks leave a mark for each time that they are executed."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, current_task
from redis import Redis

URL = os.environ.get("TOMPION_TEST_REDIS", "redis://127.0.0.1:1/0")
app = Celery("tests", broker=URL, backend=URL)
app.conf.update(task_track_started=True, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


def mark(key: str, what: str) -> None:
    """Leave a mark, and the id of the task that leaves it."""
    redis = Redis.from_url(URL)
    redis.rpush(f"ids:{key}", current_task.request.id)
    redis.rpush(f"marks:{key}", what)


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def work(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> Any:
    """Say what it was given."""
    mark(meta["idempotency_key"], "worked")
    return {"dag": dag, "payload": meta["payload"], "token": callback["token"]}


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def fail(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> None:
    """Fail."""
    mark(meta["idempotency_key"], "failed")
    raise ValueError("no luck today")


@app.task  # type: ignore[untyped-decorator]  # Celery has no types
def hold(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> None:
    """Begin, and never end."""
    mark(meta["idempotency_key"], "begun")
    Redis.from_url(URL).blpop(["never"], 0)


@app.task(name=f"{__name__}.retry", bind=True, max_retries=0)  # type: ignore[untyped-decorator]  # Celery has no types
def retry(self: Any, **given: Any) -> None:
    """Give up in Celery's own way."""
    raise self.retry(countdown=0)
