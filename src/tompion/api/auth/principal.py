"""The authenticated caller of a request and the check of its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tompion.contract.roles import Role
from tompion.errors import Forbidden, NotFound

ANY_NAMESPACE = "*"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: its name in the audit, and its roles by namespace."""

    actor: str
    roles: Mapping[str, Role] = field(default_factory=dict)

    def role_in(self, namespace: str) -> Role:
        """Return the role of the caller in a namespace."""
        return max(self.roles.get(namespace, Role.PUBLIC), self.roles.get(ANY_NAMESPACE, Role.PUBLIC))

    @property
    def home(self) -> str:
        """Return the namespace of requests that name none: the caller's only one, or ``default``."""
        named = [name for name in self.roles if name != ANY_NAMESPACE]
        return named[0] if len(named) == 1 and ANY_NAMESPACE not in self.roles else "default"


ANONYMOUS = Principal("anonymous")
"""The caller of a route that needs no role."""


def authorise(caller: Principal, namespace: str, role: Role) -> None:
    """Raise unless the caller has a role in a namespace.

    A namespace in which the caller has no role at all looks as if it did not exist.
    """
    held = caller.role_in(namespace)
    if namespace == ANY_NAMESPACE and held < role:
        raise Forbidden(f"this needs the role {role.name.lower()} in all namespaces")
    if role is not Role.PUBLIC and held is Role.PUBLIC:
        raise NotFound(f"there is no namespace {namespace!r}")
    if held < role:
        raise Forbidden(f"this needs the role {role.name.lower()}; yours is {held.name.lower()}")
