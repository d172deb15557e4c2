"""Who asks, and what they may do.

Every route names the least role that may use it; one that names none is refused when the application is made.  A role
is held in a namespace, or in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request

from foliot.api.roles import Role

ANY_NAMESPACE = "*"


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


class Gate(Protocol):
    """Finds out who asks."""

    def caller(self, request: Request) -> Caller:
        """Return who asks; raises :class:`~foliot.errors.Unauthenticated` for whoever cannot be believed."""


class OpenGate:
    """Lets everybody in, as whoever runs the service: for a service that only this machine can reach."""

    def __init__(self, actor: str = "local") -> None:
        """Take the name that stands in the audit."""
        self._caller = Caller(actor, {ANY_NAMESPACE: Role.ADMIN})

    def caller(self, request: Request) -> Caller:
        """Return the one caller that there is."""
        return self._caller
