"""Logs as JSON: one object per line, with all known fields and no secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tompion.cli.logging.json import ENGINE, JsonLog
from tompion.cli.logging.queue import level_of
from tompion.cli.logging.text import TextLog
from tompion.engine.telemetry.events import Event
from tompion.testing.clock import ManualClock

NOON = 1_774_699_200  # 2026-03-28T12:00:00Z


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON + 0.25)


@pytest.fixture(autouse=True)
def _root_log() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    root.handlers[:] = before


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_event_is_an_object_with_all_its_fields(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLog(clock)
    lines(
        Event(
            "ended",
            "report",
            "FAILED: no\nluck",
            NOON,
            "team",
            run_id="1-2-0",
            key="ab",
            source="schedule",
            state="FAILED",
            reason="launch_failed",
            attempt=2,
            error="no",
            trace_id="cd",
        )
    )
    (message,) = printed(capsys)
    assert message.pop("instance")
    assert message == {
        "timestamp": "2026-03-28T12:00:00.250+00:00",
        "level": "warning",
        "event": "ended",
        "message": "FAILED: no\nluck",
        "schedule_id": "report",
        "nominal": "2026-03-28T12:00:00+00:00",
        "namespace": "team",
        "run_id": "1-2-0",
        "key": "ab",
        "source": "schedule",
        "state": "FAILED",
        "reason": "launch_failed",
        "attempt": 2,
        "error": "no",
        "trace_id": "cd",
    }


def test_unknown_fields_are_omitted(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLog(clock)
    lines.say("hello")
    lines.warn("careful")
    lines.request("GET", "/api/v1/schedules", 200, 0.0123, "7f3a")
    first, second, third = printed(capsys)
    assert set(first) == {"timestamp", "level", "event", "instance", "message"}
    assert (second["level"], second["event"]) == ("warning", "process")
    assert (third["event"], third["path"], third["status"], third["duration_ms"]) == (
        "request", "/api/v1/schedules", 200, 12.3,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_both_formats_respect_the_log_level(clock: ManualClock, capsys: pytest.CaptureFixture[str], level: str) -> None:
    events = [
        Event("launched", "report", "schedule", NOON),
        Event("missed", "report", "3 ticks: missed", NOON),
        Event("ended", "report", "FAILED: no", NOON),
        Event("warning", "", "careful"),
    ]
    wanted = {"debug": 4, "info": 4, "warning": 3, "error": 0}[level]
    lines = JsonLog(clock, level)
    for event in events:
        lines(event)
    assert len(printed(capsys)) == wanted
    text = TextLog(clock, level=level)
    for event in events:
        text(event)
    assert len(capsys.readouterr().out.splitlines()) == wanted
    assert level_of(events[0]) == "info"


def test_log_records_are_json_and_printed_once(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLog(clock)
    log = logging.getLogger(ENGINE)
    log.warning("the engine has logged this already")
    lines(Event("error", "", "the log record has the traceback"))
    log.error("an internal error", exc_info=ValueError("a defect"))
    logging.getLogger("some.library").warning("beware")
    error, library = printed(capsys)
    assert (error["level"], error["message"]) == ("error", "an internal error")
    assert "ValueError: a defect" in error["exception"]
    assert (library["logger"], library["message"]) == ("some.library", "beware")


def test_a_closed_pipe_does_not_raise(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    JsonLog(clock)(Event("launched", "report", "schedule", NOON))


def test_a_skipped_tick_is_logged_with_its_reason(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    TextLog(clock)(Event("skipped", "report", "overlap", NOON))
    assert capsys.readouterr().out.rstrip().endswith("skipped   12:00:00Z overlap")
