"""API keys: looked up in the store, and cached for a moment."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial

from tompion.api.auth.principal import ANY_NAMESPACE, Principal
from tompion.contract.roles import Role
from tompion.errors import Unauthenticated
from tompion.model.api_key import PREFIX
from tompion.operations.resources.api_keys import find_key
from tompion.operations.runner import OperationRunner

MAX_KEY_CHARS = 200
CACHE_TTL_S = 2.0
"""Lifetime of a cached key. A revoked key can work for this long on an instance that has it cached."""
MAX_CACHED_KEYS = 10_000


class ApiKeyCache:
    """Finds the principal of an API key."""

    def __init__(self, runner: OperationRunner) -> None:
        self._runner = runner
        self._cache: OrderedDict[str, tuple[float, Principal]] = OrderedDict()

    async def authenticate(self, text: str) -> Principal:
        """Return the owner of a key. Raises :class:`~tompion.errors.Unauthenticated`."""
        if not 0 < len(text) <= MAX_KEY_CHARS:
            raise Unauthenticated(f"missing or malformed API key; send 'Authorization: Bearer {PREFIX}_…'")
        now = asyncio.get_running_loop().time()
        entry = self._cache.get(text)
        if entry is None or entry[0] <= now:
            entry = self._cache[text] = (now + CACHE_TTL_S, await self._load(text))
            if len(self._cache) > MAX_CACHED_KEYS:
                self._cache.popitem(last=False)
        return entry[1]

    async def _load(self, text: str) -> Principal:
        future = self._runner.send(
            partial(find_key, text=text), namespace=ANY_NAMESPACE, actor="auth", writes=False, restricted=False
        )
        key = await asyncio.wrap_future(future)
        if key is None:
            self._cache.pop(text, None)
            raise Unauthenticated("unknown, expired or revoked API key")
        return Principal(f"key {key.key_id} ({key.name})", {key.namespace: Role[key.role.upper()]})
