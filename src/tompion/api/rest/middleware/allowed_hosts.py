"""A service answers only requests that are addressed to it: another site's page cannot borrow its address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tompion.api.rest.problems import problem
from tompion.errors import display

ANY_HOST = "*"
HOST = re.compile(r"(\[[^]]*\]|[^:\[\]]*)(?::[0-9]*)?")
"""A name, or an address in brackets, and perhaps a port: nothing stands behind a bracket, or for a port, but that."""


class AllowedHostsMiddleware:
    """Middleware that refuses requests for hosts that are not the service's; ``*.example.org`` is every name below."""

    def __init__(self, app: Any, *, hosts: Iterable[str]) -> None:
        """Take the application and its names, without ports."""
        self._app = app
        names = [host.lower() for host in hosts]
        self._any = ANY_HOST in names
        self._names = frozenset(names)
        self._below = tuple(name[1:] for name in names if name.startswith("*."))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or self._any or self._is_ours(host := _host_of(scope)):
            await self._app(scope, receive, send)
            return
        detail = f"Host: {display(host)} is not this service; the setting 'hosts' names those that are"
        await problem(400, "unknown_host", detail, retryable=False)(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        return host in self._names or host.endswith(self._below)


def _host_of(scope: Any) -> str:
    """Return the host that a request names, in small letters and without its port; all of it if it is no host."""
    text = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    found = HOST.fullmatch(text)
    return text if found is None else found[1]
