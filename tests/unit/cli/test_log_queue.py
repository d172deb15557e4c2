"""Log lines without a reader. Regression: a full output pipe blocked the engine, and its service did not answer."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest

from tompion.cli.logging import queue
from tompion.cli.logging.queue import QueuedLog
from tompion.engine.telemetry.events import Event

SECONDS = 120


class Reader:
    """Prints when it is released."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.reads = threading.Event()
        self.reads.set()
        self.blocked = threading.Event()

    def __call__(self, event: Event) -> None:
        self.say(event.text)

    def say(self, text: str) -> None:
        if not self.reads.is_set():
            self.blocked.set()
        self.reads.wait(SECONDS)
        self.seen.append(text)

    def warn(self, text: str) -> None:
        self.say(f"warning: {text}")

    def request(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        self.say(f"{method} {path} {status} {request_id}")

    def log_record(self, record: logging.LogRecord) -> None:
        self.say(record.getMessage())


def test_lines_are_printed_in_order() -> None:
    reader = Reader()
    lines = QueuedLog(reader)
    lines.say("a")
    lines(Event("launched", "s", "b"))
    lines.warn("c")
    lines.request("GET", "/", 200, 0.1, "7f3a")
    lines.log_record(logging.makeLogRecord({"msg": "d"}))
    assert lines.finish()
    assert reader.seen == ["a", "b", "warning: c", "GET / 200 7f3a", "d"]


def test_dropped_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MAX_QUEUED_LINES", 3)
    monkeypatch.setattr(queue, "MAX_FLUSH_S", 0.01)
    reader = Reader()
    lines = QueuedLog(reader)
    reader.reads.clear()
    lines.say("first")
    assert reader.blocked.wait(SECONDS)
    for number in range(10):
        lines.say(str(number))
    assert not lines.finish()
    reader.reads.set()
    monkeypatch.setattr(queue, "MAX_FLUSH_S", SECONDS)
    assert lines.finish()
    lines.say("last")
    assert lines.finish()
    assert reader.seen == ["first", "0", "1", "2", "warning: 7 log lines were dropped: the reader is stalled", "last"]


@pytest.mark.server
def test_a_service_keeps_responding_while_its_output_is_not_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tompion", "serve", "--no-engine", "--port", "0", "--store", "sqlite:///s.db"]
    environment = {**os.environ, "TOMPION_ACCESS_LOG": "true"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            url = next(word for word in process.stdout.readline().split() if word.startswith("http"))
            for number in range(1_500):  # about twice what a pipe holds
                assert urlopen(f"{url}/healthz?{'x' * 60}{number}", timeout=SECONDS).status == 200
            process.terminate()
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
