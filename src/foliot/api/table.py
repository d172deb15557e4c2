"""The table of every route and role, as a page: ``python -m foliot.api.table > docs/reference/roles.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from foliot.api.roles import Role
from foliot.api.routes import PREFIX, ROUTES, Route

OPEN = {
    "GET /": "the page, which asks the API as whoever looks at it",
    "GET /healthz": "that the process answers",
    "GET /readyz": "that its store does",
    f"GET {PREFIX}/openapi.json": "what the API looks like",
}
"""What is no operation and needs no role, and what it gives away."""
HOLDERS = tuple(role for role in Role if role is not Role.PUBLIC)
HEAD = """# Who may use which route

Made from the table of routes by `python -m foliot.api.table > docs/reference/roles.md`; a test fails when the two
differ, and others ask a service every row of it. **yes**: the operation answers. 401: nobody knows who asks. 403: the
role is too low, or the service is `read_only`. 404: the role is held in another namespace only; of this one the caller
learns nothing. How callers show who they are: [secure a service](../how-to/secure-a-service.md).
"""
YES, UNKNOWN, REFUSED, ABSENT = "yes", "401", "403", "404"


def page() -> str:
    """Return the page."""
    names = ["route", "nobody", *(role.name.lower() for role in HOLDERS), "another namespace's", "`read_only`"]
    lines = [HEAD, _row(names), _row(["---"] * len(names)), *map(_row, _cells()), ""]
    others = [f"`{route}` ({gives})" for route, gives in OPEN.items()]
    return "\n".join([*lines, f"No operation, and for everybody: {', '.join(others)}.", ""])


def _cells() -> Iterator[list[str]]:
    for route in ROUTES:
        yield [f"`{route.method} {route.address}`", *(_answers(route))]


def _answers(route: Route) -> list[str]:
    if route.role is Role.PUBLIC:
        return [YES] * (len(HOLDERS) + 3)
    by_role = [YES if role >= route.role else REFUSED for role in HOLDERS]
    return [UNKNOWN, *by_role, ABSENT, REFUSED if route.writes else YES]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
