"""Logs as JSON: one object per line, with all known fields and no secrets."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tompion import Tompion
from tompion.cli.logging.json import JsonLog
from tompion.cli.logging.queue import level_of
from tompion.cli.logging.records import capture_logging
from tompion.cli.logging.text import TextLog
from tompion.engine.telemetry.events import ENGINE_LOGGER, EngineEvents, Event
from tompion.testing import Rehearsal
from tompion.testing.clock import ManualClock

NOON = 1_774_699_200  # 2026-03-28T12:00:00Z


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON + 0.25)


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
            idempotency_key="ab",
            source="schedule",
            status="FAILED",
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
        "run_at": "2026-03-28T12:00:00+00:00",
        "namespace": "team",
        "run_id": "1-2-0",
        "idempotency_key": "ab",
        "source": "schedule",
        "status": "FAILED",
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
    capture_logging(lines, "info")
    events = EngineEvents(lines)
    events.warn("this clock is off")
    events.report_error("cannot fire", ValueError("no luck"))
    logging.getLogger("some.library").warning("beware of %s", "dogs")
    warning, error, library = printed(capsys)
    assert (warning["event"], warning["message"]) == ("warning", "this clock is off")
    assert (error["event"], error["level"], error["logger"]) == ("log", "error", ENGINE_LOGGER)
    assert "ValueError: no luck" in error["exception"]
    assert (library["logger"], library["message"]) == ("some.library", "beware of dogs")


def test_run_events_are_printed_by_the_listener_only(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLog(clock)
    capture_logging(lines, "info")
    EngineEvents(lines).emit("missed", "report", "3 ticks: missed")
    (line,) = printed(capsys)
    assert (line["event"], line["message"]) == ("missed", "3 ticks: missed")


@pytest.mark.parametrize(("level", "expected"), [("debug", 3), ("info", 2), ("warning", 1), ("error", 0)])
def test_records_of_user_code_respect_the_log_level(
    clock: ManualClock, capsys: pytest.CaptureFixture[str], level: str, expected: int
) -> None:
    capture_logging(JsonLog(clock, level), level)
    for number in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("tasks").log(number, "hello")
    assert len(printed(capsys)) == expected


def test_record_of_a_run_has_its_schedule_and_run_id(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    def report() -> None:
        logging.getLogger("tasks").info("working")

    app = Tompion()
    app.schedule("0 9 * * *", schedule_id="report")(report)
    capture_logging(JsonLog(clock), "info")
    with Rehearsal(app, at="2026-03-28T00:00:00Z") as rehearsal:
        rehearsal.advance("10h")
        (run,) = rehearsal.all_runs("report")
    (line,) = printed(capsys)
    assert (line["schedule_id"], line["run_id"], line["attempt"]) == ("report", run.run_id, 1)
    assert (line["message"], line["logger"], line["namespace"]) == ("working", "tasks", "default")


def test_text_log_prints_a_record_in_a_line_and_its_traceback_below(
    clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    capture_logging(TextLog(clock), "info")
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        logging.getLogger("tasks").exception("no luck", extra={"schedule_id": "report"})
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "2026-03-28 12:00:00Z report             error     tasks: no luck"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1].startswith("ZeroDivisionError: ")
    assert err == ""


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
