"""A service that does as it is told: it answers, or hangs up, request by request."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

SECONDS = 120
Step = Callable[[], bytes | None]


def answering(status: int, said: Any = None, **headers: str) -> Step:
    """A step that answers."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda: "\r\n".join([*lines, "", ""]).encode() + body


def hanging_up() -> bytes | None:
    """A step that reads the request, and hangs up without an answer."""
    return None


class Scripted:
    """Listens on a free port; each request is the next step's."""

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
                    said = left.pop(0)()
                    if said is None:
                        break
                    talking.write(said)
                    talking.flush()

    def close(self) -> None:
        """Stop listening; whoever asks then is refused."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(SECONDS)


def _read_request(talking: Any) -> str:
    lines: list[str] = []
    while (line := talking.readline().decode().strip()) or not lines:
        if not line:
            return ""
        lines.append(line)
    length = next((int(each.split(":")[1]) for each in lines if each.lower().startswith("content-length:")), 0)
    talking.read(length)
    return "\n".join(lines)
