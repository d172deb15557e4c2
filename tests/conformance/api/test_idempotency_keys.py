"""A request that is sent again with the same key is answered again, or refused from the beginning."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conformance.api.test_rest import DAILY, ONE
from tests.support.service import Http
from tompion.api.rest.request_binding import signature_of
from tompion.contract.routes import ROUTES

KEYED = [
    ("POST", "/schedules/pause", {"schedule_id": "report"}),
    ("DELETE", "/schedules/report", None),
    ("POST", "/api/cron/report/pause", {"paused_by": "ann"}),
    ("POST", "/api/cron/report/resume", {}),
    ("POST", "/api/cron/report/trigger", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), KEYED)
def test_compatibility_routes_honour_idempotency_keys(http: Http, method: str, path: str, body: Any) -> None:
    http("PUT", ONE, DAILY)
    first = http(method, path, body, Idempotency_Key="k1")
    assert first.status < 300
    changed = http("GET", f"{ONE}/history").json
    http("PATCH", ONE, {"description": "in between"})
    again = http(method, path, body, Idempotency_Key="k1")
    assert (again.status, again.body) == (first.status, first.body)
    assert len(http("GET", f"{ONE}/history").json["items"]) == len(changed["items"]) + (method != "DELETE")
    other = http("POST", f"{ONE}/skip", {}, Idempotency_Key="k1")
    assert (other.status, other.json["code"]) == (409, "request_reused")


def test_revoking_a_key_honours_idempotency_keys(http: Http) -> None:
    key_id = http("POST", "/api/v1/keys", {"name": "ci"}).json["key"]["key_id"]
    answers = [http("DELETE", f"/api/v1/keys/{key_id}", Idempotency_Key="k2") for _ in range(2)]
    assert [answer.status for answer in answers] == [204, 204]


def test_every_change_honours_or_refuses_an_idempotency_key(http: Http) -> None:
    """Ignored, it would be missed when the request is sent again."""
    for number, route in enumerate(route for route in ROUTES if route.method != "GET"):
        path, body = re.sub(r"{\w+}", "1", route.full_path), None if route.method == "DELETE" else {"name": "ci"}
        refused = http(route.method, path, body, Idempotency_Key=f"k{number}")
        takes = {"request_id", "idempotency_key"} & set(signature_of(route.operation).parameters)
        is_refused = refused.status == 400 and refused.json.get("field") == "Idempotency-Key"
        assert is_refused == (route.writes and not takes), (route.full_path, refused.body)
        if route.path == "/keys":
            assert "is not stored" in refused.json["detail"]
    assert http("GET", "/api/v1/keys").json["items"] == []
