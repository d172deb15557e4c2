"""The text log and the stop signals of a worker, in this process. ``tests/e2e`` starts real workers."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from rich.cells import cell_len

from tompion.cli.commands.worker import exit_process, first_line
from tompion.cli.logging.queue import QueuedLog
from tompion.cli.logging.records import capture_logging
from tompion.cli.logging.text import TextLog, duration
from tompion.cli.main import main
from tompion.cli.output.text import shorten, wrap
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.runtime import stop_signals
from tompion.runtime.url_masking import mask_password

NOON = 1_774_699_200  # 2026-03-28 12:00:00Z


class SettableClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time: float = NOON

    def now(self) -> float:
        return self.time


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


Printed = Callable[[], list[str]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    def lines() -> list[str]:
        return capsys.readouterr().out.splitlines()

    return lines


# --- the lines --------------------------------------------------------------------------------------------------


def test_a_run_is_logged_in_two_lines_with_its_duration(clock: SettableClock, printed: Printed) -> None:
    lines = TextLog(clock)
    lines(Event("launched", "report", "schedule", NOON))
    clock.time += 1.25
    lines(Event("ended", "report", "SUCCESS", NOON))
    assert printed() == [
        "2026-03-28 12:00:00Z report             launched  12:00:00Z",
        "2026-03-28 12:00:01Z report             ended     SUCCESS in 1.250 s",
    ]


def test_each_kind_of_event_is_one_line(clock: SettableClock, printed: Printed) -> None:
    lines = TextLog(clock)
    lines(Event("launched", "report", "catch_up", NOON - 86_400))
    lines(Event("ended", "report", "FAILED: OSError: a: b", NOON - 86_400))
    lines(Event("ended", "other", "TIMED_OUT: too slow", NOON))
    lines(Event("paused", "report", "paused after a failed run"))
    lines(Event("warning", "", "this clock is off"))
    assert printed() == [
        "2026-03-28 12:00:00Z report             launched  2026-03-27 12:00:00Z catch_up",
        "2026-03-28 12:00:00Z report             ended     FAILED in 0.000 s: OSError: a: b",
        "2026-03-28 12:00:00Z other              ended     TIMED_OUT: too slow",
        "2026-03-28 12:00:00Z report             paused    paused after a failed run",
        "2026-03-28 12:00:00Z                    warning   this clock is off",
    ]


@pytest.mark.parametrize("text", ["schedule", "catch_up", "trigger", "backfill"])
def test_a_launch_fits_80_columns(text: str, clock: SettableClock, printed: Printed) -> None:
    TextLog(clock)(Event("launched", "a-schedule-of-18-c", text, 0))
    assert len(printed()[0]) <= 80


def test_an_unknown_duration_is_omitted(clock: SettableClock, printed: Printed) -> None:
    """A trigger and a tick of the same second are ambiguous, and a clock may be set back."""
    lines = TextLog(clock)
    for _ in range(2):
        lines(Event("launched", "twins", "schedule", NOON))
    for _ in range(2):
        lines(Event("ended", "twins", "SUCCESS", NOON))
    lines(Event("launched", "report", "schedule", NOON))
    clock.time -= 10
    lines(Event("ended", "report", "SUCCESS", NOON))
    assert [line.split("ended")[1].strip() for line in printed() if "ended" in line] == ["SUCCESS"] * 3


def test_old_launches_are_dropped(clock: SettableClock, printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tompion.cli.logging.text._MAX_LAUNCHES", 2)
    lines = TextLog(clock)
    for name in ("a", "b", "c"):
        lines(Event("launched", name, "schedule", NOON))
    assert [run[0] for run in lines._launched] == ["b", "c"]


def test_quiet_prints_only_warnings(clock: SettableClock, printed: Printed) -> None:
    lines = TextLog(clock, quiet=True)
    lines.say("running")
    lines(Event("launched", "report", "schedule", NOON))
    lines(Event("warning", "", "this clock is off"))
    lines.warn("left behind")
    assert printed() == ["2026-03-28 12:00:00Z                    warning   this clock is off", "warning: left behind"]


def test_control_characters_are_removed_from_log_lines(clock: SettableClock, printed: Printed) -> None:
    TextLog(clock)(Event("ended", "report", "FAILED: x\n2026 forged\x1b[31m", NOON))
    assert printed() == ["2026-03-28 12:00:00Z report             ended     FAILED: x?2026 forged?[31m"]


def test_a_warning_is_printed_once(clock: SettableClock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = TextLog(clock)
    capture_logging(lines, "info")
    EngineEvents(lines).warn("this clock is off")
    out, err = capsys.readouterr()
    assert (out.count("this clock is off"), err) == (1, "")


def test_an_internal_error_is_printed_once_if_quiet_with_its_traceback(
    clock: SettableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 // 0
    lines = TextLog(clock, quiet=True)
    capture_logging(lines, "warning")
    EngineEvents(lines).report_error("cannot fire", caught.value)
    out, err = capsys.readouterr()
    assert out.startswith("2026-03-28 12:00:00Z                    error     tompion.engine: cannot fire: ZeroDivision")
    assert out.count("cannot fire") == out.count("Traceback") == 1
    assert err == ""


def test_an_engine_survives_a_closed_pipe(clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        lines = TextLog(clock)
        for _ in range(3):
            lines(Event("launched", "report", "schedule", NOON))


def test_an_engine_survives_a_closed_stdout(clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    lines = TextLog(clock)
    stream.close()
    lines(Event("launched", "report", "schedule", NOON))


Terminal = Callable[..., str]


@pytest.fixture
def terminal(clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return the lines of events on a terminal of this width."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def show(*events: Event, columns: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        reader, writer = pty.openpty()
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            lines = TextLog(clock)
            for event in events:
                lines(event)
        sent = b"".join(iter(lambda: _some_of(reader), b""))
        os.close(reader)
        return sent.decode()

    return show


def _some_of(reader: int) -> bytes:
    try:
        return os.read(reader, 100_000)
    except OSError:  # the other end is closed, and everything has been read
        return b""


def plain(sent: str) -> list[str]:
    """The lines of a terminal without their colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", sent).splitlines()


def test_a_terminal_shows_failures_in_colour(terminal: Terminal) -> None:
    assert "\x1b[31m2026-03-28 12:00:00Z [b]report[/b]" in terminal(Event("ended", "[b]report[/b]", "FAILED: x", NOON))


LONG = "warehouse.eu-west-1.nightly-reconciliation-of-invoices"


def test_a_long_id_keeps_its_column_on_a_terminal(terminal: Terminal) -> None:
    """Regression: the rest of the line was pushed to the right, and the terminal wrapped it anywhere."""
    output = plain(
        terminal(
            Event("launched", LONG, "catch_up", NOON - 86_400),
            Event("replanned", "kurz", "new time zone data", NOON),
            Event("paused", "ある長い名前のスケジュール", "by hand"),
        )
    )
    assert output == [
        "2026-03-28 12:00:00Z warehouse…invoices launched  2026-03-27 12:00:00Z catch_up",
        "2026-03-28 12:00:00Z kurz               replanned new time zone data",
        "2026-03-28 12:00:00Z ある長い…ジュール  paused    by hand",
    ]
    assert all(cell_len(line) <= 80 for line in output)


def test_unprintable_characters_keep_the_column_width(terminal: Terminal) -> None:
    (line,) = plain(terminal(Event("paused", "a\u200bb", "by hand")))
    assert line == "2026-03-28 12:00:00Z a?b                paused    by hand"


def test_a_wide_terminal_prints_longer_ids(terminal: Terminal) -> None:
    (line,) = plain(terminal(Event("launched", LONG[-40:], "schedule", NOON), columns=120))
    assert LONG[-40:] in line


def test_a_long_text_is_wrapped_below_its_id(terminal: Terminal) -> None:
    text = "FAILED: OSError: cannot reach warehouse.example.com at port 5432 after 3 attempts; " + "x" * 100
    output = plain(terminal(Event("ended", LONG, text, NOON)))
    assert output[0] == "2026-03-28 12:00:00Z warehouse…invoices ended     FAILED: OSError: cannot reach"
    assert output[1] == f"{'':21}warehouse.example.com at port 5432 after 3 attempts;"
    assert [line.count("x") for line in output[2:]] == [59, 41]
    assert all(line.startswith(" " * 21) for line in output[1:])
    assert "".join(output).replace(" ", "").endswith(text.replace(" ", "")[-100:])


def test_a_pipe_gets_full_lines(clock: SettableClock, printed: Printed) -> None:
    TextLog(clock)(Event("ended", LONG, f"FAILED: {'x ' * 200}end", NOON))
    (line,) = printed()
    assert line == f"2026-03-28 12:00:00Z {LONG} ended     FAILED: {'x ' * 200}end"


def test_a_very_narrow_terminal_gets_full_lines(terminal: Terminal) -> None:
    assert plain(terminal(Event("launched", LONG, "schedule", NOON), columns=40)) == [
        f"2026-03-28 12:00:00Z {LONG} launched  12:00:00Z"
    ]


@pytest.mark.parametrize("width", range(1, 30))
def test_a_shortened_id_fits_the_width(width: int) -> None:
    short = shorten(LONG, width)
    assert len(short) == width
    assert shorten("x" * width, width) == "x" * width
    assert cell_len(shorten("長" * 40, width)) <= width


@pytest.mark.parametrize("width", [25, 40, 80])
def test_wrapping_keeps_all_words(width: int) -> None:
    line = f"2026-03-28 12:00:00Z one {LONG * 3} 長長長 two{' three' * 20}"
    parts = wrap(line, width, 21)
    assert all(cell_len(part) <= width for part in parts)
    assert "".join("".join(parts).split()) == "".join(line.split())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0.000 s"),
        (9.5, "9.500 s"),
        (12.34, "12.3 s"),
        (65.9, "1 min 05 s"),
        (3_599, "59 min 59 s"),
        (7_265, "2 h 01 min"),
    ],
)
def test_a_duration_has_a_readable_precision(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("url", "output"),
    [
        ("sqlite:///tompion.db", "sqlite:///tompion.db"),
        ("postgresql://me@host:5432/jobs", "postgresql://me@host:5432/jobs"),
        ("postgresql://me:hush@host/jobs", "postgresql://me:***@host/jobs"),
        ("postgresql://me:hu@s/h:x@host/jobs", "postgresql://me:***@host/jobs"),
        ("postgresql://:hush@host/jobs", "postgresql://:***@host/jobs"),
        ("postgresql://host/jobs?user=me&password=hush&a=b", "postgresql://host/jobs?user=me&password=***&a=b"),
        ("postgresql://host/jobs?sslpassword=hush", "postgresql://host/jobs?sslpassword=***"),
    ],
)
def test_passwords_are_masked(url: str, output: str) -> None:
    assert mask_password(url) == output
    assert first_line(url, ("a", "b")) == f"running the schedules of {output}, queues a, b"


# --- the end ----------------------------------------------------------------------------------------------------


class Ended(NamedTuple):
    code: int | None
    left: list[int]


def signalled(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> Ended:
    """Send signals to this process during a graceful stop."""
    left: list[int] = []
    monkeypatch.setattr(stop_signals, "exit_now", left.append)

    async def run() -> int | None:
        with stop_signals.handle_stop_signals(30) as state:
            for number in numbers:
                signal.raise_signal(number)
            await asyncio.wait_for(state.requested.wait(), 30)
        return state.code

    before = [signal.getsignal(number) for number in stop_signals.SIGNALS]
    code = asyncio.run(run())
    assert [signal.getsignal(number) for number in stop_signals.SIGNALS] == before
    return Ended(code, left)


def test_sigterm_stops_gracefully_with_exit_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signalled(monkeypatch, signal.SIGTERM) == Ended(0, [])
    assert signalled(monkeypatch, signal.SIGTERM, signal.SIGTERM) == Ended(0, [])


def test_sigint_stops_gracefully_with_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert signalled(monkeypatch, signal.SIGINT) == Ended(130, [])


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_sigint_exits_immediately(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert signalled(monkeypatch, first, signal.SIGINT).left == [130]


def test_a_running_function_does_not_block_the_exit(
    clock: SettableClock, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python joins every thread at exit, so a worker with a busy thread would never have stopped."""
    left: list[int] = []
    monkeypatch.setattr(stop_signals, "exit_now", left.append)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name=f"{stop_signals.FUNCTION_THREADS}_0", daemon=True)
    thread.start()
    with pytest.raises(typer.Exit):
        exit_process(0, QueuedLog(TextLog(clock)))
    assert (left, printed()) == ([0], ["warning: a function is still running; its run is handed back"])
    release.set()
    with pytest.raises(typer.Exit) as ended:
        exit_process(130, QueuedLog(TextLog(clock)))
    thread.join()
    assert (left, printed(), ended.value.exit_code) == ([0], [], 130)


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--app-dir", "no-such-directory"), "--app-dir no-such-directory: no such directory"),
        (("--queue", " "), "--queue: expected the name of a queue"),
        (("--store", "jobs.db"), "store: 'jobs.db' is not a store"),
        (("--store", "sqlite:///no/such/directory/jobs.db"), "cannot open the SQLite file no/such/directory/jobs.db"),
    ],
)
def test_wrong_worker_options_are_a_one_line_error(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tompion", "worker", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    assert err.startswith(f"tompion: {message}")
    assert err.count("\n") == 1
