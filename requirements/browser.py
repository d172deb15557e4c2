"""Find the browser that looks at the page, and install Debian's Chromium where there is none: `make test` calls this.

    python3 requirements/browser.py

It asks for nothing but a bare Python, and fails never: tests of the page are skipped without a browser, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
VARIABLE = "TOMPION_BROWSER"
COMMANDS = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)
WANTED = (
    "no browser is installed, so the tests of the page are skipped: apt-get install chromium (as root), "
    f"or name one by {VARIABLE}"
)


def found() -> str | None:
    """Return the browser of this machine; the variable names another."""
    named = os.environ.get(VARIABLE)
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def main(run: Callable[[tuple[str, ...]], bool], *, is_root: bool) -> int:
    """Install a browser if there is none and we may, or say what to install."""
    if found() is not None:
        return 0
    if is_root and shutil.which("apt-get"):
        print("installing Debian's chromium, for the tests of the page …", flush=True)
        if all(run(command) for command in COMMANDS) and found() is not None:
            return 0
    print(WANTED, file=sys.stderr)
    return 0


def succeeds(command: tuple[str, ...]) -> bool:
    """Run a command that asks nobody anything, and tell whether it worked."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(succeeds, is_root=os.geteuid() == 0))
