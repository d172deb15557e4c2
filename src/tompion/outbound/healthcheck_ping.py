"""The dead man's ping: a request, again and again, to somebody who raises the alarm when it stops.

Whoever configures the service chooses the address, so it is not guarded: monitors often stand in the same network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from tompion.errors import InvalidField, LaunchError
from tompion.outbound.http_session import CONNECT_S, open_session
from tompion.outbound.ssrf_guard import Guard

EVERYWHERE = ("0.0.0.0/0", "::/0")
METHODS = ("GET", "POST")
ANSWER_S = 10.0
MOST_SAID_CHARS = 1_000


class HttpPinger:
    """Requests a URL while all is well and, if there is one, another while it is not."""

    def __init__(self, configured: Mapping[str, Any]) -> None:
        """Take ``ping_url``, ``ping_fail_url``, ``ping_every_s`` and ``ping_method``."""
        self._guard = Guard(EVERYWHERE)
        self._url = self._checked("ping_url", configured["ping_url"])
        self._fail_url = self._checked("ping_fail_url", configured.get("ping_fail_url"))
        self._method = configured.get("ping_method", "GET")
        self.every_s = float(configured.get("ping_every_s", 60))
        if self.every_s <= 0:
            raise InvalidField("ping_every_s", f"{self.every_s:.0f}; expected a whole number from 1")
        if self._method not in METHODS:
            raise InvalidField("ping_method", f"{self._method!r}; expected GET or POST")
        self._session: aiohttp.ClientSession | None = None

    async def ping(self, problems: Sequence[str]) -> None:
        """Say that all is well; where it is not, say so elsewhere, or nothing."""
        url = self._fail_url if problems else self._url
        if url is None:
            return
        if self._session is None:
            self._session = open_session(self._guard)
        said = "\n".join(problems)[:MOST_SAID_CHARS]
        asked = self._session.request(
            self._method,
            url,
            data=said.encode() if self._method == "POST" and said else None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S),
        )
        try:
            async with asked as answer:
                if not 200 <= answer.status < 300:
                    raise LaunchError(f"it answered {answer.status}")
        except TimeoutError:
            raise LaunchError(f"it has not answered within {ANSWER_S:.0f} s") from None
        except aiohttp.ClientError as error:
            raise LaunchError(type(error).__name__) from None

    async def aclose(self) -> None:
        """Close the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _checked(self, field: str, url: str | None) -> str | None:
        try:
            return self._guard.target(url).url if url else None
        except LaunchError as error:
            raise InvalidField(field, str(error)) from None
