"""The synchronous client, on the standard library alone."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, Unpack

from tompion.client.protocol import (
    ATTEMPTS,
    ApiRequest,
    ApiResponse,
    ClientOptions,
    RequestSender,
    answer,
    broken,
    is_final,
    look,
    pause_s,
    question,
)
from tompion.contract.methods import SyncMethods
from tompion.runtime.clock import pause_thread

BROKEN = (OSError, http.client.HTTPException)


class Client(RequestSender, SyncMethods):
    """A service somewhere else, asked synchronously.

    >>> with Client("http://127.0.0.1:8640") as tompion:
    ...     tompion.pause("report", note="maintenance")
    """

    def __init__(self, url: str, **given: Unpack[ClientOptions]) -> None:
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

    def _answered(self, asked: ApiRequest) -> Any:
        for attempt in range(ATTEMPTS):
            last, sent, found = attempt == ATTEMPTS - 1, False, None
            try:
                connection = self._connected(fresh=not asked.repeatable)
                sent = True
                found = self._send(connection, asked)
            except BROKEN as error:
                self.close()
                if last or (sent and not asked.repeatable):
                    raise broken(self._address, asked, error, sent=sent) from error
            else:
                if last or is_final(asked, found):
                    return answer(asked, found)
            pause_thread(pause_s(attempt, found))
        raise AssertionError("the last attempt returns or raises")

    def _connected(self, *, fresh: bool) -> http.client.HTTPConnection:
        """Return this thread's connection; a ``fresh`` one is none that the service may have closed meanwhile."""
        if fresh:
            self.close()
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        if connection.sock is None:
            connection.connect()
        return connection

    @staticmethod
    def _send(connection: http.client.HTTPConnection, asked: ApiRequest) -> ApiResponse:
        connection.request(asked.method, asked.target, asked.body, asked.headers)
        found = connection.getresponse()
        return ApiResponse(found.status, found.read(), found.getheader("Retry-After"))

    def _connect(self) -> http.client.HTTPConnection:
        where = self._address
        if where.secure:
            return http.client.HTTPSConnection(where.host, where.port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(where.host, where.port, timeout=self._timeout_s)
