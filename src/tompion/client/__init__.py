"""Tompion over HTTP: :class:`Client` and :class:`AsyncClient` have the same methods as a store in this process.

Nothing of the server is needed: ``Client`` has the standard library only, ``AsyncClient`` aiohttp besides.
"""

from __future__ import annotations

from tompion.client.async_client import AsyncClient
from tompion.client.sync_client import Client

__all__ = ["AsyncClient", "Client"]
