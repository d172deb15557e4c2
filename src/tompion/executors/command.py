"""Runs as processes: commands that the operator has declared by name.

A workflow chooses a name.  It cannot add an argument, and no shell is involved.  The command gets the run as JSON on
its standard input and as ``TOMPION_*`` variables in an otherwise almost empty environment.  When a run is cancelled or
times out, the whole process group gets SIGTERM and then SIGKILL.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from tompion.encoding.bounded_text import text_as_json, truncate
from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.model.action_options import EXECUTOR_OPTIONS
from tompion.model.run import RunState

SETTINGS = ("commands", "max_active", "grace_ms")
COMMAND_FIELDS = ("argv", "env", "cwd", "timeout_ms")
SHELLS = frozenset(
    {"sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "pwsh", "rbash", "tcsh", "zsh", "cmd.exe"}
)
PATH = "/usr/local/bin:/usr/bin:/bin"
EXIT_POLL_S = 0.5
"""The interval of checks whether the process has exited while its output is open."""
OUTPUT_GRACE_S = 1.0
"""How long to read output after the process has exited, if a child process of it keeps the output open."""
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the operator has declared."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    timeout_ms: int | None = None


class CommandExecutor(Executor):
    """Starts declared commands."""

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "command", *SETTINGS)
        declared = configured.get("commands", {})
        if not isinstance(declared, Mapping):
            raise InvalidField("executors.command.commands", "expected a table of commands by name")
        self._commands = {name: read_command(name, fields) for name, fields in declared.items()}
        self._grace_s = int_setting(configured, "command", "grace_ms", 5_000, 0) / 1000
        self._max_bytes = env.max_result_bytes
        self.max_active: int = int_setting(configured, "command", "max_active", 64)

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        """Start the command and wait until it exits."""
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["command"])
        name = run_context.options.get("command")
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise LaunchRefused("the workflow names a command that the operator has not declared")
        process = await self._start(command, run_context)
        try:
            async with asyncio.timeout(None if command.timeout_ms is None else command.timeout_ms / 1000):
                return await self._wait(process, dag, run_context)
        except TimeoutError:
            return Completed(
                RunState.TIMED_OUT, error=f"the command ran longer than its timeout_ms ({command.timeout_ms})"
            )
        finally:
            await self._kill(process)

    async def _start(self, command: Command, run_context: RunContext) -> Process:
        """Start the command. If this task is cancelled meanwhile, kill the process, which has no other owner yet."""
        starting = asyncio.ensure_future(self._spawn(command, run_context))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(LaunchError):
                await self._kill(await starting)
            raise

    async def _spawn(self, command: Command, run_context: RunContext) -> Process:
        """Start the process of a run."""
        try:
            return await asyncio.create_subprocess_exec(
                *command.argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env={"PATH": PATH, "LANG": "C.UTF-8", **command.env, **environment_of(run_context)},
                cwd=command.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise LaunchError(f"cannot start {command.argv[0]}: {error.strerror}") from None

    async def _wait(self, process: Process, dag: Any, run_context: RunContext) -> Completed:
        """Send the input, read the output, and return the result of a process."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        document = json.dumps({"dag": dag, "meta": run_context.meta}).encode()
        reading = [
            asyncio.ensure_future(_read_limited(stream, self._max_bytes)) for stream in (process.stdout, process.stderr)
        ]
        writing = asyncio.ensure_future(_write_input(process.stdin, document))
        try:
            await self._wait_for_output(process, reading, run_context)
            out, err = [await reader for reader in reading]
            code = await process.wait()
        finally:
            for task in (*reading, writing):
                task.cancel()
        if code == 0:
            return Completed(result=text_as_json(out, self._max_bytes), execution_id=f"pid {process.pid}")
        exit_text = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        error = truncate(f"{exit_text}: {err or out}".rstrip(": \n"), self._max_bytes)
        return Completed(RunState.FAILED, error=error, execution_id=f"pid {process.pid}")

    async def _wait_for_output(
        self, process: Process, reading: Sequence[asyncio.Future[str]], run_context: RunContext
    ) -> None:
        """Wait until the output ends. Kill child processes that keep it open after the command has exited."""
        while process.returncode is None and (await asyncio.wait(reading, timeout=EXIT_POLL_S))[1]:
            pass
        if (await asyncio.wait(reading, timeout=OUTPUT_GRACE_S))[1]:
            _send(process, signal.SIGKILL)
            if (await asyncio.wait(reading, timeout=OUTPUT_GRACE_S))[1]:  # a child in a session of its own
                await asyncio.to_thread(_kill_descendants, environment_of(run_context))

    async def _kill(self, process: Process) -> None:
        """End the whole process group: SIGTERM, a grace period, SIGKILL."""
        if process.returncode is None:
            _send(process, signal.SIGTERM)
            # Not asyncio.timeout: early releases of 3.11 confuse it with the cancellation of the task.
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=self._grace_s)
        _send(process, signal.SIGKILL)  # also child processes of a leader that has exited
        await process.wait()


def read_command(name: str, declared: object) -> Command:
    """Return a command from its declaration in the configuration."""
    where = f"executors.command.commands.{name}"
    if isinstance(declared, list | tuple):
        declared = {"argv": declared}
    if not isinstance(declared, Mapping):
        raise InvalidField(where, "expected a list, the program and its arguments, or a table with argv")
    for key in declared:
        if key not in COMMAND_FIELDS:
            raise InvalidField(f"{where}.{key}", f"there is no such option; expected {', '.join(COMMAND_FIELDS)}")
    argv = declared.get("argv")
    if not isinstance(argv, list | tuple) or not argv or not all(type(word) is str and word for word in argv):
        raise InvalidField(f"{where}.argv", "expected a list of strings: the program and its arguments")
    if any("\x00" in word for word in argv):
        raise InvalidField(f"{where}.argv", "must not contain NUL characters")
    if PurePath(argv[0]).name in SHELLS:
        raise InvalidField(f"{where}.argv", f"{argv[0]} is a shell; name the program or the script itself")
    env = declared.get("env", {})
    if not isinstance(env, Mapping) or not all(type(text) is str for pair in env.items() for text in pair):
        raise InvalidField(f"{where}.env", "expected a table of texts")
    timeout_ms = declared.get("timeout_ms")
    if timeout_ms is not None and (type(timeout_ms) is not int or timeout_ms < 1):
        raise InvalidField(f"{where}.timeout_ms", "expected a whole number from 1")
    return Command(tuple(argv), dict(env), declared.get("cwd"), timeout_ms)


def environment_of(run_context: RunContext) -> dict[str, str]:
    """Return the environment variables that describe a run."""
    variables = {
        "KEY": run_context.idempotency_key,
        "RUN_ID": run_context.run_id,
        "NAMESPACE": run_context.namespace,
        "SCHEDULE_ID": run_context.schedule_id,
        "SCHEDULED_FOR": run_context.run_at.isoformat(),
        "SOURCE": run_context.source,
        "ATTEMPT": str(run_context.attempt),
        "USER_ID": run_context.user_id or "",
        "WORKFLOW_ID": run_context.action.workflow_id or "",
    }
    trace_variables = {} if run_context.traceparent is None else {"TRACEPARENT": run_context.traceparent}
    return {**{f"TOMPION_{name}": value for name, value in variables.items()}, **trace_variables}


def _send(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _kill_descendants(variables: Mapping[str, str]) -> None:
    """Kill the processes with the environment of a run, also in other sessions, where /proc shows it."""
    marks = {f"{name}={variables[name]}".encode() for name in ("TOMPION_KEY", "TOMPION_ATTEMPT")}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if marks <= set((folder / "environ").read_bytes().split(b"\x00")):
                os.kill(int(folder.name), signal.SIGKILL)


async def _read_limited(stream: asyncio.StreamReader, limit: int) -> str:
    """Read a stream to its end, so that the writer is never blocked, and return its beginning."""
    start = bytearray()
    while chunk := await stream.read(CHUNK_BYTES):
        start += chunk[: max(0, limit + 1 - len(start))]
    return truncate(start.decode(errors="replace"), limit)


async def _write_input(stream: asyncio.StreamWriter, document: bytes) -> None:
    """Write the run to a command, which may not read it."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(document)
        await stream.drain()
    with suppress(BrokenPipeError, ConnectionResetError, OSError):
        stream.close()
        await stream.wait_closed()
