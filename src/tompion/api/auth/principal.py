"""The authenticated caller of a request and the check of its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tompion.contract.roles import Role
from tompion.errors import Forbidden, NotFound

ANY_NAMESPACE = "*"


@dataclass(frozen=True, slots=True)
class Principal:
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


ANONYMOUS = Principal("nobody")
"""Whoever asks for what needs no role."""


def authorise(caller: Principal, namespace: str, role: Role) -> None:
    """Raise unless a caller may do what needs a role; of a namespace that is not theirs they learn nothing."""
    held = caller.role_in(namespace)
    if namespace == ANY_NAMESPACE and held < role:
        raise Forbidden(f"this needs the role {role.name.lower()} in all namespaces")
    if role is not Role.PUBLIC and held is Role.PUBLIC:
        raise NotFound(f"there is no namespace {namespace!r}")
    if held < role:
        raise Forbidden(f"this needs the role {role.name.lower()}; yours is {held.name.lower()}")
