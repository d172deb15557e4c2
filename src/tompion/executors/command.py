"""Runs as processes: commands that the operator has declared, by name, and nothing else.

A workflow chooses a name; it cannot add an argument, and no shell ever sees anything.  What the command must know comes
as JSON on its standard input, and as ``TOMPION_*`` in an environment that is otherwise almost empty.  A run that is
cancelled, or too slow, takes everything with it: the whole process group is told to end, and then made to.
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
from pathlib import PurePath
from typing import Any

from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.model.codec import text_as_json, truncate
from tompion.model.run import RunState

CONFIGURED = ("commands", "max_active", "grace_ms")
DECLARED = ("argv", "env", "cwd", "timeout_ms")
SHELLS = frozenset(
    {"sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "pwsh", "rbash", "tcsh", "zsh", "cmd.exe"}
)
PATH = "/usr/local/bin:/usr/bin:/bin"
LOOK_S = 0.5
"""How often to look whether a command has ended whose output has not."""
LAST_WORDS_S = 1.0
"""How long the output of a command that has ended is read on, if something that it has begun holds it open."""
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What the operator has declared."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    timeout_ms: int | None = None


class CommandExecutor(Executor):
    """Starts declared commands."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take the commands by name; without one there is nothing that could be run."""
        only(configured, "command", *CONFIGURED)
        declared = configured.get("commands", {})
        if not isinstance(declared, Mapping):
            raise InvalidField("executors.command.commands", "expected a table of commands by name")
        self._commands = {name: read_command(name, each) for name, each in declared.items()}
        self._grace_s = whole(configured, "command", "grace_ms", 5_000, 0) / 1000
        self._most_bytes = site.max_result_bytes
        self.max_active = whole(configured, "command", "max_active", 64)

    async def run(self, dag: Any, meta: RunContext) -> Completed:
        """Start the command and wait for its end."""
        known_options(meta.options, "command")
        name = meta.options.get("command")
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise LaunchRefused("the workflow's command is not one that the operator has declared")
        process = await self._begun(command, meta)
        try:
            async with asyncio.timeout(None if command.timeout_ms is None else command.timeout_ms / 1000):
                return await self._followed(process, dag, meta)
        except TimeoutError:
            return Completed(RunState.TIMED_OUT, error=f"it took longer than its timeout_ms ({command.timeout_ms})")
        finally:
            await self._ended(process)

    async def _begun(self, command: Command, meta: RunContext) -> Process:
        """Start the command; whoever is cancelled meanwhile ends it, because nobody else knows of it yet."""
        starting = asyncio.ensure_future(self._started(command, meta))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(LaunchError):
                await self._ended(await starting)
            raise

    async def _started(self, command: Command, meta: RunContext) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                *command.argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env={"PATH": PATH, "LANG": "C.UTF-8", **command.env, **about(meta)},
                cwd=command.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise LaunchError(f"cannot start {command.argv[0]}: {error.strerror}") from None

    async def _followed(self, process: Process, dag: Any, meta: RunContext) -> Completed:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said = json.dumps({"dag": dag, "meta": meta.meta}).encode()
        reading = [
            asyncio.ensure_future(_kept(stream, self._most_bytes)) for stream in (process.stdout, process.stderr)
        ]
        telling = asyncio.ensure_future(_told(process.stdin, said))
        try:
            await self._silence(process, reading)
            out, err = [await each for each in reading]
            code = await process.wait()
        finally:
            for each in (*reading, telling):
                each.cancel()
        if code == 0:
            return Completed(result=text_as_json(out, self._most_bytes), execution_id=f"pid {process.pid}")
        ended = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
        error = truncate(f"{ended}: {err or out}".rstrip(": \n"), self._most_bytes)
        return Completed(RunState.FAILED, error=error, execution_id=f"pid {process.pid}")

    async def _silence(self, process: Process, reading: Sequence[asyncio.Future[str]]) -> None:
        """Wait until a command says no more: its output has ended, or it has, and what it left behind is ended, too."""
        while process.returncode is None and (await asyncio.wait(reading, timeout=LOOK_S))[1]:
            pass
        if (await asyncio.wait(reading, timeout=LAST_WORDS_S))[1]:
            _send(process, signal.SIGKILL)

    async def _ended(self, process: Process) -> None:
        """See to it that nothing of a command is left: ask, wait a little, and force."""
        if process.returncode is None:
            _send(process, signal.SIGTERM)
            # Not asyncio.timeout: in a task that is being cancelled, early releases of 3.11 cannot tell the two apart.
            await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=self._grace_s)
        _send(process, signal.SIGKILL)  # also what a leader that has ended has left behind
        await process.wait()


def read_command(name: str, declared: object) -> Command:
    """Return a command that an operator has declared."""
    where = f"executors.command.commands.{name}"
    if not isinstance(declared, Mapping):
        raise InvalidField(where, "expected a table with argv")
    for key in declared:
        if key not in DECLARED:
            raise InvalidField(f"{where}.{key}", f"there is no such option; expected {', '.join(DECLARED)}")
    argv = declared.get("argv")
    if not isinstance(argv, list | tuple) or not argv or not all(type(each) is str and each for each in argv):
        raise InvalidField(f"{where}.argv", "expected a list of texts: the program and its arguments")
    if any("\x00" in each for each in argv):
        raise InvalidField(f"{where}.argv", "no NUL characters")
    if PurePath(argv[0]).name in SHELLS:
        raise InvalidField(f"{where}.argv", f"{argv[0]} is a shell; name the program or the script itself")
    env = declared.get("env", {})
    if not isinstance(env, Mapping) or not all(type(each) is str for pair in env.items() for each in pair):
        raise InvalidField(f"{where}.env", "expected a table of texts")
    timeout_ms = declared.get("timeout_ms")
    if timeout_ms is not None and (type(timeout_ms) is not int or timeout_ms < 1):
        raise InvalidField(f"{where}.timeout_ms", "expected a whole number from 1")
    return Command(tuple(argv), dict(env), declared.get("cwd"), timeout_ms)


def about(meta: RunContext) -> dict[str, str]:
    """Return what a command finds in its environment."""
    said = {
        "KEY": meta.key,
        "RUN_ID": meta.run_id,
        "NAMESPACE": meta.namespace,
        "SCHEDULE_ID": meta.schedule_id,
        "SCHEDULED_FOR": meta.scheduled_for.isoformat(),
        "SOURCE": meta.source,
        "ATTEMPT": str(meta.attempt),
        "USER_ID": meta.user_id or "",
        "WORKFLOW_ID": meta.action.workflow_id or "",
    }
    traced = {} if meta.traceparent is None else {"TRACEPARENT": meta.traceparent}
    return {**{f"TOMPION_{name}": value for name, value in said.items()}, **traced}


def _send(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _kept(stream: asyncio.StreamReader, limit: int) -> str:
    """Read a stream to its end, so that nobody waits to write, and keep its beginning."""
    kept = bytearray()
    while chunk := await stream.read(CHUNK):
        kept += chunk[: max(0, limit + 1 - len(kept))]
    return truncate(kept.decode(errors="replace"), limit)


async def _told(stream: asyncio.StreamWriter, said: bytes) -> None:
    """Write to a command that may not listen."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(said)
        await stream.drain()
    with suppress(BrokenPipeError, ConnectionResetError, OSError):
        stream.close()
        await stream.wait_closed()
