"""Who asks, and what they may do.

Every route names the least role that may use it; one that names none is refused when the application is made.  A role
is held in a namespace, or in all of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial

from tompion.api.auth.principal import ANY_NAMESPACE, Principal
from tompion.contract.roles import Role
from tompion.errors import Unauthenticated
from tompion.operations.resources.api_keys import find_key
from tompion.operations.runner import OperationRunner

MAX_KEY_CHARS = 200


BELIEVED_S = 2.0
"""How long a key is believed without being looked up again: so long a revoked one may still work."""


REMEMBERED = 10_000


class ApiKeyCache:
    """Knows whose an API key is."""

    def __init__(self, runner: OperationRunner) -> None:
        """Take where keys are kept."""
        self._runner = runner
        self._known: OrderedDict[str, tuple[float, Principal]] = OrderedDict()

    async def caller_with(self, text: str) -> Principal:
        """Return whose key it is; raises :class:`~tompion.errors.Unauthenticated`."""
        if not 0 < len(text) <= MAX_KEY_CHARS:
            raise Unauthenticated("show an API key: 'Authorization: Bearer tpn_…'")
        now = asyncio.get_running_loop().time()
        known = self._known.get(text)
        if known is None or known[0] <= now:
            known = self._known[text] = (now + BELIEVED_S, await self._looked_up(text))
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return known[1]

    async def _looked_up(self, text: str) -> Principal:
        look = partial(find_key, text=text)
        asked = self._runner.send(look, namespace=ANY_NAMESPACE, actor="gate", writes=False, walled=False)
        found = await asyncio.wrap_future(asked)
        if found is None:
            self._known.pop(text, None)
            raise Unauthenticated("this API key is not known, has expired or was revoked")
        return Principal(f"key {found.key_id} ({found.name})", {found.namespace: Role[found.role.upper()]})
