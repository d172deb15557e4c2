"""Clients of a remote service: :class:`Client` and :class:`AsyncClient` have the same methods as the embedded app.

They need nothing of the server. ``Client`` uses the standard library only, ``AsyncClient`` also aiohttp.
"""

from __future__ import annotations

from tompion.client.async_client import AsyncClient
from tompion.client.sync_client import Client

__all__ = ["AsyncClient", "Client"]
