"""Programs of users under mypy and pyright, and the share of the public API that is typed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tompion

SOURCE = Path(tompion.__file__).parents[1]
SECONDS = 300
MIN_COMPLETENESS = 0.98
PROGRAM = """\
import asyncio
from datetime import datetime, timedelta, timezone

from tompion import AsyncClient, AsyncTompion, Client, Overlap, RunContext, Schedule, ScheduleFields, Tompion

app = Tompion("sqlite://", engine=False)


@app.schedule("0 9 * * MON-FRI", timezone="Europe/Berlin", overlap="skip", catchup="coalesce", jitter_ms="30s")
async def report(run: RunContext) -> None:
    print(run.run_at, run.payload)


def manage(app: Tompion | Client) -> Schedule:
    fields: ScheduleFields = {"cron": "0 9 * * *", "function": "tasks:report", "retry_delay_ms": timedelta(seconds=5)}
    app.create("report", **fields)
    app.put("call", intervals="15m", http={"url": "https://example.org"}, overlap_policy=Overlap.QUEUE)
    app.patch("report", max_execution_ms=60_000, labels={"team": "a"})
    app.trigger("report", overlap="allow", payload=None)
    app.schedules.skip("report", at=[datetime(2027, 1, 1, tzinfo=timezone.utc)])
    app.schedules.hint("report", interval_ms="2m", ttl_ms=timedelta(hours=1))
    for run in app.runs.list("report", status="SUCCESS").items:
        print(run.run_id, run.result)
    app.queues.pause("default", note="maintenance")
    key: str = app.keys.create("ci", role="editor").secret
    print(key, app.calendars.get("holidays").dates, app.workflows.list().next_page)
    return app.get("report")


async def manage_async(app: AsyncTompion | AsyncClient) -> Schedule:
    await app.create("report", cron=["0 9 * * *"], command="backup", catchup_policy="coalesce")
    page = await app.schedules.list(status="active", limit=10)
    print([schedule.cron for schedule in page.items])
    return await app.schedules.pause("report", until="2027-01-01T00:00:00Z")


async def main() -> None:
    async with AsyncTompion("sqlite://") as tompion:
        await manage_async(tompion)


if __name__ == "__main__":
    manage(app)
    asyncio.run(main())
"""
WRONG: dict[str, tuple[str, str, str]] = {
    "unknown field": (
        'app.create("report", cronn="0 9 * * *")',
        'Unexpected keyword argument "cronn" for "create" of "SyncVerbs"; did you mean "cron"?  [call-arg]',
        'No parameter named "cronn" (reportCallIssue)',
    ),
    "wrong type": (
        'app.schedules.create("report", cron=5)',
        (
            'Argument "cron" to "create" of "SyncVerbs" has incompatible type "int"; expected "str | Sequence[str]"'
            "  [arg-type]"
        ),
        (
            'Argument of type "Literal[5]" cannot be assigned to parameter "cron" of type "str | Sequence[str]" in '
            'function "create"'
        ),
    ),
    "unknown value": (
        'app.put("report", overlap_policy="nonsense")',
        (
            'Argument "overlap_policy" to "put" of "SyncVerbs" has incompatible type "Literal[\'nonsense\']"; expected '
            "\"Literal['skip', 'allow', 'queue', 'buffer_one', 'cancel_other', 'terminate_other', 'allow_all', "
            "'buffer_all'] | Overlap\"  [arg-type]"
        ),
        (
            'Argument of type "Literal[\'nonsense\']" cannot be assigned to parameter "overlap_policy" of type '
            '"OverlapPolicy" in function "put"'
        ),
    ),
    "unknown field of an action": (
        'app.update("report", http={"url": "https://example.org", "verb": "POST"})',
        (
            'Argument "http" to "update" of "SyncVerbs" has incompatible type "dict[str, str]"; expected '
            '"HttpAction | None"  [arg-type]'
        ),
        (
            'Argument of type "dict[str, str]" cannot be assigned to parameter "http" of type "HttpAction | None" in '
            'function "update"'
        ),
    ),
    "unknown field in the decorator": (
        'app.schedule("@daily", timezon="Europe/Berlin")',
        'Unexpected keyword argument "timezon" for "schedule" of "_BaseApp"; did you mean "timezone"?  [call-arg]',
        'No parameter named "timezon" (reportCallIssue)',
    ),
    "unknown field of a client": (
        'tompion.Client("http://127.0.0.1:8640").patch("report", retries=3)',
        'Unexpected keyword argument "retries" for "patch" of "SyncVerbs"  [call-arg]',
        'No parameter named "retries" (reportCallIssue)',
    ),
    "missing await": (
        'schedule: tompion.Schedule = tompion.AsyncClient("http://127.0.0.1:8640").schedules.get("report")',
        (
            'Incompatible types in assignment (expression has type "Coroutine[Any, Any, Schedule]", variable has type '
            '"Schedule")  [assignment]'
        ),
        'Type "CoroutineType[Any, Any, Schedule]" is not assignable to declared type "Schedule"',
    ),
    "policy of a preview": (
        'app.schedules.preview(cron="@daily", overlap_policy="skip")',
        'Unexpected keyword argument "overlap_policy" for "preview" of "SyncVerbs"  [call-arg]',
        'No parameter named "overlap_policy" (reportCallIssue)',
    ),
}
"""Lines of programs, and the errors of mypy and pyright."""
HEAD = "import tompion\n\napp = tompion.Tompion()\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs, beside the environment of a user."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "correct.py").write_text(PROGRAM, encoding="utf-8")
    for number, (line, _, _) in enumerate(WRONG.values()):
        (folder / f"wrong_{number}.py").write_text(f"{HEAD}{line}\n", encoding="utf-8")
    return folder


def run(folder: Path, *command: str) -> str:
    """Run a type checker and return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(SOURCE), "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def mypy_errors(folder: Path) -> dict[str, list[str]]:
    """Errors of mypy by file."""
    output = run(folder, "mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(folder / "cache"), ".")
    errors: dict[str, list[str]] = {}
    for name, message in re.findall(r"^(\S+?):\d+: error: (.*)$", output, re.MULTILINE):
        errors.setdefault(name, []).append(message)
    assert set(errors) == {f"wrong_{number}.py" for number in range(len(WRONG))}, output
    return errors


@pytest.fixture(scope="module")
def pyright_errors(folder: Path) -> dict[str, list[str]]:
    """Errors of pyright by file."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    output = json.loads(run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable))
    errors: dict[str, list[str]] = {}
    for error in output["generalDiagnostics"]:
        message = error["message"].partition("\n")[0]
        suffix = f" ({error['rule']})" if message == error["message"] else ""
        errors.setdefault(Path(error["file"]).name, []).append(f"{message}{suffix}")
    return errors


@pytest.mark.parametrize("name", WRONG)
def test_mypy_rejects_a_wrong_program(name: str, mypy_errors: dict[str, list[str]]) -> None:
    assert mypy_errors[f"wrong_{[*WRONG].index(name)}.py"] == [WRONG[name][1]]


@pytest.mark.parametrize("name", WRONG)
def test_pyright_rejects_a_wrong_program(name: str, pyright_errors: dict[str, list[str]]) -> None:
    assert pyright_errors[f"wrong_{[*WRONG].index(name)}.py"] == [WRONG[name][2]]


def test_both_accept_a_correct_program(mypy_errors: dict[str, list[str]], pyright_errors: dict[str, list[str]]) -> None:
    assert mypy_errors.get("correct.py", []) == pyright_errors.get("correct.py", []) == []


def test_the_public_api_is_typed_completely(folder: Path) -> None:
    """Pyright knows the type of every public symbol without inference."""
    output = run(folder, "pyright", "--verifytypes", "tompion", "--ignoreexternal", "--outputjson")
    completeness = json.loads(output)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in untyped(completeness)]
    assert completeness["completenessScore"] >= MIN_COMPLETENESS, unknown


def untyped(completeness: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the symbols without a known type."""
    for symbol in completeness["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            yield symbol
