"""The asynchronous client, on aiohttp."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tompion.client.protocol import (
    ATTEMPTS,
    ApiRequest,
    ApiResponse,
    RequestSender,
    answer,
    broken,
    is_final,
    pause_s,
    question,
)
from tompion.contract.methods import AsyncMethods
from tompion.runtime.clock import pause

if TYPE_CHECKING:
    from aiohttp import ClientSession


class AsyncClient(RequestSender, AsyncMethods):
    """A service somewhere else, asked asynchronously.

    >>> async with AsyncClient("http://127.0.0.1:8640") as tompion:
    ...     await tompion.pause("report", note="maintenance")
    """

    _session: ClientSession | None = None

    async def close(self) -> None:
        """Close the connections; the next call opens others."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        """Nothing has to be opened."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.close()

    async def _ask(self, operation: Callable[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        from aiohttp import ClientConnectorError, ClientError

        asked = question(self._address, operation, args, kwargs)
        for attempt in range(ATTEMPTS):
            last, found = attempt == ATTEMPTS - 1, None
            try:
                found = await self._send(asked)
            except (ClientError, OSError) as error:
                sent = not isinstance(error, ClientConnectorError)
                if last or (sent and not asked.repeatable):
                    raise broken(self._address, asked, error, sent=sent) from error
            else:
                if last or is_final(asked, found):
                    return answer(asked, found)
            await pause(pause_s(attempt, found))
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, asked: ApiRequest) -> ApiResponse:
        from aiohttp import ClientSession, ClientTimeout
        from yarl import URL

        if self._session is None:
            self._session = ClientSession(timeout=ClientTimeout(total=self._timeout_s))
        url = URL(f"{self._address.origin}{asked.target}", encoded=True)
        ask = self._session.request(
            asked.method, url, data=asked.body, headers=asked.headers, ssl=self._tls or True, allow_redirects=False
        )
        async with ask as found:
            return ApiResponse(found.status, await found.read(), found.headers.get("Retry-After"))
