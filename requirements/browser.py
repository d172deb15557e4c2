"""Install Debian's Chromium for the tests of the web UI: `make browser` calls this.

    python3 requirements/browser.py

It needs nothing but a bare Python. `make test` installs no system packages: without a browser it skips the tests of the
web UI and prints how to install one. The tests fail instead if TOMPION_TEST_REQUIRE_BROWSER is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
VARIABLE = "TOMPION_TEST_BROWSER"
REQUIRED = "TOMPION_TEST_REQUIRE_BROWSER"
COMMANDS = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)
NO_BROWSER = f"no browser is installed: run `make browser` as root (Debian, Ubuntu), or set {VARIABLE} to its path"


def browser_path() -> str | None:
    """Return the browser of this machine, or the one that the environment variable names."""
    named = os.environ.get(VARIABLE)
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def main(run: Callable[[tuple[str, ...]], bool], *, is_root: bool) -> int:
    """Install a browser if there is none. Return the exit code."""
    if browser_path() is not None:
        return 0
    if is_root and shutil.which("apt-get"):
        print("installing Debian's chromium for the tests of the web UI …", flush=True)
        if all(run(command) for command in COMMANDS) and browser_path() is not None:
            return 0
    print(NO_BROWSER, file=sys.stderr)
    return 1


def succeeds(command: tuple[str, ...]) -> bool:
    """Run a command without input and return whether it succeeded."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(succeeds, is_root=os.geteuid() == 0))
