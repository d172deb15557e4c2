"""Lazy imports: quick commands do not load engines, drivers and servers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import tompion
from tests.support.command_line import run
from tompion.cli import main
from tompion.cli.lazy import CommandEntry, LazyCommand

HEAVY = (
    "psycopg",
    "starlette",
    "uvicorn",
    "sqlite3",
    "asyncio",
    "tompion.sdk.app",
    "tompion.engine",
    "tompion.store",
)
COMMAND_MODULES = "tompion.cli.commands."
MAX_DESCRIPTION = 75
MAX_MODULES = 12
"""Limit of our own modules that help, version and completion may load. The command table and the errors need 5."""
MAX_MODULES_OF_A_COMMAND = 45
"""Limit of our own modules that the help of one command may load."""
RUN = """
import sys
sys.argv = ["tompion", *sys.argv[1:]]
from tompion.cli.main import main
try:
    main()
except SystemExit:
    pass
print("loaded:", *sys.modules)
"""


def loaded_modules(code: str, *words: str, **environment: str) -> set[str]:
    """Return the modules that are loaded after the code, in a new interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return set(result.stdout.splitlines()[-1].split()[1:])


def own_modules(modules: set[str]) -> list[str]:
    """Return the modules of Tompion."""
    return sorted(name for name in modules if name.partition(".")[0] == "tompion")


def test_importing_tompion_loads_no_other_module_of_it() -> None:
    assert own_modules(loaded_modules('import sys, tompion; print("loaded:", *sys.modules)')) == ["tompion"]


def test_computing_ticks_loads_no_heavy_module() -> None:
    modules = loaded_modules(RUN, "next", "@daily", "-n", "1")
    assert [name for name in HEAVY if name in modules] == []


def test_help_loads_no_command() -> None:
    modules = loaded_modules(RUN, "--help")
    assert [name for name in modules if name.startswith(COMMAND_MODULES)] == []
    assert [name for name in HEAVY if name in modules] == []
    assert len(own_modules(modules)) <= MAX_MODULES


def test_a_command_loads_no_other_group() -> None:
    modules = loaded_modules(RUN, "keys", "--help")
    assert [name for name in modules if name.startswith(COMMAND_MODULES)] == ["tompion.cli.commands.keys"]
    assert [name for name in HEAVY if name in modules] == []


def test_version_loads_no_other_command() -> None:
    modules = loaded_modules(RUN, "--version")
    assert [name for name in modules if name.startswith(COMMAND_MODULES)] == ["tompion.cli.commands.version"]
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.parametrize("words", ["tompion sched", "tompion schedules pau", "tompion schedules pause --"])
def test_completion_of_commands_and_options_loads_no_heavy_module(words: str) -> None:
    environment = {
        "_TOMPION_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    modules = loaded_modules(RUN, **environment)
    assert [name for name in HEAVY if name in modules] == []
    if words == "tompion sched":
        assert [name for name in modules if name.startswith(COMMAND_MODULES)] == []


@pytest.mark.parametrize("entry", [entry for entries in main.COMMANDS.values() for entry in entries])
def test_the_table_of_commands_has_their_descriptions(entry: CommandEntry) -> None:
    command = LazyCommand(entry, "panel").command
    assert command.name == entry.name
    assert command.help.splitlines()[0] == entry.help


def test_a_wrong_command_is_rejected_with_a_suggestion() -> None:
    result = run(["schedule", "list"])
    assert (result.code, result.out) == (2, "")
    assert "No such command 'schedule'" in result.err
    assert "'schedules'" in result.err


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("trigger", "use 'tompion schedules trigger'"), ("retry", "use 'tompion runs retry'")],
)
def test_a_command_without_its_group_is_rejected_with_its_full_name(name: str, remedy: str) -> None:
    result = run([name, "report"])
    assert (result.code, result.out) == (2, "")
    assert f"there is no command '{name}'; {remedy}" in result.err


def test_version_is_a_command_and_an_option() -> None:
    by_command, by_option = run(["version"]), run(["--version"])
    assert by_command == by_option
    assert by_command.out.startswith(f"tompion {version('tompion')} (time zone data 20")


def test_the_app_classes_are_imported_on_first_use() -> None:
    from tompion.sdk.app import AsyncTompion, Tompion

    assert (tompion.AsyncTompion, tompion.Tompion) == (AsyncTompion, Tompion)
    assert set(tompion.__all__) <= set(dir(tompion))
    assert all(getattr(tompion, name) is not None for name in tompion.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tompion' has no attribute 'Nothing'"):
        _ = tompion.Nothing  # type: ignore[attr-defined]  # the point of the test


UNUSED = ("celery", "temporalio", "opentelemetry.sdk", "psycopg", "jwt", "cryptography", "nats", "redis", "aio_pika")
SERVE = f"""
import os, sys
from tompion.cli.uvicorn_server import UvicornServer

async def serve(self, sockets=None):
    print([name for name in {UNUSED!r} if name in sys.modules], file=sys.stderr, flush=True)
    os._exit(0)

UvicornServer.serve = serve
sys.argv = ["tompion", "serve", "--port", "0"]
from tompion.cli.main import main
main()
"""


def test_a_service_loads_no_unused_module(tmp_path: Path) -> None:
    left = subprocess.run(
        [sys.executable, "-c", SERVE], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert left.stderr.splitlines()[-1] == "[]", left


def every_command(command: Any) -> Iterator[Any]:
    """Yield a command, loaded, and those below it."""
    loaded = command.command if isinstance(command, LazyCommand) else command
    yield loaded
    for inner in getattr(loaded, "commands", {}).values():
        yield from every_command(inner)


def test_help_describes_every_command_in_one_line_and_shows_no_type_of_a_flag() -> None:
    entries = [entry for panel in main.COMMANDS.values() for entry in panel]
    commands = [command for entry in entries for command in every_command(LazyCommand(entry, "panel"))]
    assert len(commands) > 70
    for command in commands:
        first = command.help.splitlines()[0]
        assert first.endswith("."), command.name
        assert len(first) <= MAX_DESCRIPTION, command.name
        flags = [parameter for parameter in command.params if getattr(parameter, "is_flag", False)]
        assert [flag.name for flag in flags if flag.metavar != ""] == []


ENTRIES = [entry for entries in main.COMMANDS.values() for entry in entries]


def command_lines() -> list[list[str]]:
    """Return the words of every command, also of those in groups."""
    lines: list[list[str]] = []
    for entry in ENTRIES:
        inner = getattr(LazyCommand(entry, "panel").command, "commands", None)
        lines += [[entry.name]] if inner is None else [[entry.name, name] for name in inner]
    return lines


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_the_help_of_a_command_loads_no_heavy_module(name: str) -> None:
    """Help must be quick. The number of modules decides that, and does not depend on the machine."""
    modules = loaded_modules(RUN, name, "--help")
    assert [heavy for heavy in HEAVY if heavy in modules] == []
    assert len(own_modules(modules)) <= MAX_MODULES_OF_A_COMMAND


@pytest.mark.parametrize("words", command_lines(), ids=" ".join)
def test_a_wrong_option_is_one_line_with_a_way_out(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run([*words, "--nonsense"])
    assert (result.code, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert "--nonsense" in line
    assert f"'tompion {' '.join(words)} --help' shows the options" in line
