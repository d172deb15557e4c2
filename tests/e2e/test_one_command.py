"""Each of these needs one file or one command, as a user types it: a crontab, an HTTP job and a Celery task."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.documentation.pages import run_service, soon
from tests.documentation.test_migration_from_other_schedulers import worker
from tests.e2e.test_shell_how_to import environment_for_shell, shell

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
CRONTAB = """
30 2 * * *      {home}/backup --all
*/15 * * * *    {home}/sync-orders
0 6 * * 1-5     {home}/report --to sales@example.org
0 0 1 * *       {home}/rotate-keys
@hourly         {home}/warm-up
"""
TASKS = """
import os

from celery import Celery

celery = Celery("tasks", broker=os.environ["BROKER"], backend=os.environ["BROKER"])


@celery.task(name="report")
def report(city, currency="EUR"):
    return f"{city} in {currency}"
"""


class CommandShell:
    """Runs command lines against a service."""

    def __init__(self, home: Path, url: str) -> None:
        self._home = home
        self._environment = environment_for_shell(home, TOMPION_URL=url)

    def __call__(self, line: str) -> str:
        """Return the output of a command that succeeds."""
        process = shell(line, self._home, self._environment)
        assert process.returncode == 0, process.stderr
        return process.stdout

    def finished_run(self, schedule_id: str) -> dict[str, Any]:
        """Trigger a schedule and return its run when it has ended."""
        run_id = self(f"tompion schedules trigger {schedule_id}").strip()
        runs: list[dict[str, Any]] = []

        def is_finished() -> bool:
            runs.append(json.loads(self(f"tompion runs get {run_id} -o json")))
            return runs[-1]["finished_at"] is not None

        assert soon(is_finished), runs[-1]
        return runs[-1]


def test_five_lines_of_a_crontab_move_over_with_one_file_and_one_command(tmp_path: Path) -> None:
    lines = CRONTAB.format(home=tmp_path).strip().splitlines()
    jobs = {}
    for line in lines:
        count = 1 if line.startswith("@") else 5
        words = line.split()
        jobs[Path(words[count]).name] = (" ".join(words[:count]), words[count:])
    blocks = ["[executors.command.commands]"]
    for name, (_, argv) in jobs.items():
        (tmp_path / name).write_text('#!/bin/sh\necho "$0 $*"\n')
        (tmp_path / name).chmod(0o755)
        blocks.append(f"{name} = {json.dumps(argv)}")
    for name, (cron, _) in jobs.items():
        blocks.append(f'[[schedule]]\nid = "{name}"\ncron = "{cron}"\ncommand = "{name}"')
    (tmp_path / "tompion.toml").write_text("\n".join(blocks))
    with run_service(tmp_path) as url:
        command = CommandShell(tmp_path, url)
        schedules = json.loads(command("tompion schedules list -o json"))["items"]
        assert {item["schedule_id"]: item["cron"] for item in schedules} == {
            name: [cron] for name, (cron, _) in jobs.items()
        }
        run = command.finished_run("report")
        assert (run["status"], run["result"]) == ("SUCCESS", " ".join(jobs["report"][1]))


class Receiver(BaseHTTPRequestHandler):
    """Answers the three quick tries of the first attempt with 503, and the others with 200."""

    requests: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append((dict(self.headers), body))
        self.send_response(503 if len(self.requests) <= 3 else 200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    Receiver.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"127.0.0.1:{server.server_address[1]}", Receiver.requests
        server.shutdown()


def test_an_http_job_with_retry_and_signature_is_one_command(
    tmp_path: Path, receiver: tuple[str, list[tuple[dict[str, str], bytes]]]
) -> None:
    place, requests = receiver
    (tmp_path / "tompion.toml").write_text(
        f'[executors.http]\nallow = ["{place}"]\nsecrets = {{ shop = "{SECRET}" }}\n'
    )
    with run_service(tmp_path) as url:
        command = CommandShell(tmp_path, url)
        command(
            "tompion schedules create orders --every 10m --max-attempts 3 --retry-delay-ms 100 "
            f"--http http://{place}/orders --body '{{\"shop\": 7}}' --secret shop"
        )
        run = command.finished_run("orders")
    assert (run["status"], run["attempt"]) == ("SUCCESS", 2)
    assert len(requests) == 4
    for headers, body in requests:
        assert Webhook(SECRET).verify(body, {name.lower(): value for name, value in headers.items()}) == {"shop": 7}


@pytest.mark.server
def test_a_celery_task_with_keyword_arguments_is_one_command(tmp_path: Path, valkey_url: str) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "tompion.toml").write_text(f'[executors.celery]\nbroker = "{valkey_url}"\nbackend = "{valkey_url}"\n')
    with worker(tmp_path, "tasks", valkey_url), run_service(tmp_path) as url:
        command = CommandShell(tmp_path, url)
        command("tompion schedules create report --cron @daily --celery report --arg Berlin --kwarg currency=CHF")
        run = command.finished_run("report")
    assert (run["status"], run["result"]) == ("SUCCESS", "Berlin in CHF")
