"""Healthcheck pings: regular requests to a monitor, which raises an alarm when they stop.

The operator chooses the URL, so the SSRF guard allows every address. Monitors often are in the same network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from tompion.errors import InvalidField, LaunchError
from tompion.outbound.http_session import CONNECT_TIMEOUT_S, open_session
from tompion.outbound.ssrf_guard import SsrfGuard

ALL_NETWORKS = ("0.0.0.0/0", "::/0")
METHODS = ("GET", "POST")
RESPONSE_TIMEOUT_S = 10.0
MAX_BODY_CHARS = 1_000


class HttpPinger:
    """Requests ``ping_url`` while the engine is healthy, and ``ping_fail_url``, if it is set, while it is not.

    The options are ``ping_url``, ``ping_fail_url``, ``ping_every_s`` and ``ping_method``.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._guard = SsrfGuard(ALL_NETWORKS)
        self._url = self._check_url("ping_url", options["ping_url"])
        self._fail_url = self._check_url("ping_fail_url", options.get("ping_fail_url"))
        self._method = options.get("ping_method", "GET")
        self.every_s: float = float(options.get("ping_every_s", 60))
        if self.every_s <= 0:
            raise InvalidField("ping_every_s", f"{self.every_s:.0f}; expected a whole number from 1")
        if self._method not in METHODS:
            raise InvalidField("ping_method", f"{self._method!r}; expected GET or POST")
        self._session: aiohttp.ClientSession | None = None

    async def ping(self, problems: Sequence[str]) -> None:
        """Send one ping. With problems, send it to the fail URL, if one is configured."""
        url = self._fail_url if problems else self._url
        if url is None:
            return
        if self._session is None:
            self._session = open_session(self._guard)
        text = "\n".join(problems)[:MAX_BODY_CHARS]
        request = self._session.request(
            self._method,
            url,
            data=text.encode() if self._method == "POST" and text else None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=RESPONSE_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S),
        )
        try:
            async with request as response:
                if not 200 <= response.status < 300:
                    raise LaunchError(f"the monitor responded with {response.status}")
        except TimeoutError:
            raise LaunchError(f"no response within {RESPONSE_TIMEOUT_S:.0f} s") from None
        except aiohttp.ClientError as error:
            raise LaunchError(type(error).__name__) from None

    async def aclose(self) -> None:
        """Close the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _check_url(self, field: str, url: str | None) -> str | None:
        try:
            return self._guard.target(url).url if url else None
        except LaunchError as error:
            raise InvalidField(field, str(error)) from None
