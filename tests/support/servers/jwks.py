"""A server that publishes keys, as an issuer of tokens does. The test sets its responses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOVED = "?moved"
"""Suffix of the address that always responds correctly."""


class Publisher:
    """The published keys, and the number of fetches."""

    def __init__(self) -> None:
        self.content = b""
        self.status = 200
        self.headers: dict[str, str] = {}
        self.fetched = 0
        self.before: Callable[[], object] = lambda: None
        self.url = ""


@contextmanager
def publishing() -> Iterator[Publisher]:
    """Serve the keys on a free port of loopback during the block."""
    publisher = Publisher()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            publisher.fetched += 1
            publisher.before()
            self.send_response(200 if self.path.endswith(MOVED) else publisher.status)
            for name, value in publisher.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(publisher.content)))
            self.end_headers()
            self.wfile.write(publisher.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        publisher.url = f"http://127.0.0.1:{server.server_address[1]}/keys.json"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield publisher
        finally:
            server.shutdown()
            thread.join()
