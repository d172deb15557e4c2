"""The synchronous client, on the standard library alone."""

from __future__ import annotations

import http.client
import threading
from types import TracebackType
from typing import Any, Self, Unpack

from tompion.client.protocol import (
    MAX_ATTEMPTS,
    ApiRequest,
    ApiResponse,
    ClientOptions,
    RequestSender,
    build_request,
    build_system_request,
    connection_error,
    is_final,
    result_of,
    retry_delay_s,
)
from tompion.contract.stubs import OperationStub
from tompion.contract.sync_methods import SyncMethods
from tompion.runtime.clock import pause_thread

CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class Client(RequestSender, SyncMethods):
    """A client for a remote service with synchronous methods. Each thread has a connection of its own.

    >>> with Client("http://127.0.0.1:8640") as tompion:
    ...     tompion.pause("report", note="maintenance")
    """

    def __init__(self, url: str, **options: Unpack[ClientOptions]) -> None:
        super().__init__(url, **options)
        self._local = threading.local()

    def close(self) -> None:
        """Close this thread's connection. The next call opens a new one."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        """Return the client. It connects with the first call."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close this thread's connection."""
        self.close()

    def read(self, path: str) -> Any:
        """Return the JSON of a system route below ``/api/v1``, such as ``/config``."""
        return self._send_with_retries(build_system_request(self._address, path))

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return self._send_with_retries(build_request(self._address, operation, args, kwargs))

    def _send_with_retries(self, request: ApiRequest) -> Any:
        """Send a request, with retries if they are safe, and return its result."""
        for attempt in range(MAX_ATTEMPTS):
            is_last, sent, response = attempt == MAX_ATTEMPTS - 1, False, None
            try:
                connection = self._connection(fresh=not request.repeatable)
                sent = True
                response = self._send(connection, request)
            except CONNECTION_ERRORS as error:
                self.close()
                if is_last or (sent and not request.repeatable):
                    raise connection_error(self._address, request, error, sent=sent) from error
            else:
                if is_last or is_final(request, response):
                    return result_of(request, response)
            pause_thread(retry_delay_s(attempt, response))
        raise AssertionError("the last attempt returns or raises")

    def _connection(self, *, fresh: bool) -> http.client.HTTPConnection:
        """Return this thread's connection. A ``fresh`` one is new, so the service cannot have closed it."""
        if fresh:
            self.close()
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        if connection.sock is None:
            connection.connect()
        return connection

    @staticmethod
    def _send(connection: http.client.HTTPConnection, request: ApiRequest) -> ApiResponse:
        connection.request(request.method, request.target, request.body, request.headers)
        response = connection.getresponse()
        return ApiResponse(status=response.status, body=response.read(), retry_after=response.getheader("Retry-After"))

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._address.secure:
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
