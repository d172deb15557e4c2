"""Refuses requests for other hosts, which protects against DNS rebinding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tompion.api.rest.problems import problem
from tompion.errors import display

ANY_HOST = "*"
HOST_HEADER = re.compile(r"(\[[^]]*\]|[^:\[\]]*)(?::[0-9]*)?")
"""A name or a bracketed address, with an optional port and nothing else."""


class AllowedHostsMiddleware:
    """Refuses requests whose ``Host`` is not in ``hosts``. ``*.example.org`` allows every name below it."""

    def __init__(self, app: Any, *, hosts: Iterable[str]) -> None:
        self._app = app
        names = [host.lower() for host in hosts]
        self._any = ANY_HOST in names
        self._names = frozenset(names)
        self._suffixes = tuple(name[1:] for name in names if name.startswith("*."))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or self._any or self._is_allowed(host := _host_of(scope)):
            await self._app(scope, receive, send)
            return
        detail = f"Host: {display(host)} is not a name of this service; add it to the setting 'hosts'"
        await problem(400, "unknown_host", detail, retryable=False)(scope, receive, send)

    def _is_allowed(self, host: str) -> bool:
        return host in self._names or host.endswith(self._suffixes)


def _host_of(scope: Any) -> str:
    """Return the host of a request in lower case and without its port. A malformed header is returned as it is."""
    text = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    match = HOST_HEADER.fullmatch(text)
    return text if match is None else match[1]
