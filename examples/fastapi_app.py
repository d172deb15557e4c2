"""FastAPI: the engine runs as long as the application, and a route lists the runs."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from tompion import AsyncTompion
from tompion.executors.base import RunContext

tompion = AsyncTompion("sqlite:///example-fastapi.db")


@tompion.schedule("* * * * * *", schedule_id="greeting")
async def greet(run: RunContext) -> str:
    return f"hello at {run.run_at:%H:%M:%S}"


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    async with tompion:
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/greetings")
async def greetings() -> list[dict[str, Any]]:
    """The latest runs."""
    page = await tompion.runs.list("greeting", limit=5, status="SUCCESS")
    return [{"run_at": run.run_at, "result": run.result} for run in page.items]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    uvicorn.run(app, port=parser.parse_args().port)
