"""Clients of a remote service: :class:`Client` and :class:`AsyncClient` have the same methods as the embedded app.

They need nothing of the server. ``Client`` uses the standard library only, ``AsyncClient`` also aiohttp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tompion.client.sync_client import Client

if TYPE_CHECKING:
    from tompion.client.async_client import AsyncClient

__all__ = ["AsyncClient", "Client"]

if not TYPE_CHECKING:  # a type checker uses the import above, and must not accept every name

    def __getattr__(name: str) -> object:
        """Import the asynchronous client on first use."""
        if name != "AsyncClient":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from tompion.client.async_client import AsyncClient

        return globals().setdefault(name, AsyncClient)
