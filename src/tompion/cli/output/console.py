"""Output of the commands: tables and lines for 80 columns, coloured on a terminal and plain in a pipe."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from datetime import datetime
from io import TextIOWrapper
from typing import Any

from rich.console import Console
from rich.text import Text

from tompion.cli.lazy import PROGRAM
from tompion.model.spec import Finding, Tick

PIPE_WIDTH = 10_000
"""Output into a pipe is not truncated or wrapped."""
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


class BrokenOutput(BrokenPipeError):
    """The reader of the output has closed the pipe. This is not an error."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenOutput


def console(*, stderr: bool = False) -> Console:
    """Return the console. In a pipe it has no colours and no width."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, TextIOWrapper):  # an ellipsis must not be an error if the encoding is ASCII
        stream.reconfigure(errors="replace")
    terminal = _Console(stderr=stderr, highlight=False)
    if terminal.is_terminal:
        return terminal
    return _Console(stderr=stderr, highlight=False, width=PIPE_WIDTH, no_color=True)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print_plain(json.dumps(value, ensure_ascii=False, indent=2))


def print_plain(text: str) -> None:
    """Print a text for programs: no colours, no wrapping."""
    try:
        print(text, flush=True)  # noqa: T201 - this is the output
    except BrokenPipeError:
        raise BrokenOutput from None


def silence_stdout() -> None:
    """Redirect stdout to /dev/null, so that interpreter shutdown does not raise ``BrokenPipeError``."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def clear_screen() -> None:
    """Clear the terminal. Output into a pipe is not changed."""
    out = console()
    if out.is_terminal:
        out.clear()


def line(text: str) -> None:
    """Print one line. A narrow terminal wraps it."""
    console().print(Text(text), soft_wrap=True)


def note(text: str) -> None:
    """Print a message to standard error, beside the output."""
    console(stderr=True).print(Text(text), soft_wrap=True)


def error_line(message: str) -> None:
    """Print an error as one line to standard error."""
    line = Text().append(f"{PROGRAM}: ", style="bold red").append(message.replace("\n", " "))
    console(stderr=True).print(line, soft_wrap=True)


def tick_table(ticks: Sequence[Tick], zone: str, *, jitter: bool) -> None:
    """Print ticks in local time and UTC. Ticks that DST changed are marked, with the reason."""
    out = console()
    with_seconds = any(tick.at.second or tick.local.second for tick in ticks)
    other_day = any(tick.fire_at.date() != tick.at.date() for tick in ticks)
    both = zone != "UTC"
    rows = [[zone] + ["UTC"] * both + ["fires at (UTC)"] * jitter]
    for tick in ticks:
        row = [_local(tick.local, with_seconds)] + [_utc(tick.at, with_seconds)] * both
        rows.append(row + [_fire_time(tick.fire_at, other_day)] * jitter)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    out.print(Text(lines[0].rstrip(), style="bold"), soft_wrap=True)
    for tick, line in zip(ticks, lines[1:], strict=True):
        out.print(
            Text().append(f"{line} ").append("DST", "yellow") if tick.dst_adjustment else line.rstrip(), soft_wrap=True
        )
    for tick in ticks:
        if tick.dst_adjustment:
            out.print(Text(f"DST {tick.local:%Y-%m-%d}: {tick.reason}", style="yellow"), soft_wrap=not out.is_terminal)


def _fire_time(when: datetime, with_date: bool) -> str:
    return when.strftime("%m-%d %H:%M:%S." if with_date else "%H:%M:%S.") + f"{when.microsecond // 1000:03d}"


def tick_json(tick: Tick) -> dict[str, Any]:
    """Return a tick as JSON-ready data."""
    return {
        "at": tick.at.isoformat(),
        "local": tick.local.isoformat(),
        "wall": tick.wall.isoformat(),
        "dst": tick.dst_adjustment or None,
        "reason": tick.reason or None,
        "fire_at": tick.fire_at.isoformat(timespec="milliseconds"),
    }


def finding_lines(findings: Sequence[Finding]) -> None:
    """Print findings, the most severe first, wrapped to the terminal."""
    out = console()
    for finding in findings:
        head = Text(f"{finding.severity}: ", style=SEVERITY_STYLES[finding.severity])
        print_wrapped(out, head, f"{finding.message} [{finding.code}]", 4)
        if finding.hint:
            print_wrapped(out, Text("  hint: ", style="dim"), finding.hint, 4)


def columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows as aligned columns. The first row is the header."""
    out = console()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        out.print(Text(line, style="none" if number else "bold"), soft_wrap=True)


def paragraph(text: str) -> None:
    """Print prose, wrapped to the terminal."""
    out = console()
    for line in text.splitlines():
        bullet = "- " if line.startswith("- ") else ""
        print_wrapped(out, Text(bullet), line.removeprefix("- "), len(bullet))


def print_wrapped(out: Console, head: Text, body: str, indent: int) -> None:
    """Print a text after its head, wrapped on a terminal."""
    if not out.is_terminal:
        out.print(head.append(body, style="none"), soft_wrap=True)
        return
    space = " " * indent
    lines = textwrap.wrap(head.plain + body, width=out.width, subsequent_indent=space, break_on_hyphens=False) or [""]
    first = Text(lines[0])
    first.stylize(head.style, 0, len(head.plain))
    out.print(first)
    for line in lines[1:]:
        out.print(Text(line))


def _local(when: datetime, with_seconds: bool) -> str:
    return when.strftime("%a %Y-%m-%d %H:%M:%S" if with_seconds else "%a %Y-%m-%d %H:%M") + _offset(when)


def _offset(when: datetime) -> str:
    offset = when.strftime("%z")
    return f" {offset[:3]}:{offset[3:5]}" + (f":{offset[5:7]}" if offset[5:] else "")


def _utc(when: datetime, with_seconds: bool) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%SZ" if with_seconds else "%Y-%m-%d %H:%MZ")
