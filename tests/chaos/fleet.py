"""The worker processes of a trial, each behind a proxy of its own if wanted, and none left when the trial is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.chaos.recorder import LOG_VARIABLE, Line, read_lines
from tests.support.servers import LOOPBACK
from tests.support.servers.proxy import TcpProxy

ROOT = Path(__file__).resolve().parents[2]
SECONDS_TO_STOP = 120


class Worker:
    """One place in the fleet: a way to the database that stays, and processes that come and go."""

    def __init__(self, index: int, url: str, directory: Path) -> None:
        self.index = index
        self._url = url
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.names: dict[int, str] = {}
        """The names of its instances by process id."""
        self.exits: list[int] = []
        """The exit codes of stopped processes."""

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of now, dead or alive."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start a process, unless there is one."""
        if self._process is not None and self._process.poll() is None:
            return
        name = f"chaos-{self.index}-{len(self.names)}"
        base = self._directory / name
        with base.with_suffix(".err").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.worker", self._url, name, str(base.with_suffix(".counts"))],
                cwd=ROOT,
                env={**os.environ, LOG_VARIABLE: str(base.with_suffix(".log"))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.names[self._process.pid] = name

    def last_launch(self) -> int:
        """Return when the current process last logged a launch, in nanoseconds, or 0."""
        log = self._directory / f"{self.names[self.process.pid]}.log"
        return log.stat().st_mtime_ns if log.exists() else 0

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if the process is alive."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(SECONDS_TO_STOP)

    def stop(self) -> None:
        """Signal the process to end. :meth:`ended` waits for it."""
        self.signal(signal.SIGTERM)

    def ended(self) -> None:
        """Wait for a stopping process and store its exit code."""
        try:
            self.exits.append(self.process.wait(SECONDS_TO_STOP))
        except subprocess.TimeoutExpired:
            self.exits.append(-1)
            self.kill()


class Fleet:
    """Some workers. Use as a context manager: whatever happens inside, nothing runs afterwards."""

    def __init__(self, size: int, port: int | None, url: str, directory: Path) -> None:
        self._size = size
        self._port = port
        self._url = url
        self._directory = directory
        self._stack = ExitStack()
        self.workers: list[Worker] = []
        self.proxies: list[TcpProxy] = []
        """The way of each worker to the database."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for index in range(self._size):
                worker = Worker(index, self._way(stack), self._directory)
                stack.callback(worker.kill)
                self.workers.append(worker)
                worker.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _way(self, stack: ExitStack) -> str:
        if self._port is None:
            return self._url
        proxy = stack.enter_context(TcpProxy(LOOPBACK, self._port))
        self.proxies.append(proxy)
        return proxy.reroute(self._url) + "?connect_timeout=2"

    def stop(self) -> None:
        """Ask all to end, and wait until they have."""
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.ended()

    def lines(self) -> list[Line]:
        """Return every launch that any process has logged."""
        return [line for path in sorted(self._directory.glob("*.log")) for line in read_lines(path)]

    def counts(self) -> Counter[str]:
        """Return what the probes have counted. Of a process that was killed, what it had counted shortly before."""
        total: Counter[str] = Counter()
        for path in self._directory.glob("*.counts"):
            total.update(json.loads(path.read_text()))
        return total

    def tracebacks(self) -> list[str]:
        """Return the tracebacks in the output of the processes, by file."""
        texts = [(path.name, path.read_text(errors="replace")) for path in sorted(self._directory.glob("*.err"))]
        return [f"{name}: …{text[text.index('Traceback') :][:2_000]}" for name, text in texts if "Traceback" in text]
