"""A scripted server: each request gets the next step, a response or a closed connection."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

SECONDS = 120
Step = Callable[[], bytes | None]


def answering(status: int, content: Any = None, **headers: str) -> Step:
    """A step that answers."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda: "\r\n".join([*lines, "", ""]).encode() + body


def hanging_up() -> bytes | None:
    """A step that reads the request, and hangs up without an answer."""
    return None


class Scripted:
    """Listens on a free port. Each request gets the next step."""

    def __init__(self, *steps: Step) -> None:
        self._steps: Sequence[Step] = steps
        self.heads: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(SECONDS)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        left = list(self._steps)
        while left:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # the test is over
                return
            connection.settimeout(SECONDS)
            with connection, connection.makefile("rwb") as talking:
                while left and (head := _read_request(talking)):
                    self.heads.append(head)
                    reply = left.pop(0)()
                    if reply is None:
                        break
                    talking.write(reply)
                    talking.flush()

    def close(self) -> None:
        """Stop listening. Later connections are refused."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(SECONDS)


def _read_request(talking: Any) -> str:
    lines: list[str] = []
    while (line := talking.readline().decode().strip()) or not lines:
        if not line:
            return ""
        lines.append(line)
    length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
    talking.read(length)
    return "\n".join(lines)
