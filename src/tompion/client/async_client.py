"""The asynchronous client, on aiohttp."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tompion.client.protocol import (
    MAX_ATTEMPTS,
    ApiRequest,
    ApiResponse,
    RequestSender,
    build_request,
    connection_error,
    is_final,
    result_of,
    retry_delay_s,
)
from tompion.contract.async_methods import AsyncMethods
from tompion.contract.stubs import OperationStub
from tompion.errors import TompionError
from tompion.runtime.clock import pause

if TYPE_CHECKING:
    from aiohttp import ClientSession


class AsyncClient(RequestSender, AsyncMethods):
    """A client for a remote service with asynchronous methods.

    >>> async with AsyncClient("http://127.0.0.1:8640") as tompion:
    ...     await tompion.pause("report", note="maintenance")
    """

    _session: ClientSession | None = None

    async def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        """Return the client. It connects with the first call."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.close()

    async def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Send the request of an operation, with retries, and return its result."""
        try:
            from aiohttp import ClientConnectorError, ClientError
        except ModuleNotFoundError as error:
            raise TompionError("AsyncClient needs aiohttp; pip install 'tompion-client[async]'") from error
        request = build_request(self._address, operation, args, kwargs)
        for attempt in range(MAX_ATTEMPTS):
            is_last, response = attempt == MAX_ATTEMPTS - 1, None
            try:
                response = await self._send(request)
            except (ClientError, OSError) as error:
                sent = not isinstance(error, ClientConnectorError)
                if is_last or (sent and not request.repeatable):
                    raise connection_error(self._address, request, error, sent=sent) from error
            else:
                if is_last or is_final(request, response):
                    return result_of(request, response)
            await pause(retry_delay_s(attempt, response))
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, request: ApiRequest) -> ApiResponse:
        """Send a request once and return the response."""
        from aiohttp import ClientSession, ClientTimeout
        from yarl import URL

        if self._session is None:
            self._session = ClientSession(timeout=ClientTimeout(total=self._timeout_s))
        url = URL(f"{self._address.origin}{request.target}", encoded=True)
        async with self._session.request(
            request.method,
            url,
            data=request.body,
            headers=request.headers,
            ssl=self._tls or True,
            allow_redirects=False,
        ) as response:
            return ApiResponse(
                status=response.status, body=await response.read(), retry_after=response.headers.get("Retry-After")
            )
