"""The synchronous client, on the standard library alone."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, Unpack

from foliot.client.core import (
    ATTEMPTS,
    BUSY,
    RETRY_S,
    Caller,
    Given,
    Question,
    answer,
    look,
    question,
    unreachable,
)
from foliot.clock import wait_here
from foliot.methods import SyncMethods

BROKEN = (OSError, http.client.HTTPException)


class Client(Caller, SyncMethods):
    """A service somewhere else, asked synchronously.

    >>> with Client("http://127.0.0.1:8640") as foliot:
    ...     foliot.pause("report", note="maintenance")
    """

    def __init__(self, url: str, **given: Unpack[Given]) -> None:
        """Take the service's address, and the rest as every caller does; each thread has a connection of its own."""
        super().__init__(url, **given)
        self._local = threading.local()

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        """Nothing has to be opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def read(self, path: str) -> Any:
        """Return what an address below ``/api/v1`` says that is no operation, such as ``/config``."""
        return self._answered(look(self._address, path))

    def _ask(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return self._answered(question(self._address, operation, args, kwargs))

    def _answered(self, asked: Question) -> Any:
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1
            try:
                status, body = self._send(asked)
            except BROKEN as error:
                self.close()
                if last:
                    raise unreachable(self._address, error) from error
            else:
                if status not in BUSY or last:
                    return answer(asked, status, body)
            wait_here(RETRY_S * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _send(self, asked: Question) -> tuple[int, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        connection.request(asked.method, asked.target, asked.body, asked.headers)
        found = connection.getresponse()
        return found.status, found.read()

    def _connect(self) -> http.client.HTTPConnection:
        where = self._address
        if where.secure:
            return http.client.HTTPSConnection(where.host, where.port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(where.host, where.port, timeout=self._timeout_s)
