"""A bare FastAPI application of the same shape: the same addresses, typed bodies and answers, and a dict for a store.

``python -m bench.rest.bare_app`` prints its address.
"""

from __future__ import annotations

import socket
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

HOST = "127.0.0.1"


class Document(BaseModel):
    """The body of a PUT."""

    cron: str
    timezone: str | None = None
    function: str | None = None
    overlap_policy: str = "skip"
    catchup_policy: str = "none"
    labels: dict[str, str] = {}
    payload: Any = None


class Definition(BaseModel):
    """A schedule."""

    spec: dict[str, Any]
    function: str | None
    labels: dict[str, str]


class Counters(BaseModel):
    """The counters of a schedule."""

    starts: int = 0
    successes: int = 0
    failures: int = 0
    skipped: int = 0
    missed: int = 0


class Schedule(BaseModel):
    """The response of a GET, with as many fields as that of Tompion."""

    namespace: str = "default"
    schedule_id: str
    state: str = "active"
    version: int = 1
    token: int = 1
    definition: Definition
    cursor: str = "2026-11-16T12:00:00Z"
    next_run_at: str | None = "2026-11-17T08:00:00Z"
    next_fire_at: str | None = "2026-11-17T08:00:00Z"
    in_flight: int = 0
    waiting: int = 0
    remaining_actions: int | None = None
    consecutive_failures: int = 0
    counters: Counters = Counters()
    paused_by: str | None = None
    pause_note: str | None = None
    paused_at: str | None = None
    paused_until: str | None = None
    created_at: str = "2026-11-16T12:00:00Z"
    updated_at: str = "2026-11-16T12:00:00Z"
    degraded: str | None = None


def build() -> FastAPI:
    """Return the application."""
    app = FastAPI()
    kept: dict[str, Schedule] = {}

    @app.put("/api/v1/schedules/{schedule_id}")
    async def put(schedule_id: str, document: Document) -> Schedule:
        spec = {"cron": [document.cron], "timezone": document.timezone}
        definition = Definition(spec=spec, function=document.function, labels=document.labels)
        kept[schedule_id] = Schedule(schedule_id=schedule_id, definition=definition)
        return kept[schedule_id]

    @app.get("/api/v1/schedules/{schedule_id}")
    async def get(schedule_id: str) -> Schedule:
        if schedule_id not in kept:
            raise HTTPException(404)
        return kept[schedule_id]

    return app


def main() -> None:
    """Serve on a free port and print it."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or it would wait to send
    listening.bind((HOST, 0))
    listening.listen()
    print(f"http://{HOST}:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(build(), log_level="warning", lifespan="off")).run([listening])


if __name__ == "__main__":
    main()
