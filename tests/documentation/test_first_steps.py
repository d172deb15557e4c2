"""First steps: the README, the first schedule, schedules in code and holidays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.documentation.pages import ROOT, blocks, commands, python_of, run, write_files
from tompion import AsyncTompion, Tompion
from tompion.testing import Rehearsal

FIRST = "tutorial/first-schedule.md"
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20260803
DTEND;VALUE=DATE:20260808
SUMMARY:works holidays
END:VEVENT
END:VCALENDAR
"""


def rehearse_week(program: str) -> list[str]:
    """Rehearse a week of the only schedule of a program, without its last line, which runs it."""
    scope: dict[str, Any] = {"__name__": "program"}
    before, last, _ = program.partition("app.run()")
    assert last
    exec(before, scope)  # noqa: S102 - our own documentation
    app = scope["app"]
    assert isinstance(app, AsyncTompion)
    with Rehearsal(app, at="2026-03-02T00:00:00Z") as rehearsal:
        rehearsal.advance("7d")
        (schedule,) = rehearsal.schedules.list().items
        return [f"{run.run_at:%a %H:%M} {run.status}" for run in rehearsal.all_runs(schedule.schedule_id)]


WORKDAYS = [f"{day} 14:00 SUCCESS" for day in ("Mon", "Tue", "Wed", "Thu", "Fri")]


def test_the_python_of_the_readme_runs() -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    program, spec = programs
    assert rehearse_week(program) == WORKDAYS
    scope: dict[str, Any] = {}
    exec(spec, scope)  # noqa: S102 - our own documentation
    assert len(scope["spec"].upcoming(5)) == 5
    assert scope["spec"].explain().startswith("At 09:00, Monday to Friday")


def test_schedules_in_code_run() -> None:
    (program,) = python_of("how-to/schedules-in-code.md")
    assert rehearse_week(program) == WORKDAYS


def test_the_first_schedule_runs_and_verifies(tmp_path: Path) -> None:
    assert write_files(FIRST, tmp_path) == ["tasks.py", "first.py"]
    output = run("python first.py", tmp_path)
    assert len(re.findall(r"^report for .* key [0-9a-f]{8}$", output, re.MULTILINE)) >= 2
    assert re.search(r"SUCCESS \{'rows': 42\}$", output, re.MULTILINE), output
    worker, verify = [commands(block.text) for block in blocks(FIRST) if block.language == "sh"]
    assert worker == ["tompion worker --store sqlite:///tompion.db"]
    assert "each accounted for exactly once\n" in run(verify[0], tmp_path)


def test_holidays_and_calendars_are_excluded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plant.ics").write_text(CALENDAR)
    scope: dict[str, Any] = {}
    for program in python_of("how-to/holidays-and-calendars.md"):
        exec(program, scope)  # noqa: S102 - our own documentation
    works = scope["works"]
    assert len(works.dates) == 5
    tick = scope["spec"].next(1_785_700_000, calendars=[scope["company"], works])  # in the night to 3 August 2026
    assert f"{tick:%Y-%m-%d}" == "2026-08-08"
    (command,) = [block.text for block in blocks("how-to/holidays-and-calendars.md") if block.language == "sh"]
    install, ask = commands(command)
    assert install.startswith("pip install")
    assert "2026-12-25" not in run(ask, tmp_path)
    with Tompion("sqlite://", engine=False) as tompion:
        tompion.calendars.put(works)
        assert tompion.calendars.get("plant").dates == works.dates
