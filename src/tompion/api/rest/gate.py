"""Who asks, and what they may do.

Every route names the least role that may use it; one that names none is refused when the application is made.  A role
is held in a namespace, or in all of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from starlette.requests import Request

from tompion.api.roles import Role
from tompion.errors import Forbidden, NotFound, Unauthenticated
from tompion.operations.desk import Desk
from tompion.operations.keys import find_key

ANY_NAMESPACE = "*"
LONGEST_KEY = 200
BELIEVED_S = 2.0
"""How long a key is believed without being looked up again: so long a revoked one may still work."""
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks, and the roles that they hold, by namespace."""

    actor: str
    roles: Mapping[str, Role] = field(default_factory=dict)

    def role_in(self, namespace: str) -> Role:
        """Return what the caller may do in a namespace."""
        return max(self.roles.get(namespace, Role.PUBLIC), self.roles.get(ANY_NAMESPACE, Role.PUBLIC))

    @property
    def home(self) -> str:
        """Return the namespace that is meant if none is named: the only one that the caller has, or the usual one."""
        named = [name for name in self.roles if name != ANY_NAMESPACE]
        return named[0] if len(named) == 1 and ANY_NAMESPACE not in self.roles else "default"


NOBODY = Caller("nobody")
"""Whoever asks for what needs no role."""


def authorise(caller: Caller, namespace: str, role: Role) -> None:
    """Raise unless a caller may do what needs a role; of a namespace that is not theirs they learn nothing."""
    held = caller.role_in(namespace)
    if namespace == ANY_NAMESPACE and held < role:
        raise Forbidden(f"this needs the role {role.name.lower()} in all namespaces")
    if role is not Role.PUBLIC and held is Role.PUBLIC:
        raise NotFound(f"there is no namespace {namespace!r}")
    if held < role:
        raise Forbidden(f"this needs the role {role.name.lower()}; yours is {held.name.lower()}")


class Gate(Protocol):
    """Finds out who asks."""

    async def caller(self, request: Request) -> Caller:
        """Return who asks; raises :class:`~tompion.errors.Unauthenticated` for whoever cannot be believed."""

    async def believed(self, text: str) -> Caller:
        """Return whose key or token it is; raises :class:`~tompion.errors.Unauthenticated`."""


class OpenGate:
    """Lets everybody in, as whoever runs the service: for a service that only this machine can reach."""

    def __init__(self, actor: str = "local") -> None:
        """Take the name that stands in the audit."""
        self._caller = Caller(actor, {ANY_NAMESPACE: Role.ADMIN})

    async def caller(self, request: Request) -> Caller:
        """Return the one caller that there is."""
        return self._caller

    async def believed(self, text: str) -> Caller:
        """Return the one caller that there is."""
        return self._caller


class Keys:
    """Knows whose an API key is."""

    def __init__(self, desk: Desk) -> None:
        """Take where keys are kept."""
        self._desk = desk
        self._known: OrderedDict[str, tuple[float, Caller]] = OrderedDict()

    async def caller_with(self, text: str) -> Caller:
        """Return whose key it is; raises :class:`~tompion.errors.Unauthenticated`."""
        if not 0 < len(text) <= LONGEST_KEY:
            raise Unauthenticated("show an API key: 'Authorization: Bearer flt_…'")
        now = asyncio.get_running_loop().time()
        known = self._known.get(text)
        if known is None or known[0] <= now:
            known = self._known[text] = (now + BELIEVED_S, await self._looked_up(text))
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return known[1]

    async def _looked_up(self, text: str) -> Caller:
        look = partial(find_key, text=text)
        asked = self._desk.send(look, namespace=ANY_NAMESPACE, actor="gate", writes=False, walled=False)
        found = await asyncio.wrap_future(asked)
        if found is None:
            self._known.pop(text, None)
            raise Unauthenticated("this API key is not known, has expired or was revoked")
        return Caller(f"key {found.key_id} ({found.name})", {found.namespace: Role[found.role.upper()]})
