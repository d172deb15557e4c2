"""Notifications for an operator: a file, a worker, a receiver, and the commands that list deliveries."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from tests.support.executors import Server, http_server
from tompion import Tompion

SECONDS = 120
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
FILE = """
store = "sqlite:///jobs.db"
ping_url = "{url}/ping/secret-word"
ping_every_s = 1

[limits]
tick_ms = 100

[[notification]]
name = "ops"
url = "{url}/hook"
secret_env = "OPS_SECRET"
on = ["failed"]
allow = ["{allow}"]
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with http_server() as created:
        yield created


@pytest.fixture
def home(tmp_path: Path, server: Server) -> Path:
    (tmp_path / "tasks.py").write_text("def boom():\n    raise ValueError('it broke')\n")
    (tmp_path / "tompion.toml").write_text(FILE.format(url=server.url, allow=server.allow))
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "TOMPION_STORE"}, **more}


def tompion(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tompion", *arguments]
    fields = {"OPS_SECRET": SECRET, **more}
    return subprocess.run(
        command, cwd=home, env=environment(**fields), capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_a_worker_notifies_of_a_failure_and_pings(home: Path, server: Server) -> None:
    with Tompion(f"sqlite:///{home}/jobs.db", engine=False) as request:
        request.create("report", cron="0 9 * * *", function="tasks:boom")
        run = request.trigger("report")
    command = [sys.executable, "-m", "tompion", "worker"]
    with subprocess.Popen(command, cwd=home, env=environment(OPS_SECRET=SECRET), stdout=subprocess.DEVNULL) as worker:
        try:
            while {seen.path for seen in server.seen} < {"/hook", "/ping/secret-word"}:
                assert server.arrived.acquire(timeout=SECONDS)
        finally:
            worker.terminate()
        assert worker.wait(SECONDS) == 0
    seen = next(item for item in server.seen if item.path == "/hook")
    message = Webhook(SECRET).verify(seen.body, seen.headers)
    assert (message["type"], message["data"]["run_id"]) == ("tompion.run.failed", run.run_id)
    listed = tompion(home, "notifications", "list", "--store", "sqlite:///jobs.db", "-o", "json")
    (notification,) = json.loads(listed.stdout)["items"]
    assert (notification["notification_id"], notification["topic"]) == (seen.headers["webhook-id"], "failed")
    output = tompion(home, "notifications", "list", "--store", "sqlite:///jobs.db").stdout
    assert output.splitlines()[-1].split()[2:] == ["DELIVERED", "ops", "failed", "report", "1"]


def test_a_test_notification_prints_the_response(home: Path, server: Server) -> None:
    server.answer = lambda _: (200, {}, b"thank you")
    tried = tompion(home, "notifications", "test", "ops")
    assert (tried.returncode, tried.stdout) == (0, "delivered: the receiver responded with 200: thank you\n")
    message = Webhook(SECRET).verify(server.seen[0].body, server.seen[0].headers)
    assert (message["type"], message["data"]) == ("tompion.test", {"notification": "ops"})
    server.answer = lambda _: (500, {}, b"")
    tried = tompion(home, "notifications", "test", "ops")
    assert (tried.returncode, tried.stdout) == (1, "not delivered: the receiver responded with 500\n")
    tried = tompion(home, "notifications", "test", "ops", "-o", "json")
    assert tried.returncode == 1
    assert json.loads(tried.stdout) == {"arrived": False, "message": "the receiver responded with 500"}


def test_wrong_notification_blocks_are_one_line_errors(home: Path) -> None:
    unknown = tompion(home, "notifications", "test", "missing")
    assert unknown.returncode == 2
    assert "no [[notification]] 'missing'" in unknown.stderr
    for command in (["notifications", "test", "ops"], ["worker"]):
        missing = tompion(home, *command, OPS_SECRET="")
        assert missing.returncode == 2
        assert "tompion.toml: [[notification]] ops: secret_env: the environment variable OPS_SECRET is not set" in (
            missing.stderr
        )


def test_config_masks_secrets(home: Path) -> None:
    output = tompion(home, "config").stdout
    assert "secret-word" not in output
    assert SECRET not in output
    assert "notification" in output
    assert json.loads(tompion(home, "config", "-o", "json").stdout)["notifications"] == ["ops"]
