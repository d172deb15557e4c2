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


def environment_for_shell(home: Path, **more: str) -> dict[str, str]:
    """Return an environment with ``tompion`` on the path and without the variables of this shell."""
    existing = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    here = home / "bin"
    here.mkdir(exist_ok=True)
    command = here / "tompion"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tompion "$@"\n')
    command.chmod(0o755)
    return {**existing, "PATH": f"{here}:{existing['PATH']}", **more}


def shell(line: str, home: Path, existing: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=home,
        env=dict(existing),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "tasks.py").write_text("def report():\n    return 1\n")
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment_for_shell(tmp_path)
    ) as process:
        assert process.stdout is not None
        result = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert result
        yield result.group()
        process.kill()


def test_the_commands_of_the_how_to_work(served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process, because two dozen processes take a minute to start."""
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
    output = json.loads(run(["schedules", "get", "report", "-o", "json"]).out)
    assert output["exclude"] == {"named": ["bank"]}
    assert json.loads((tmp_path / "report.json").read_text())["max_attempts"] == 3


def test_commands_work_on_a_store_and_errors_have_exit_codes(tmp_path: Path) -> None:
    existing = environment_for_shell(tmp_path, TOMPION_STORE="sqlite:///jobs.db")
    created = shell("tompion schedules create report --cron @daily --function tasks:report -o json", tmp_path, existing)
    assert (json.loads(created.stdout)["schedule_id"], created.stderr) == ("report", "")
    left = shell("tompion schedules get missing -o json", tmp_path, existing)
    assert (left.returncode, left.stdout, json.loads(left.stderr)["code"]) == (3, "", "not_found")
    gone = shell("tompion schedules list --url http://127.0.0.1:1", tmp_path, existing)
    assert (gone.returncode, gone.stderr.count("\n")) == (6, 1)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_exists_for_each_shell(name: str, tmp_path: Path) -> None:
    left = shell("tompion", tmp_path, environment_for_shell(tmp_path, _TOMPION_COMPLETE=f"source_{name}"))
    assert left.returncode == 0
    assert f"complete_{name}" in left.stdout
