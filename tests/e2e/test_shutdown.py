"""One Ctrl-C stops a service with open connections and running runs: exit code 130, and no error output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tompion import Tompion
from tompion.client import Client

SECONDS = 120
TASKS = """
def held():
    print("held", flush=True)
    with open("go") as pipe:
        return pipe.read()
"""


@contextmanager
def serving(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service that runs until the test stops it."""
    existing = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=home, text=True, env=existing, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            result = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert result
            yield process, result.group()
        finally:
            process.kill()


def connect(url: str) -> HTTPConnection:
    host, port = url.partition("://")[2].split(":")
    return HTTPConnection(host, int(port), timeout=SECONDS)


def interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (130, "")


@pytest.mark.parametrize("number", range(5))
def test_a_signal_during_startup_stops_the_process(tmp_path: Path, number: int) -> None:
    """Regression: a signal that came while the server installed its handlers was lost."""
    with serving(tmp_path) as (process, _):
        interrupt(process)


def test_shutdown_with_an_open_event_stream(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url):
        listening = connect(url)
        listening.request("GET", "/api/v1/events")
        stream = listening.getresponse()
        assert stream.readline() == b"event: hello\n"
        interrupt(process)
        assert stream.read().startswith(b"data: {}")
        listening.close()


def test_shutdown_with_a_long_polling_worker(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url):
        waiting = connect(url)
        worker = request(waiting, "/api/v1/workers", {"name": "w", "queues": ["before"]})
        send(waiting, f"/api/v1/workers/{worker['worker_id']}/claim", {"queues": ["after"], "wait_ms": 30_000})
        with Client(url) as client:
            while not any(item.queues == ("after",) for item in client.instances.list()):
                assert process.poll() is None
        interrupt(process)
        answer = waiting.getresponse()
        assert (answer.status, json.load(answer)) == (200, [])
        waiting.close()


def test_shutdown_with_a_running_run(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    os.mkfifo(tmp_path / "go")
    with serving(tmp_path) as (process, url):
        with Client(url) as client:
            client.create("report", cron="0 0 1 1 *", function="tasks:held")
            run = client.trigger("report")
        next(line for line in process.stdout or () if line == "held\n")
        process.send_signal(signal.SIGINT)
        next(line for line in process.stdout or () if line.startswith("stopping"))
        (tmp_path / "go").write_text("done")
        _, errors = process.communicate(timeout=SECONDS)
        assert (process.returncode, errors) == (130, "")
    with Tompion(f"sqlite:///{tmp_path / 'tompion.db'}", engine=False) as tompion:
        result = tompion.runs.get(run.run_id)
        assert (result.status, result.result) == ("SUCCESS", "done")


def send(connection: HTTPConnection, path: str, body: object) -> None:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})


def request(connection: HTTPConnection, path: str, body: object) -> Any:
    send(connection, path, body)
    return json.load(connection.getresponse())
