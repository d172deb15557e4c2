"""Every route has a role, and the generated page lists all of them."""

from __future__ import annotations

from starlette.routing import Route as Served

from tests.documentation.roles import page
from tompion.bootstrap.service import build_service
from tompion.config.settings import Settings
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.operations.runner import OperationRunner
from tompion.store.sqlite.driver import SqliteStore


def test_a_row_has_the_outcome_for_each_role() -> None:
    rows = page().splitlines()
    assert "| `GET /api/v1/schedules` | 401 | yes | yes | yes | yes | 404 | yes |" in rows
    assert "| `PUT /api/v1/calendars/{name}` | 401 | 403 | 403 | yes | yes | 404 | 403 |" in rows
    assert "| `POST /api/v1/callbacks` | yes | yes | yes | yes | yes | yes | yes |" in rows
    assert len([row for row in rows if row.startswith("| `")]) == len(ROUTES) + len(SYSTEM_ROUTES)


def test_every_route_has_a_role() -> None:
    """Every path of a service is in one of the tables. The web UI is not a route."""
    store = SqliteStore()
    try:
        app = build_service(OperationRunner(store, Settings()))
    finally:
        store.close()
    served = {
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, Served)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert len(served) >= len(app.routes)
    described = {f"{route.method} {route.full_path}" for route in ROUTES} | {
        f"{route.method} {route.full_path}" for route in SYSTEM_ROUTES
    }
    assert served == described


def test_only_callbacks_health_and_sessions_need_no_role() -> None:
    """Reports carry a token of their own."""
    assert [route.path for route in ROUTES if route.role is Role.PUBLIC] == ["/callbacks"]
    assert [route.path for route in SYSTEM_ROUTES if route.role is Role.PUBLIC] == [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs/errors",
        *["/session"] * 3,
    ]
