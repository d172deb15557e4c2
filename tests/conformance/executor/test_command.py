"""The command executor: input, environment, outcomes, and the commands that may run."""

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
"""Timeout of every wait."""


def executor_of(code: str, **declared: Any) -> CommandExecutor:
    return CommandExecutor({"commands": {"it": {"argv": python(code), **declared}}, "grace_ms": 200}, SITE)


def run_command(code: str, *, dag: Any = None, payload: Any = None, **declared: Any) -> Completed:
    async def scenario() -> Completed:
        async with asyncio.timeout(SECONDS):
            return await executor_of(code, **declared).run(dag, launch_of({"command": "it"}, payload=payload))

    return asyncio.run(scenario())


def test_command_gets_json_input_and_a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command gets JSON on its standard input, and none of the variables of the service."""
    monkeypatch.setenv("SECRET_OF_THE_SERVICE", CANARY)
    code = "import json, os, sys; print(json.dumps([json.load(sys.stdin), dict(os.environ)]))"
    executor = CommandExecutor(
        {"commands": {"it": {"argv": python(code), "env": {"COLOUR": "blue"}}}}, ExecutorEnv(max_result_bytes=10_000)
    )
    completed = asyncio.run(executor.run({"steps": [1]}, launch_of({"command": "it"}, payload={"n": 5})))
    assert completed.result is not None
    message, environment = json.loads(completed.result)
    assert (message["dag"], message["meta"]["payload"]) == ({"steps": [1]}, {"n": 5})
    assert message["meta"]["idempotency_key"] == environment["TOMPION_KEY"] == launch_of({}).idempotency_key
    assert environment["TOMPION_SCHEDULED_FOR"] == "2027-01-15T08:01:00+00:00"
    assert environment["COLOUR"] == "blue"
    inherited = {name for name in environment if not name.startswith("TOMPION_")} - {
        "PATH",
        "LANG",
        "COLOUR",
        "LC_CTYPE",
    }
    assert inherited == set()
    assert CANARY not in completed.result


ENDS = [
    ("pass", Completed()),
    ("print('hello')", Completed(result='"hello"')),
    ("print('{\"a\": 1}')", Completed(result='{"a": 1}')),
    ("import sys; print('x', file=sys.stderr); sys.exit(3)", Completed(RunState.FAILED, error="exit code 3: x")),
    ("import sys; print('only this'); sys.exit(1)", Completed(RunState.FAILED, error="exit code 1: only this")),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Completed(RunState.FAILED, error="killed by SIGKILL")),
]


@pytest.mark.parametrize(("code", "expected"), ENDS)
def test_exit_status_determines_the_outcome(code: str, expected: Completed) -> None:
    completed = run_command(code)
    assert (completed.state, completed.result, completed.error) == (expected.state, expected.result, expected.error)


def test_large_output_is_truncated_and_unread_input_is_ignored() -> None:
    """The command writes ten megabytes to both streams, and never reads its input."""
    completed = run_command(
        "import sys; [f.write('x' * 10_000_000) for f in (sys.stdout, sys.stderr)]", payload="y" * 1_000_000
    )
    assert completed.state is RunState.SUCCESS
    assert completed.result is not None
    assert len(completed.result) <= SITE.max_result_bytes


def test_slow_command_times_out() -> None:
    completed = run_command("import time; time.sleep(600)", timeout_ms=100)
    assert completed == Completed(RunState.TIMED_OUT, error="the command ran longer than its timeout_ms (100)")


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


def _wait_for_pids(path: Path) -> list[int]:
    """Wait until the command has written its process ids to a file."""
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, "the command has not started"
        threading.Event().wait(0.01)
    return [int(text) for text in path.read_text().split()]


def _is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"
    return False


def _stays_alive(pid: int) -> bool:
    """Return whether a process is still alive after a second. The parent that inherits it reaps it with a delay."""
    for _ in range(100):
        if not _is_alive(pid):
            return False
        threading.Event().wait(0.01)
    return True


def test_cancelled_command_is_killed_with_its_children(tmp_path: Path) -> None:
    """The command and its child ignore SIGTERM. Both are gone when the run has completed."""
    file = tmp_path / "pids"
    argv = [*python(STUBBORN), str(file)]
    executor = CommandExecutor({"commands": {"it": {"argv": argv}}, "grace_ms": 50}, SITE)

    async def scenario() -> list[int]:
        task = asyncio.create_task(executor.run(None, launch_of({"command": "it"})))
        pids = await asyncio.get_running_loop().run_in_executor(None, _wait_for_pids, Path(f"{file}.done"))
        assert all(map(_is_alive, pids))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pids

    assert not any(map(_stays_alive, asyncio.run(scenario())))


def test_command_cancelled_during_its_start_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process exists, but the executor has not received it yet."""
    executor = CommandExecutor({"commands": {"it": {"argv": [*python(STUBBORN), str(tmp_path / "pids")]}}}, SITE)
    started: list[int] = []

    async def scenario() -> None:
        spawn = executor._spawn

        async def slow_spawn(*args: Any) -> Any:
            process = await spawn(*args)
            started.append(process.pid)
            task.cancel()
            await asyncio.sleep(0)
            return process

        monkeypatch.setattr(executor, "_spawn", slow_spawn)  # as if the machine were busy
        task = asyncio.create_task(executor.run(None, launch_of({"command": "it"})))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert started
    assert not any(map(_stays_alive, started))


@pytest.mark.parametrize(
    "options",
    [{}, {"command": "other"}, {"command": "it; rm -rf /"}, {"command": ""}, {"command": None}, {"command": []}],
)
def test_undeclared_command_is_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(LaunchRefused, match="names a command that the operator has not declared"):
        asyncio.run(executor_of("print(1)").run(None, launch_of(options)))


def test_workflow_cannot_add_arguments() -> None:
    executor = executor_of("print(1)")
    for name, value in (("args", ["x"]), ("argv", ["sh"]), ("shell", True)):
        with pytest.raises(LaunchRefused, match="is not known"):
            asyncio.run(executor.run(None, launch_of({"command": "it", name: value})))


def test_no_input_is_interpreted_by_a_shell() -> None:
    """The operator's argument, the payload and the document reach the program unchanged."""
    nasty = "$(touch x) `id` ; | & > < * ' \" \\ \n"
    code = "import json, sys; print(json.dumps([sys.argv[1:], json.load(sys.stdin)['meta']['payload']]))"
    executor = CommandExecutor({"commands": {"it": {"argv": [*python(code), nasty]}}}, SITE)
    completed = asyncio.run(executor.run(nasty, launch_of({"command": "it"}, payload=nasty)))
    assert completed.result is not None
    assert json.loads(completed.result) == [[nasty], nasty]


def test_payload_never_becomes_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """The payload does not change the arguments, and the environment of the service is not in ``/proc``."""
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
        completed = asyncio.run(executor.run(payload, launch_of({"command": "it"}, payload=payload)))
        arguments, environment, length = json.loads(str(completed.result))
        assert arguments == ["fixed"]
        assert CANARY not in environment
        lengths.add(length)
    assert len(lengths) == 1


def test_missing_program_is_an_error() -> None:
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
def test_invalid_configuration_is_rejected(configured: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidField, match=problem):
        CommandExecutor(configured, SITE)


def test_run_ends_although_a_child_keeps_the_output_open() -> None:
    """A child that keeps the output open must not keep the run executing."""
    child = "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])"
    completed = run_command(f"import subprocess, sys; print('done', flush=True); {child}")
    assert (completed.state, completed.result) == (RunState.SUCCESS, '"done"')


def test_a_command_can_be_a_list() -> None:
    executor = CommandExecutor({"commands": {"it": python("print('worked')")}}, SITE)
    completed = asyncio.run(executor.run(None, launch_of({"command": "it"})))
    assert (completed.state, completed.result) == (RunState.SUCCESS, '"worked"')


def test_child_in_a_session_of_its_own_does_not_outlive_its_command(tmp_path: Path) -> None:
    """Regression: the run was ``TIMED_OUT`` although the command had exited with 0, and the child kept running."""
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys; "
        f"child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], start_new_session=True); "
        f"open({str(pid)!r}, 'w').write(str(child.pid)); print('done')"
    )
    assert run_command(code, timeout_ms=60_000).state is RunState.SUCCESS
    state = Path(f"/proc/{pid.read_text()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"
