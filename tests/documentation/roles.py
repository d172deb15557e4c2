"""Generates the table of routes and roles."""

from __future__ import annotations

from collections.abc import Iterator

from tompion.contract.api_routes import Route
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, SystemRoute

HOLDERS = tuple(role for role in Role if role is not Role.PUBLIC)
HEAD = """# Roles

The role that each route needs. `python -m tests.documentation` generates this table from the routes, and tests check
every row against a service.

- **yes**: the caller may use the route.
- 401: missing or invalid credentials.
- 403: the caller lacks the role, or the service is `read_only`.
- 404: the caller has a role in another namespace only. The namespace looks as if it did not exist.

See [secure a service](../how-to/secure-a-service.md) for the ways to authenticate.
"""
FOOT = "`GET /` serves the web UI without authentication. It calls the API with the session of its user."
YES, UNAUTHENTICATED, FORBIDDEN, NOT_FOUND = "yes", "401", "403", "404"


def page() -> str:
    """Return the text of roles.md."""
    names = [
        "route",
        "no credentials",
        *(role.name.lower() for role in HOLDERS),
        "role in another namespace",
        "`read_only`",
    ]
    lines = [HEAD, _row(names), _row(["---"] * len(names)), *map(_row, _cells()), ""]
    return "\n".join([*lines, FOOT, ""])


def _cells() -> Iterator[list[str]]:
    for route in ROUTES:
        yield [f"`{route.method} {route.full_path}`", *_outcomes(route)]
    for system_route in SYSTEM_ROUTES:
        yield [f"`{system_route.method} {system_route.full_path}`", *_system_outcomes(system_route)]


def _outcomes(route: Route) -> list[str]:
    if route.role is Role.PUBLIC:
        return [YES] * (len(HOLDERS) + 3)
    by_role = [YES if role >= route.role else FORBIDDEN for role in HOLDERS]
    return [UNAUTHENTICATED, *by_role, NOT_FOUND, FORBIDDEN if route.writes else YES]


def _system_outcomes(route: SystemRoute) -> list[str]:
    if route.role is Role.PUBLIC:
        return [YES] * (len(HOLDERS) + 3)
    by_role = [YES if role >= route.role else FORBIDDEN for role in HOLDERS]
    if route.all_namespaces:
        by_role = [f"{outcome} in `*`" if outcome == YES else outcome for outcome in by_role]
    return [UNAUTHENTICATED, *by_role, FORBIDDEN if route.all_namespaces else NOT_FOUND, YES]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
