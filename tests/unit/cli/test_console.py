"""Output of the commands: 80 columns, colours on a terminal, plain text in a pipe, and closed pipes."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import pytest

from tompion import Finding, Tick
from tompion.cli.main import main
from tompion.cli.output import console

BERLIN = "Europe/Berlin"
INSTALLED = str(Path(sys.executable).with_name("tompion"))
NOISE = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONIOENCODING", "COLORTERM")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Screen(NamedTuple):
    """Output that a terminal received."""

    code: object
    raw: str

    @property
    def lines(self) -> list[str]:
        """The visible text, line by line."""
        return STYLE.sub("", self.raw).replace("\r\n", "\n").rstrip("\n").split("\n")

    @property
    def width(self) -> int:
        return max(map(len, self.lines))


def read_all(descriptor: int, into: list[bytes]) -> None:
    """Read a pseudo-terminal until the other side is closed, which Linux reports as an error."""
    while True:
        try:
            data = os.read(descriptor, 65_536)
        except OSError:
            return
        if not data:
            return
        into.append(data)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables that a developer may have set."""
    for name in NOISE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Screen]:
    """Run the command in this process, on a pseudo-terminal of 80 columns."""

    def run(*arguments: str, columns: int = 80) -> Screen:
        reader, writer = pty.openpty()
        sent: list[bytes] = []
        thread = threading.Thread(target=read_all, args=(reader, sent))
        thread.start()
        with os.fdopen(writer, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["tompion", *arguments])
            patch.setattr(sys, "stdout", terminal)
            patch.setattr(sys, "stderr", terminal)
            patch.setenv("COLUMNS", str(columns))
            with pytest.raises(SystemExit) as caught:
                main()
        thread.join(timeout=120)
        os.close(reader)
        return Screen(caught.value.code, b"".join(sent).decode())

    return run


@pytest.fixture
def in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tompion", *arguments])
        with pytest.raises(SystemExit):
            main()
        out, err = capsys.readouterr()
        return out + err

    return run


# Each of these is longer than one line.
WIDE: list[tuple[str, ...]] = [
    ("next", "30 2 * * *", "--tz", BERLIN, "-n", "3", "--after", "2026-03-28T00:00Z"),
    ("next", "30 2 * * *", "--tz", BERLIN, "--dst-overlap", "both", "-n", "3", "--after", "2026-10-24T12:00Z"),
    ("next", "--every", "7s", "--tz", "America/Argentina/ComodRivadavia", "--jitter-ms", "100", "-n", "3"),
    ("next", "15 30 2 * * *", "--tz", "America/New_York", "--jitter-ms", "9", "--after", "2026-03-07T12:00Z"),
    ("explain", "*/15 8-18 1-7,15 JAN,MAR-JUN MON-FRI", "0 0 L * *", "--every", "90m", "--exclude", "2026-12-25"),
    ("explain", "0,5,10,15,20,25,35,40,50 0,2,4,6,8,10,12,14,16,18,20,22 1,3,5,7,9,11,13,15 * *", "--jitter-ms", "5"),
    ("lint", "*/7 2 1-7 * MON", "--tz", BERLIN, "--after", "2026-03-01T00:00Z", "--min-interval", "1d"),
    ("lint", "0,10,20,30,40 2 * * *", "--tz", BERLIN, "--after", "2026-03-01T00:00Z"),
    ("lint", "--rrule", "FREQ=DAILY"),
    ("next", "--help"),
    ("lint", "--help"),
    ("--help",),
]  # fmt: skip


@pytest.mark.parametrize("arguments", WIDE)
def test_output_fits_80_columns(arguments: tuple[str, ...], on_a_terminal: Callable[..., Screen]) -> None:
    assert 20 < on_a_terminal(*arguments).width <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "*/7 * * * *"),
        ("lint", "0,10,20,30,40 2 * * *", "--tz", BERLIN, "--after", "2026-03-01T00:00Z"),
        ("lint", "--rrule", "FREQ=DAILY"),
        ("explain", "0,5,10,15,20,25,35,40,50 0,2,4,6,8,10,12,14,16,18,20,22 1,3,5,7,9,11,13,15 * *"),
    ],
)
def test_lines_wrapped_on_a_terminal_are_whole_in_a_pipe(
    arguments: tuple[str, ...], on_a_terminal: Callable[..., Screen], in_a_pipe: Callable[..., str]
) -> None:
    wrapped, whole = on_a_terminal(*arguments).lines, in_a_pipe(*arguments).splitlines()
    assert len(wrapped) > len(whole)
    assert " ".join(wrapped).split() == " ".join(whole).split()


def test_a_narrow_terminal_wraps_findings_with_an_indent(on_a_terminal: Callable[..., Screen]) -> None:
    lines = on_a_terminal("lint", "*/7 * * * *", columns=40).lines
    assert lines[0].startswith("warning: '*/7' is not every 7")
    assert all(line.startswith("    ") for line in lines[1:3])
    assert max(map(len, lines)) <= 40


def test_a_lint_code_is_not_split_across_lines(on_a_terminal: Callable[..., Screen]) -> None:
    """A code that is split across two lines cannot be searched for."""
    codes = {"uneven-step", "either-day", "dst-gap", "too-dense"}
    for columns in range(40, 81):
        lines = on_a_terminal("lint", "*/7 * 1-7 * MON", "--min-interval", "1d", columns=columns).lines
        assert {code for code in codes if any(f"[{code}]" in line for line in lines)} == codes - {"dst-gap"}


COLOURS = [
    (("next", "30 2 * * *", "--tz", BERLIN, "--after", "2026-03-28T12:00Z"), "\x1b[33mDST\x1b[0m"),
    (("lint", "0 0 30 2 *"), "\x1b[1;31merror: \x1b[0m"),
    (("lint", "*/7 * * * *"), "\x1b[33mwarning: \x1b[0m"),
    (("lint", "0 0 31 * *"), "\x1b[36minfo: \x1b[0m"),
    (("next", "bogus"), "\x1b[1;31mtompion: \x1b[0m"),
]


@pytest.mark.parametrize(("arguments", "coloured"), COLOURS)
def test_a_terminal_is_coloured(
    arguments: tuple[str, ...], coloured: str, on_a_terminal: Callable[..., Screen]
) -> None:
    assert coloured in on_a_terminal(*arguments).raw


@pytest.mark.parametrize(("arguments", "_coloured"), COLOURS)
def test_a_pipe_is_plain(arguments: tuple[str, ...], _coloured: str, in_a_pipe: Callable[..., str]) -> None:
    text = in_a_pipe(*arguments)
    assert text
    assert "\x1b" not in text


@pytest.mark.parametrize(("arguments", "_coloured"), COLOURS)
@pytest.mark.parametrize("setting", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_color_disables_colours(
    arguments: tuple[str, ...],
    _coloured: str,
    setting: tuple[str, str],
    on_a_terminal: Callable[..., Screen],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(*setting)
    screen = on_a_terminal(*arguments)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9][;m]", screen.raw)
    assert any(word in screen.raw for word in ("DST", "error", "warning", "info", "tompion"))


def test_json_is_never_coloured_or_wrapped(on_a_terminal: Callable[..., Screen]) -> None:
    screen = on_a_terminal("lint", "*/7 2 1-7 * MON", "--tz", BERLIN, "-o", "json", columns=40)
    assert "\x1b" not in screen.raw
    assert screen.width > 40


def test_an_error_is_not_wrapped(on_a_terminal: Callable[..., Screen]) -> None:
    """An error message with added line breaks cannot be searched for after copying it from a terminal."""
    screen = on_a_terminal("next", "0 9 * * * 2026", columns=40)
    assert (screen.code, len(screen.lines)) == (2, 1)


def test_only_the_prefix_of_an_error_is_coloured(on_a_terminal: Callable[..., Screen]) -> None:
    """Two lines of bold red are hard to read."""
    _prefix, _end, message = on_a_terminal("next", "bogus").raw.partition("\x1b[0m")
    assert message.startswith("cron: ")


def test_no_line_ends_in_white_space(in_a_pipe: Callable[..., str]) -> None:
    lines = in_a_pipe("next", "0 9 * * *", "-n", "3").splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


# --- the functions ----------------------------------------------------------------------------------------------


def tick(offset: timedelta, **changes: object) -> Tick:
    at = datetime(2026, 6, 1, 12, tzinfo=UTC)
    parts = {
        "at": at,
        "local": at.astimezone(timezone(offset)),
        "wall": datetime(2026, 6, 1, 12),
        "dst_adjustment": "",
        "reason": "",
        "fire_at": at + timedelta(milliseconds=1_234),
    }
    return Tick(**(parts | changes))  # type: ignore[arg-type]  # the parts are those of a tick


@pytest.mark.parametrize(
    ("offset", "output"),
    [
        (timedelta(0), "Mon 2026-06-01 12:00 +00:00"),
        (timedelta(hours=5, minutes=45), "Mon 2026-06-01 17:45 +05:45"),
        (-timedelta(hours=3, minutes=30), "Mon 2026-06-01 08:30 -03:30"),
        (-timedelta(minutes=44, seconds=30), "Mon 2026-06-01 11:15:30 -00:44:30"),
    ],
)
def test_an_offset_with_seconds_is_printed_in_full(
    offset: timedelta, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Monrovia was 44 minutes and 30 seconds behind Greenwich until 1972."""
    console.tick_table([tick(offset)], "X", jitter=False)
    assert capsys.readouterr().out.splitlines()[1].startswith(output)


def test_a_fire_time_has_milliseconds(capsys: pytest.CaptureFixture[str]) -> None:
    console.tick_table([tick(timedelta(0))], "UTC", jitter=True)
    assert "12:00:01.234" in capsys.readouterr().out
    assert console.tick_json(tick(timedelta(0)))["fire_at"] == "2026-06-01T12:00:01.234+00:00"


def test_text_that_looks_like_markup_is_printed_literally(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets are markup in rich, and an index in our messages."""
    console.error_line("exclude.dates[0]: '[bold]x[/bold]' is not a date")
    console.finding_lines([Finding("x", "info", "cron[0]", "see [red]this[/red]", "[b]hint[/b]")])
    console.paragraph("- all of [green]it[/green]\nand :smile:")
    out, err = capsys.readouterr()
    assert err == "tompion: exclude.dates[0]: '[bold]x[/bold]' is not a date\n"
    assert out.splitlines() == [
        "info: see [red]this[/red] [x]",
        "  hint: [b]hint[/b]",
        "- all of [green]it[/green]",
        "and :smile:",
    ]


def test_line_breaks_in_an_error_are_removed(capsys: pytest.CaptureFixture[str]) -> None:
    console.error_line("a\nb")
    assert capsys.readouterr().err == "tompion: a b\n"


def test_json_keeps_non_ascii_text(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"note": "Frühschicht …"})
    assert '"Frühschicht …"' in capsys.readouterr().out


def test_output_works_with_an_ascii_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: an ellipsis in a finding was a traceback with LC_ALL=C or PYTHONIOENCODING=ascii."""
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", pipe)
    console.finding_lines([Finding("x", "info", "cron", "02:00, 02:10, …")])
    pipe.flush()


# --- as installed -----------------------------------------------------------------------------------------------


def test_the_installed_command_works_in_a_pipe() -> None:
    command = [INSTALLED, "next", "0 9 * * *", "-n", "1", "--after", "2026-03-28T00:00Z"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "UTC\nSat 2026-03-28 09:00 +00:00\n", "one column is enough where both would say the same"


def test_the_installed_command_rejects_bad_input_without_a_traceback() -> None:
    result = subprocess.run([INSTALLED, "next", "61 * * * *"], capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("tompion: cron.minute: 61 is out of range")
    assert len(result.stderr.splitlines()) == 1


def test_the_installed_command_uses_the_terminal_width() -> None:
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [INSTALLED, "next", "30 2 * * *", "--tz", BERLIN, "-n", "2", "--after", "2026-03-28T12:00Z"]
    surroundings = {name: value for name, value in os.environ.items() if name not in NOISE}
    process = subprocess.Popen(command, stdin=writer, stdout=writer, stderr=writer, env=surroundings)
    os.close(writer)
    sent: list[bytes] = []
    read_all(reader, sent)
    os.close(reader)
    screen = Screen(process.wait(timeout=120), b"".join(sent).decode())
    assert screen.code == 0
    assert 70 < screen.width <= 80
    assert "\x1b[33mDST\x1b[0m" in screen.raw


@pytest.fixture(scope="module")
def closed_pipe() -> tuple[int, str]:
    """Run the command after the reader of its output has exited."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [INSTALLED, "next", "* * * * *", "-n", "3000", "-o", "json"]
    try:
        process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(writer)
    return process.returncode, process.stderr


def test_a_closed_pipe_gives_no_traceback(closed_pipe: tuple[int, str]) -> None:
    assert closed_pipe[1] == ""


def test_a_closed_pipe_exits_with_0(closed_pipe: tuple[int, str]) -> None:
    """Exit code 1 is for findings of lint. ``tompion next … | head`` is not an error."""
    assert closed_pipe[0] == 0
