"""Many schedules with one command: the selection, the confirmation, and the schedules that were rejected."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import CommandResult, run
from tompion import Tompion
from tompion.contract.sync_schedules import Schedules
from tompion.errors import StoreUnavailable

MANY = 230
"""Three pages."""


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def fill(count: int = 4) -> None:
    """Create schedules of two teams. The second half belongs to team b."""
    with Tompion(engine=False) as tompion:
        for number in range(count):
            team = "a" if number < count / 2 else "b"
            tompion.create(f"s{number:03}", cron="@daily", function="tasks:a", labels={"team": team})


def paused() -> list[str]:
    with Tompion(engine=False) as tompion:
        return [item.schedule_id for item in tompion.schedules.list(status="paused", limit=1_000).items]


def text(left: CommandResult) -> Any:
    return json.loads(left.out)


def test_all_pages_are_processed_and_merged() -> None:
    fill(MANY)
    left = run(["schedules", "pause", "--all", "--yes", "--note", "moving", "-o", "json"])
    assert (left.code, left.err) == (0, "")
    result = text(left)
    assert (len(result["schedule_ids"]), result["unchanged"], result["next_page"]) == (MANY, 0, None)
    assert paused() == result["schedule_ids"]
    again = run(["schedules", "pause", "--all", "--yes"])
    assert again.err == f"Paused 0 schedules, {MANY} already paused.\n"


def test_a_limit_processes_one_page_and_shows_the_next() -> None:
    fill()
    assert run(["schedules", "pause", "--all", "--yes", "--limit", "3"]).err == (
        "Paused 3 schedules. There are more: --after s002\n"
    )
    assert run(["schedules", "pause", "--all", "--yes", "--after", "s002"]).err == "Paused 1 schedule.\n"
    assert len(paused()) == 4


def test_a_repeated_request_id_triggers_each_schedule_once_across_pages() -> None:
    fill(MANY)
    command = ["schedules", "trigger", "--all", "--yes", "--request-id", "monday", "-o", "json"]
    assert text(run(command)) == text(run(command))
    with Tompion(engine=False) as tompion:
        assert tompion.stats().schedules.in_flight == MANY


def test_a_dry_run_lists_schedules_without_confirmation_or_change() -> None:
    fill()
    left = run(["schedules", "pause", "--label", "team=b", "--dry-run"])
    assert (left.code, left.out, left.err) == (0, "s002\ns003\n", "Would pause 2 schedules.\n")
    assert paused() == []


def test_ids_need_no_confirmation_and_rejections_exit_with_1() -> None:
    fill()
    left = run(["schedules", "pause", "s001", "missing", "s002"])
    assert (left.code, left.out) == (1, "missing: rejected: there is no schedule 'missing'\n")
    assert left.err == "Paused 2 schedules, 1 rejected.\n"
    assert paused() == ["s001", "s002"]
    assert run(["schedules", "resume", "s001", "s003"]).err == "Resumed 1 schedule, 1 not paused.\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--label", "team=a"), "--yes is required without a terminal"),
        ((), "no schedules selected"),
        (("s001", "s002", "--token", "1"), "--token works with one schedule only"),
        (("s001", "--label", "team=a", "--yes"), "schedule_ids: sent together with a filter"),
        (("--status", "odd", "--yes"), "status:"),
    ],
)
def test_an_ambiguous_selection_changes_nothing(argv: tuple[str, ...], message: str) -> None:
    fill()
    left = run(["schedules", "pause", *argv])
    assert (left.code, left.out, left.err.count("\n")) == (2, "", 1)
    assert message in left.err
    assert paused() == []


def test_an_interrupted_action_prints_how_to_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    fill(MANY)
    real = Schedules.pause_matching

    def failing(schedules: Schedules, **arguments: Any) -> Any:
        if arguments.get("after"):
            raise StoreUnavailable("the store has gone")
        return real(schedules, **arguments)

    monkeypatch.setattr(Schedules, "pause_matching", failing)
    left = run(["schedules", "pause", "--all", "--yes"])
    assert left.code == 6
    assert left.err == "Paused 100 schedules. There are more: --after s099\ntompion: the store has gone\n"


@pytest.mark.parametrize(("answer", "code", "count"), [(b"y\n", 0, 4), (b"n\n", 130, 0)])
def test_a_terminal_prompts_for_confirmation(answer: bytes, code: int, count: int) -> None:
    fill()
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "tompion", "schedules", "pause", "--all"]
    with subprocess.Popen(command, stdin=writer, stdout=writer, stderr=writer) as process:
        os.close(writer)
        killer = threading.Timer(120, process.kill)
        killer.start()
        seen = b""
        while b"]:" not in seen:
            seen += os.read(reader, 65_536)
        os.write(reader, answer)
        while True:
            try:
                seen += os.read(reader, 65_536)
            except OSError:
                break
        killer.cancel()
        assert process.wait() == code, seen
    os.close(reader)
    assert b"pause 4 schedules (s000, s001, s002 and 1 more)?" in seen
    assert len(paused()) == count


def test_runs_list_covers_all_schedules_and_source_needs_one() -> None:
    fill()
    run(["schedules", "trigger", "--all", "--yes"])
    left = run(["runs", "list", "--limit", "3"])
    assert [line.split()[-1] for line in left.out.splitlines()[1:]] == ["s003", "s002", "s001"]
    assert "There are more: --before " in left.err
    assert run(["runs", "list", "--source", "trigger"]).code == 2


def test_upcoming_ticks_and_stats_are_tables() -> None:
    fill(2)
    upcoming = run(["upcoming", "--for", "3d", "--schedule", "s001", "--limit", "2"])
    assert [line.split()[-1] for line in upcoming.out.splitlines()] == ["schedule", "s001", "s001"]
    assert run(["upcoming", "--for", "soon"]).code == 2
    run(["schedules", "trigger", "--all", "--yes"])
    output = run(["stats"]).out
    assert "2 active" in output
    assert len(output.partition("outcomes\n")[2].splitlines()) == 13
    assert output.splitlines()[-1].split()[-3:] == ["2", "-", "-"], output


def test_triggering_many_prints_the_ids_of_the_runs() -> None:
    fill(MANY)
    result = run(["schedules", "trigger", "--all", "--yes"])
    assert (result.code, len(result.out.splitlines())) == (0, MANY)
    assert result.err == f"Triggered {MANY} schedules.\n"
    assert result.out.splitlines()[0] in run(["schedules", "runs", "s000", "-o", "name"]).out
    assert run(["schedules", "trigger", "s000", "s001", "-o", "name"]).out.count("\n") == 2
