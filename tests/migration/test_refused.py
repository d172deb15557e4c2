"""A store that a newer release has migrated rejects older processes, and nothing is written."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import pytest

from tests.migration.releases import Release
from tests.migration.stores import Place
from tompion import AsyncTompion, SchemaTooNew, Tompion
from tompion.cli.main import main

PROCESSES = ["worker", "serve --port 0"]
COMMANDS = [
    "migrate up",
    "migrate status",
    "migrate sql",
    "verify",
    "schedules list",
    "schedules create new --cron @daily --function tasks:note",
    "schedules pause steady-0",
    "runs list",
    "workflows list",
    "queues list",
    "instances list",
    "keys create mine",
    "notifications list",
    "upcoming",
    "stats",
    "audit",
    "top",
]
WRONG_INPUT = 2
ADVICE = "Use a newer release. Nothing was written"


def test_processes_of_the_old_release_do_not_start(old: Release, newer: Place) -> None:
    before = newer.snapshot()
    for command in PROCESSES:
        ended = old.run(*command.split(), "--store", newer.url, cwd=newer.home)
        assert (ended.code, ended.output) == (WRONG_INPUT, ""), command
        assert ADVICE in " ".join(ended.complaint.split()), command
    assert newer.snapshot() == before


def test_every_command_refuses(newer: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = ["migrate roles"] if newer.dialect == "postgres" else []
    before = newer.snapshot()
    for command in [*COMMANDS, *roles]:
        monkeypatch.setattr(sys, "argv", ["tompion", *command.split(), "--store", newer.url])
        output, complaint = io.StringIO(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(complaint), pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == WRONG_INPUT, (command, output.getvalue(), complaint.getvalue())
        assert ADVICE in " ".join(complaint.getvalue().split()), command
    assert newer.snapshot() == before


def test_doctor_reports_the_newer_schema_only(
    newer: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tompion", "doctor", "--store", newer.url])
    with pytest.raises(SystemExit) as left:
        main()
    output = capsys.readouterr().out.split("\n")
    assert left.value.code == 1
    assert [line.endswith(ADVICE) for line in output if line.startswith("bad")] == [True]


async def _open(url: str) -> None:
    async with AsyncTompion(url):
        pass


def test_a_program_is_refused(newer: Place) -> None:
    before = newer.snapshot()
    calls: list[Callable[[], object]] = [
        lambda: Tompion(newer.url).open(),
        lambda: Tompion(newer.url, engine=False).open(),
        lambda: asyncio.run(_open(newer.url)),
    ]
    for call in calls:
        with pytest.raises(SchemaTooNew, match=ADVICE):
            call()
    assert newer.snapshot() == before
