"""Progress bars: on a terminal, and never in a pipe."""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.command_line import run
from tompion import Tompion
from tompion.cli.main import main

BAR = "━"
STORE = "sqlite:///tompion.db"


class Screen(NamedTuple):
    code: object
    text: str


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE", "NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    with Tompion(STORE, engine=False) as tompion:
        for number in range(3):
            tompion.create(f"s{number}", cron="@daily", function="tasks:a")


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Screen]:
    """Run the command in this process, on a pseudo-terminal."""

    def started(*arguments: str) -> Screen:
        reader, writer = pty.openpty()
        sent: list[bytes] = []
        thread = threading.Thread(target=_read_all, args=(reader, sent))
        thread.start()
        with os.fdopen(writer, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["tompion", *arguments])
            patch.setattr(sys, "stdout", terminal)
            patch.setattr(sys, "stderr", terminal)
            patch.setenv("COLUMNS", "100")
            with pytest.raises(SystemExit) as caught:
                main()
        thread.join(timeout=120)
        os.close(reader)
        return Screen(caught.value.code, b"".join(sent).decode())

    return started


def _read_all(descriptor: int, into: list[bytes]) -> None:
    while True:
        try:
            some = os.read(descriptor, 65_536)
        except OSError:
            return
        if not some:
            return
        into.append(some)


COMMANDS = [("verify",), ("schedules", "pause", "--all", "--yes")]


@pytest.mark.parametrize("argv", COMMANDS)
def test_a_terminal_shows_a_bar(on_a_terminal: Callable[..., Screen], argv: tuple[str, ...]) -> None:
    output = on_a_terminal(*argv)
    assert output.code == 0, output
    assert BAR in output.text


def test_the_bar_of_verify_has_a_total(on_a_terminal: Callable[..., Screen]) -> None:
    output = on_a_terminal("verify")
    assert "verifying" in output.text
    assert "3/3" in output.text
    assert "no ticks to account for" in output.text


@pytest.mark.parametrize("argv", COMMANDS)
def test_a_pipe_has_no_progress_bar(argv: tuple[str, ...]) -> None:
    left = run(list(argv))
    assert left.code == 0, left
    assert BAR not in left.out + left.err
    assert "\x1b" not in left.out + left.err
