"""No route without a rule, and the page that shows them all."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route as Served

from foliot.api.roles import Role
from foliot.api.routes import ROUTES
from foliot.api.table import OPEN, page
from foliot.operations.desk import Desk
from foliot.settings import Settings
from foliot.store.sqlite.driver import SqliteStore
from foliot.wiring import build_service

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "roles.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m foliot.api.table > docs/reference/roles.md"


def test_a_row_says_what_each_role_gets() -> None:
    rows = page().splitlines()
    assert "| `GET /api/v1/schedules` | 401 | yes | yes | yes | yes | 404 | yes |" in rows
    assert "| `PUT /api/v1/calendars/{name}` | 401 | 403 | 403 | yes | yes | 404 | 403 |" in rows
    assert "| `POST /api/v1/reports` | yes | yes | yes | yes | yes | yes | yes |" in rows
    assert len([row for row in rows if row.startswith("| `")]) == len(ROUTES)


def test_no_route_is_without_a_rule() -> None:
    """Whatever a service answers stands in the table of routes, or among what is open on purpose."""
    store = SqliteStore()
    try:
        app = build_service(Desk(store, Settings()))
    finally:
        store.close()
    served = {
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, Served)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert len(served) >= len(app.routes) - 1
    assert served == {f"{route.method} {route.address}" for route in ROUTES} | set(OPEN)


def test_only_reports_need_no_role() -> None:
    """They carry a token of their own."""
    assert [route.path for route in ROUTES if route.role is Role.PUBLIC] == ["/reports"]
