"""Builds the package ``tompion_client`` from the modules of ``tompion`` that a client needs.

Two distributions must not install the same files. So the modules of the client are copied under another name, with
their imports renamed. In the repository they come from ``src/tompion``, and in an sdist they are there already.
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src" / "tompion"
NAME = "tompion_client"
COMMANDS = (
    "top", "schedule_group", "runs", "workflows", "calendars", "queues", "instances", "stats", "audit", "verify",
    "keys", "spec", "version",
)  # fmt: skip
"""Modules of commands that work with a service, or without one."""
ROOTS = ("client", "client.async_client", "sdk.spec", "cli.main", *(f"cli.commands.{name}" for name in COMMANDS))
SERVER = (
    "api", "bootstrap", "config", "engine", "executors", "operations", "outbound", "plan", "store", "testing", "web",
    "cli.logging", "contract.routes", "sdk.app", "sdk.declarations", "sdk.remote_worker", "sdk.run_launcher",
)  # fmt: skip
"""Packages and modules that only a server needs. The client imports them inside of functions, or not at all."""


class ClientPackageHook(BuildHookInterface[Any]):
    """Writes the package to a temporary folder, and includes it in the distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include the package."""
        if not SOURCE.is_dir():  # in an sdist, which has the package
            return
        self.folder = Path(tempfile.mkdtemp(prefix=NAME))  # removed by finalize
        write_package(self.folder / NAME)
        build_data["force_include"][str(self.folder / NAME)] = NAME if self.target_name == "wheel" else f"src/{NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if SOURCE.is_dir():
            shutil.rmtree(self.folder)


def write_package(folder: Path) -> None:
    """Write the package to a folder."""
    modules = needed_modules()
    for module, path in modules.items():
        target = folder / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if module == "":
            text = public_names(text, modules)
        elif module == "cli.main":
            text = without_server_commands(text, modules)
        target.write_text(renamed(text), encoding="utf-8")
    (folder / "__main__.py").write_text(renamed((SOURCE / "__main__.py").read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "py.typed").touch()


def needed_modules() -> dict[str, Path]:
    """Return the modules that the roots import, directly or not, by name below ``tompion``."""
    modules: dict[str, Path] = {}
    waiting = ["", *ROOTS]
    while waiting:
        module = waiting.pop()
        path = path_of(module)
        if module in modules or path is None or is_of_server(module):
            continue
        modules[module] = path
        waiting += module.rpartition(".")[0], *(imports_of(path) if module else ())
    return modules


def is_of_server(module: str) -> bool:
    """Return whether only a server needs a module."""
    return any(module == name or module.startswith(f"{name}.") for name in SERVER)


def path_of(module: str) -> Path | None:
    """Return the file of a module, or ``None`` for a name inside of a module."""
    path = SOURCE.joinpath(*module.split(".")) if module else SOURCE
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def imports_of(path: Path) -> Iterator[str]:
    """Yield the modules of ``tompion`` that a module imports, also those inside of functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tompion":
            module = (node.module or "").removeprefix("tompion").removeprefix(".")
            yield module
            yield from (f"{module}.{alias.name}".removeprefix(".") for alias in node.names)


def renamed(text: str) -> str:
    """Return source with the names of the package and of its command replaced."""
    parts = "|".join(sorted({path.stem for path in SOURCE.iterdir() if not path.stem.startswith("_")}))
    words = "schedules|runs|workflows|calendars|queues|instances|upcoming|stats|problems|forecast|audit|verify|keys|top"
    text = re.sub(rf"\btompion\.({parts})\b", rf"{NAME}.\1", text)
    text = re.sub(r"^(\s*)(from|import) tompion\b", rf"\1\2 {NAME}", text, flags=re.MULTILINE)
    text = re.sub(rf"\btompion (?=(?:{words}|next|explain|lint|version)\b)", "tompion-client ", text)
    return text.replace('PROGRAM = "tompion"\n', 'PROGRAM = "tompion-client"\n')


def without_server_commands(text: str, modules: dict[str, Path]) -> str:
    """Return the table of commands without those whose module is not part of the package."""

    def has_module(line: str) -> bool:
        entry = re.match(r'\s+_(?:command|group)\("(\w+)".*?(?:, "(\w+)")?\),?\)?,?$', line)
        return entry is None or f"cli.commands.{entry[2] or entry[1]}" in modules

    return "\n".join(line for line in text.split("\n") if has_module(line))


def public_names(text: str, modules: dict[str, Path]) -> str:
    """Return ``tompion/__init__.py`` with the names of modules that are part of the package."""
    tree = ast.parse(text)
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(isinstance(item, ast.ImportFrom) for item in node.body):
            node.body = [item for item in node.body if _is_part(item, modules)]
            names = {alias.asname or alias.name for item in node.body for alias in getattr(item, "names", ())}
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            node.elts = [item for item in node.elts if isinstance(item, ast.Constant) and item.value in names]
        if isinstance(node, ast.Dict):
            pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if _value(key) in names]
            node.keys, node.values = [key for key, _ in pairs], [value for _, value in pairs]
    documentation = '"""Clients of Tompion, a durable schedule service. The names in ``__all__`` are public."""\n'
    tree.body = tree.body[1:]
    return documentation + ast.unparse(tree)


def _is_part(item: ast.stmt, modules: dict[str, Path]) -> bool:
    return isinstance(item, ast.ImportFrom) and (item.module or "").removeprefix("tompion.") in modules


def _value(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
