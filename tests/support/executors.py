"""Run contexts for the executors under test, and an HTTP server for them to call."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tompion.executors.base import RunContext
from tompion.model.run import RunRow
from tompion.model.schedule import Action

RUN = RunRow(
    7, 1_800_000_060, 0, "schedule", "ENQUEUED", None, 1, 1, 0, 1_800_000_060_000, None, 1, 1_800_000_060_000, None,
    None, None, None, None, None, None, False, None, None, None,
)  # fmt: skip
CANARY = "canary-4711-hunter2"
"""A fake secret, which must appear only at the target."""


def launch_of(
    options: dict[str, Any],
    *,
    payload: Any = None,
    attempt: int = 1,
    failures: int = 0,
    schedule_id: str = "report",
    **row: Any,
) -> RunContext:
    """Return the run context of one attempt of a workflow run."""
    text = None if payload is None else json.dumps(payload)
    action = Action(workflow_id="flow", user_id="u1")
    run = RUN._replace(attempt=attempt, failures=failures, **row)
    return RunContext(run, "default", schedule_id, action, text, options, sign=lambda subject: f"{subject}.signed")


def python(code: str) -> list[str]:
    """Return a command that runs Python code."""
    return [sys.executable, "-I", "-c", code]


@dataclass
class ReceivedRequest:
    """A request as the server received it."""

    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @property
    def json(self) -> Any:
        """The body, decoded from JSON."""
        return json.loads(self.body)


Answer = Callable[[ReceivedRequest], tuple[int, dict[str, str], bytes]]


@dataclass
class Server:
    """A real HTTP server on loopback, which records its requests."""

    url: str
    allow: str
    answer: Answer = lambda _: (200, {}, b"")
    seen: list[ReceivedRequest] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    hold: threading.Event = field(default_factory=threading.Event)


@contextmanager
def http_server(port: int = 0) -> Iterator[Server]:
    """Run the server during the block, on a free port by default."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            received = {name.lower(): value for name, value in self.headers.items()}
            request = ReceivedRequest(self.path, received, body, self.command)
            state.seen.append(request)
            state.arrived.release()
            if self.path == "/hold":
                state.hold.wait(120)
            status, headers, content = state.answer(request)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.do_POST()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    class Listener(ThreadingHTTPServer):
        request_queue_size = 128

        def handle_error(self, *arguments: Any) -> None:
            """Report errors, except for clients that close their connection."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(*arguments)

    server = Listener(("127.0.0.1", port), Handler)
    port = server.server_address[1]
    state = Server(f"http://127.0.0.1:{port}", f"127.0.0.1:{port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
