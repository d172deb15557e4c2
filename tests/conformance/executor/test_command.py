"""Commands: what they are told, how they end, and that nothing else can be run."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.executors import CANARY, launch_of, python
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Completed
from tompion.executors.command import CommandExecutor
from tompion.executors.options import ExecutorEnv
from tompion.model.run import RunState

SITE = ExecutorEnv(max_result_bytes=300)
SECONDS = 120
"""After which a test gives up waiting."""


def executor_of(code: str, **declared: Any) -> CommandExecutor:
    return CommandExecutor({"commands": {"it": {"argv": python(code), **declared}}, "grace_ms": 200}, SITE)


def called(code: str, *, dag: Any = None, payload: Any = None, **declared: Any) -> Completed:
    async def story() -> Completed:
        async with asyncio.timeout(SECONDS):
            return await executor_of(code, **declared).run(dag, launch_of({"command": "it"}, payload=payload))

    return asyncio.run(story())


def test_what_a_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON on its standard input, and an environment in which nothing of ours is."""
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", CANARY)
    code = "import json, os, sys; print(json.dumps([json.load(sys.stdin), dict(os.environ)]))"
    executor = CommandExecutor(
        {"commands": {"it": {"argv": python(code), "env": {"COLOUR": "blue"}}}}, ExecutorEnv(max_result_bytes=10_000)
    )
    ended = asyncio.run(executor.run({"steps": [1]}, launch_of({"command": "it"}, payload={"n": 5})))
    assert ended.result is not None
    said, environment = json.loads(ended.result)
    assert (said["dag"], said["meta"]["payload"]) == ({"steps": [1]}, {"n": 5})
    assert said["meta"]["idempotency_key"] == environment["TOMPION_KEY"] == launch_of({}).key
    assert environment["TOMPION_SCHEDULED_FOR"] == "2027-01-15T08:01:00+00:00"
    assert environment["COLOUR"] == "blue"
    ours = {name for name in environment if not name.startswith("TOMPION_")} - {"PATH", "LANG", "COLOUR", "LC_CTYPE"}
    assert ours == set()
    assert CANARY not in ended.result


ENDS = [
    ("pass", Completed()),
    ("print('hello')", Completed(result='"hello"')),
    ("print('{\"a\": 1}')", Completed(result='{"a": 1}')),
    ("import sys; print('x', file=sys.stderr); sys.exit(3)", Completed(RunState.FAILED, error="exit code 3: x")),
    ("import sys; print('only this'); sys.exit(1)", Completed(RunState.FAILED, error="exit code 1: only this")),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Completed(RunState.FAILED, error="killed by SIGKILL")),
]


@pytest.mark.parametrize(("code", "expected"), ENDS)
def test_how_a_command_ends(code: str, expected: Completed) -> None:
    ended = called(code)
    assert (ended.state, ended.result, ended.error) == (expected.state, expected.result, expected.error)


def test_a_command_may_say_more_than_is_kept_and_need_not_listen() -> None:
    """It writes ten megabytes to both streams, and never reads what it is told."""
    ended = called("import sys; [f.write('x' * 10_000_000) for f in (sys.stdout, sys.stderr)]", payload="y" * 1_000_000)
    assert ended.state is RunState.SUCCESS
    assert ended.result is not None
    assert len(ended.result) <= SITE.max_result_bytes


def test_a_command_that_takes_too_long() -> None:
    ended = called("import time; time.sleep(600)", timeout_ms=100)
    assert ended == Completed(RunState.TIMED_OUT, error="the command ran longer than its timeout_ms (100)")


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf])
with open(sys.argv[1], "w") as file:
    print(os.getpid(), child.pid, file=file, flush=True)
os.rename(sys.argv[1], sys.argv[1] + ".done")
time.sleep(600)
"""


def _written(path: Path) -> list[int]:
    """Wait for a file; the command cannot tell us in another way without being told how."""
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, "the command has not begun"
        threading.Event().wait(0.01)
    return [int(text) for text in path.read_text().split()]


def _is_there(pid: int) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"
    return False


def _is_still_there(pid: int) -> bool:
    """Whether a process is there, and still is after a moment: whoever inherits it may need one to notice its end."""
    for _ in range(100):
        if not _is_there(pid):
            return False
        threading.Event().wait(0.01)
    return True


def test_a_cancelled_command_takes_everything_with_it(tmp_path: Path) -> None:
    """It ignores the signal, and so does its child: both are gone when the run has ended."""
    file = tmp_path / "pids"
    argv = [*python(STUBBORN), str(file)]
    executor = CommandExecutor({"commands": {"it": {"argv": argv}}, "grace_ms": 50}, SITE)

    async def story() -> list[int]:
        task = asyncio.create_task(executor.run(None, launch_of({"command": "it"})))
        pids = await asyncio.get_running_loop().run_in_executor(None, _written, Path(f"{file}.done"))
        assert all(map(_is_there, pids))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert not any(map(_is_still_there, asyncio.run(story())))


def test_a_command_that_is_cancelled_while_it_starts_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had begun, and nobody here knew of it yet."""
    executor = CommandExecutor({"commands": {"it": {"argv": [*python(STUBBORN), str(tmp_path / "pids")]}}}, SITE)
    started: list[int] = []

    async def story() -> None:
        begin = executor._spawn

        async def slowly(*about: Any) -> Any:
            process = await begin(*about)
            started.append(process.pid)
            task.cancel()
            await asyncio.sleep(0)
            return process

        monkeypatch.setattr(executor, "_spawn", slowly)  # as if the machine were busy
        task = asyncio.create_task(executor.run(None, launch_of({"command": "it"})))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert started
    assert not any(map(_is_still_there, started))


@pytest.mark.parametrize(
    "options",
    [{}, {"command": "other"}, {"command": "it; rm -rf /"}, {"command": ""}, {"command": None}, {"command": []}],
)
def test_only_what_is_declared_can_be_run(options: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused, match="names a command that the operator has not declared"):
        asyncio.run(executor_of("print(1)").run(None, launch_of(options)))


def test_a_workflow_adds_no_argument() -> None:
    executor = executor_of("print(1)")
    for name, value in (("args", ["x"]), ("argv", ["sh"]), ("shell", True)):
        with pytest.raises(LaunchRefused, match="is not known"):
            asyncio.run(executor.run(None, launch_of({"command": "it", name: value})))


def test_nothing_that_a_user_writes_is_read_by_a_shell() -> None:
    """The argument of an operator, the payload and the DAG reach the program as they are."""
    nasty = "$(touch x) `id` ; | & > < * ' \" \\ \n"
    code = "import json, sys; print(json.dumps([sys.argv[1:], json.load(sys.stdin)['meta']['payload']]))"
    executor = CommandExecutor({"commands": {"it": {"argv": [*python(code), nasty]}}}, SITE)
    ended = asyncio.run(executor.run(nasty, launch_of({"command": "it"}, payload=nasty)))
    assert ended.result is not None
    assert json.loads(ended.result) == [[nasty], nasty]


def test_what_anybody_sends_never_becomes_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments are the operator's, whatever the payload; nor does the kernel show what surrounds us."""
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", CANARY)
    code = (
        "import json, sys; read = lambda name: open('/proc/self/' + name, 'rb').read().decode(errors='replace');"
        "print(json.dumps([sys.argv[1:], read('environ'), len(read('cmdline').split(chr(0)))]))"
    )
    executor = CommandExecutor(
        {"commands": {"it": {"argv": [*python(code), "fixed"]}}}, ExecutorEnv(max_result_bytes=10_000)
    )
    lengths = set()
    for payload in ["", "-c", "--help", "a b\x00c", ["x"] * 100, {"argv": ["sh"]}, "\n\n", "\ud7ff\U0010ffff"]:
        ended = asyncio.run(executor.run(payload, launch_of({"command": "it"}, payload=payload)))
        arguments, environment, length = json.loads(str(ended.result))
        assert arguments == ["fixed"]
        assert CANARY not in environment
        lengths.add(length)
    assert len(lengths) == 1


def test_a_program_that_is_not_there() -> None:
    executor = CommandExecutor({"commands": {"it": {"argv": ["/nowhere/at-all"]}}}, SITE)
    with pytest.raises(LaunchError, match="cannot start /nowhere/at-all: No such file"):
        asyncio.run(executor.run(None, launch_of({"command": "it"})))


@pytest.mark.parametrize(
    ("configured", "problem"),
    [
        ({"commands": []}, "commands"),
        ({"commands": {"it": "echo hello"}}, "commands.it"),
        ({"commands": {"it": {}}}, "argv"),
        ({"commands": {"it": {"argv": "echo hello"}}}, "argv"),
        ({"commands": {"it": {"argv": []}}}, "argv"),
        ({"commands": {"it": {"argv": ["echo", 5]}}}, "argv"),
        ({"commands": {"it": {"argv": ["a\x00b"]}}}, "argv"),
        ({"commands": {"it": {"argv": ["sh", "-c", "echo"]}}}, "is a shell"),
        ({"commands": {"it": {"argv": ["/bin/bash", "x"]}}}, "is a shell"),
        ({"commands": {"it": {"argv": ["echo"], "shell": True}}}, "commands.it.shell"),
        ({"commands": {"it": {"argv": ["echo"], "env": {"A": 1}}}}, "env"),
        ({"commands": {"it": {"argv": ["echo"], "timeout_ms": 0}}}, "timeout_ms"),
        ({"enabled": True}, "executors.command.enabled"),
    ],
)
def test_a_configuration_that_cannot_be(configured: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidField, match=problem):
        CommandExecutor(configured, SITE)


def test_a_command_that_leaves_something_behind_has_ended_all_the_same() -> None:
    """A child that holds the output open kept the run executing for as long as it lived."""
    child = "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])"
    ended = called(f"import subprocess, sys; print('done', flush=True); {child}")
    assert (ended.state, ended.result) == (RunState.SUCCESS, '"done"')
