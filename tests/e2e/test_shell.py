"""The command line as a shell runs it: the lines of the how-to as printed, against a real service."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.command_line import run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "manage-from-the-shell.md"
SECONDS = 120


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """What a shell knows: ``tompion`` is on its path, and nothing of whoever runs the tests."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    here = home / "bin"
    here.mkdir(exist_ok=True)
    command = here / "tompion"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tompion "$@"\n')
    command.chmod(0o755)
    return {**known, "PATH": f"{here}:{known['PATH']}", **more}


def shell(line: str, home: Path, known: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=home, env=dict(known), capture_output=True, text=True, check=False, timeout=SECONDS
    )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "tasks.py").write_text("def report():\n    return 1\n")
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=surroundings(tmp_path)
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found
        yield found.group()
        process.kill()


def test_the_lines_that_the_how_to_shows_work_as_printed(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, because two dozen others take a minute to start."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines.pop(0) == "export TOMPION_URL=http://127.0.0.1:8640"
    assert len(lines) > 20
    monkeypatch.setenv("TOMPION_URL", served)
    monkeypatch.chdir(tmp_path)
    for line in lines:
        words, _, file = line.partition(" > ")
        left = run(shlex.split(words)[1:])
        assert left.code == 0, (line, left)
        if file:
            (tmp_path / file).write_text(left.out)
    shown = json.loads(run(["schedules", "get", "report", "--json"]).out)
    assert shown["definition"]["spec"]["exclude"] == {"named": ["bank"]}
    assert json.loads((tmp_path / "report.json").read_text())["definition"]["max_attempts"] == 3


def test_a_store_is_asked_without_a_service_and_errors_have_their_exit_codes(tmp_path: Path) -> None:
    known = surroundings(tmp_path, TOMPION_STORE="sqlite:///jobs.db")
    made = shell("tompion schedules create report --cron @daily --function tasks:report --json", tmp_path, known)
    assert (json.loads(made.stdout)["schedule_id"], made.stderr) == ("report", "")
    left = shell("tompion schedules get nobody --json", tmp_path, known)
    assert (left.returncode, left.stdout, json.loads(left.stderr)["code"]) == (3, "", "not_found")
    gone = shell("tompion schedules list --url http://127.0.0.1:1", tmp_path, known)
    assert (gone.returncode, gone.stderr.count("\n")) == (6, 1)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_is_there_for_each_shell(name: str, tmp_path: Path) -> None:
    left = shell("tompion", tmp_path, surroundings(tmp_path, _TOMPION_COMPLETE=f"source_{name}"))
    assert left.returncode == 0
    assert f"complete_{name}" in left.stdout
