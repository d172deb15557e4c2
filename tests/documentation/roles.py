"""The table of every route and role, as a page."""

from __future__ import annotations

from collections.abc import Iterator

from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, Route, SystemRoute

PAGE = "GET /"
"""What serves the page, for everybody: it asks the API as whoever looks at it."""
HOLDERS = tuple(role for role in Role if role is not Role.PUBLIC)
HEAD = """# Who may use which route

Made from the tables of routes by `python -m tests.documentation`; a test fails when the two differ, and others ask a
service every row. **yes**: it answers. 401: nobody knows who asks. 403: the role is too low, or the service is
`read_only`. 404: the role is held in another namespace only; of this one the caller learns nothing. How callers show
who they are: [secure a service](../how-to/secure-a-service.md).
"""
YES, UNKNOWN, REFUSED, ABSENT = "yes", "401", "403", "404"


def page() -> str:
    """Return the page."""
    names = ["route", "nobody", *(role.name.lower() for role in HOLDERS), "another namespace's", "`read_only`"]
    lines = [HEAD, _row(names), _row(["---"] * len(names)), *map(_row, _cells()), ""]
    return "\n".join([*lines, f"`{PAGE}` is the page, for everybody: it asks the API as whoever looks at it.", ""])


def _cells() -> Iterator[list[str]]:
    for route in ROUTES:
        yield [f"`{route.method} {route.full_path}`", *_answers(route)]
    for extra in SYSTEM_ROUTES:
        yield [f"`{extra.method} {extra.full_path}`", *_extra_answers(extra)]


def _answers(route: Route) -> list[str]:
    if route.role is Role.PUBLIC:
        return [YES] * (len(HOLDERS) + 3)
    by_role = [YES if role >= route.role else REFUSED for role in HOLDERS]
    return [UNKNOWN, *by_role, ABSENT, REFUSED if route.writes else YES]


def _extra_answers(extra: SystemRoute) -> list[str]:
    if extra.role is Role.PUBLIC:
        return [YES] * (len(HOLDERS) + 3)
    by_role = [YES if role >= extra.role else REFUSED for role in HOLDERS]
    if extra.all_namespaces:
        by_role = [f"{each} in `*`" if each == YES else each for each in by_role]
    return [UNKNOWN, *by_role, REFUSED if extra.all_namespaces else ABSENT, YES]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
