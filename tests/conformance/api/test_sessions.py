"""Signing in to the page: a cookie that no script reads, and changes that no other page can make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.api.test_authentication import SecuredService
from tests.support.operations import BEGIN
from tests.support.service import Http, Response, Served, runner_of
from tests.support.token_issuers import HMAC, SECRET, VARIABLE, token_service
from tompion.api.auth import api_key_cache
from tompion.api.auth.session_cookie import MAX_SESSION_S
from tompion.config.loader import load
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

SESSION = "/api/v1/session"
ONE = "/api/v1/schedules/1"
DAILY = {"cron": "@daily", "function": "a:b"}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecuredService]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 0.0)
    service = SecuredService()
    yield service
    service.close()


def host(service: SecuredService) -> str:
    return service.served.url.partition("://")[2]


def sign_in(service: SecuredService, credential: str) -> Response:
    return service.http("POST", SESSION, {"credential": credential}, Origin=service.served.url)


def cookie_of(answer: Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_sign_in_sets_an_http_only_cookie(service: SecuredService) -> None:
    key = service.key("operator")
    answer = sign_in(service, key.secret)
    assert answer.status == 200
    assert answer.json == {
        "actor": f"key {key.key.key_id} (test)",
        "roles": {"default": "operator"},
        "home": "default",
        "auth": "required",
        "signed_in": True,
        "read_only": False,
        "version": answer.json["version"],
    }
    attributes = {attribute.strip().lower() for attribute in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", f"max-age={MAX_SESSION_S}"} <= attributes
    assert "secure" not in attributes, "in the clear, a browser would not send it back"
    assert key.secret.rpartition("_")[2] not in answer.headers["set-cookie"]
    listed = service.http("GET", "/api/v1/schedules", Cookie=cookie_of(answer))
    assert listed.status == 200
    assert service.http("GET", SESSION, Cookie=cookie_of(answer)).json["actor"] == answer.json["actor"]


def test_the_session_of_an_anonymous_caller_has_no_actor(service: SecuredService) -> None:
    answer = service.http("GET", SESSION)
    assert (answer.status, answer.json["actor"], answer.json["roles"]) == (200, None, {})
    assert service.http("GET", SESSION, Cookie="tompion_session=nonsense").json["actor"] is None
    assert service.http("GET", "/api/v1/schedules", Cookie="tompion_session=nonsense").status == 401


@pytest.mark.parametrize("credential", ["tpn_000000000000_" + "0" * 48, "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_sign_in_with_an_invalid_key_is_unauthenticated(service: SecuredService, credential: str) -> None:
    answer = sign_in(service, credential)
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [{}, {"credential": 7}, {"credential": " "}, [], b"{"])
def test_sign_in_without_a_credential_names_the_field(service: SecuredService, body: object) -> None:
    answer = service.http("POST", SESSION, body)
    assert (answer.status, answer.json["field"]) == (400, "credential")


def test_a_session_ends_when_its_key_is_revoked(service: SecuredService) -> None:
    admin, key = service.key("admin"), service.key("reader")
    cookie = cookie_of(sign_in(service, key.secret))
    assert service.http("GET", "/api/v1/schedules", Cookie=cookie).status == 200
    assert service.request("DELETE", f"/api/v1/keys/{key.key.key_id}", admin.secret).status == 204
    assert service.http("GET", "/api/v1/schedules", Cookie=cookie).status == 401


def test_a_session_expires() -> None:
    service = SecuredService()
    clock = ManualClock(BEGIN)
    served = Served(service.runner, load({}, {"auth": "required"}), clock)
    http = Http(served.url)
    try:
        signed_in = http("POST", SESSION, {"credential": service.key("reader").secret})
        clock.advance(MAX_SESSION_S - 1)
        assert http("GET", "/api/v1/schedules", Cookie=cookie_of(signed_in)).status == 200
        clock.advance(2)
        assert http("GET", "/api/v1/schedules", Cookie=cookie_of(signed_in)).status == 401
    finally:
        http.close()
        served.close()
        service.close()


def test_sign_out_deletes_the_cookie(service: SecuredService) -> None:
    cookie = cookie_of(sign_in(service, service.key("reader").secret))
    answer = service.http("DELETE", SESSION, Cookie=cookie, Origin=service.served.url)
    assert (answer.status, answer.json["actor"]) == (200, None)
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_an_authorization_header_takes_precedence_over_the_cookie(service: SecuredService) -> None:
    cookie = cookie_of(sign_in(service, service.key("admin").secret))
    reader = service.key("reader").secret
    answer = service.http("PUT", ONE, DAILY, Cookie=cookie, Authorization=f"Bearer {reader}")
    assert answer.status == 403


HOSTILE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://[broken"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
]


CHANGES = [
    (route.method, re.sub(r"{\w+}", "1", route.full_path))
    for route in (*ROUTES, *SYSTEM_ROUTES)
    if route.method not in ("GET", "HEAD")
]
"""Every address that is not only read."""


@pytest.mark.parametrize("headers", HOSTILE, ids=str)
def test_cross_site_changes_with_a_cookie_are_refused(service: SecuredService, headers: dict[str, str]) -> None:
    cookie = cookie_of(sign_in(service, service.key("admin").secret))
    assert len(CHANGES) > 40
    for method, path in CHANGES:
        answer = service.http(method, path, DAILY, Cookie=cookie, **headers)
        assert (answer.status, answer.json["code"]) == (403, "forbidden"), (method, path)
        assert "cross-site" in answer.json["detail"], "for this, and not for want of a role"
    assert service.http("GET", ONE, Cookie=cookie).status == 404, "nothing was made"


def test_a_cross_site_form_is_refused(service: SecuredService) -> None:
    """Browsers send forms and text cross-site without a preflight, so no route parses them as JSON."""
    key = service.key("admin").secret
    body = json.dumps({**DAILY, "credential": key}).encode()
    for method, path in CHANGES:
        if method == "DELETE":
            continue  # it has no body, and no form sends it
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = service.http(method, path, body, Content_Type=kind, Authorization=f"Bearer {key}")
            assert (answer.status, answer.json.get("field")) == (400, "Content-Type"), (method, path, answer.body)
    assert service.request("GET", ONE, service.key("admin").secret).status == 404, "nothing was made"


def test_a_change_with_a_cookie_needs_an_origin(service: SecuredService) -> None:
    cookie = cookie_of(sign_in(service, service.key("admin").secret))
    assert service.http("PUT", ONE, DAILY, Cookie=cookie).status == 403
    assert service.http("PUT", ONE, DAILY, Cookie=cookie, Origin=f"http://{host(service)}").status == 201
    assert service.http("PUT", ONE, DAILY, Cookie=cookie, Sec_Fetch_Site="same-origin").status == 200
    assert service.request("PUT", ONE, service.key("editor").secret, DAILY).status == 200, "a key needs no page"


@pytest.mark.parametrize("headers", HOSTILE, ids=str)
def test_cross_site_changes_are_refused_on_loopback(headers: dict[str, str]) -> None:
    """A service on loopback accepts every caller, but not a page of another site in the same browser."""
    store = SqliteStore()
    served = Served(runner_of(store))
    http = Http(served.url)
    try:
        assert http("PUT", ONE, DAILY, **headers).status == 403
        assert http("PUT", ONE, DAILY, Origin=served.url).status == 201
        assert http("PUT", ONE, DAILY).status == 200, "what is no browser sends no Origin"
        assert http("GET", SESSION).json | {"version": ""} == {
            "actor": "local",
            "roles": {"*": "admin"},
            "home": "default",
            "auth": "open",
            "signed_in": False,
            "read_only": False,
            "version": "",
        }
        assert "set-cookie" not in http("POST", SESSION, {"credential": "anything"}).headers
    finally:
        http.close()
        served.close()
        store.close()


def test_the_public_url_is_an_own_origin() -> None:
    service = SecuredService(public_url="https://tompion.example")
    try:
        key = service.key("editor").secret
        signed_in = service.http("POST", SESSION, {"credential": key}, Origin="https://tompion.example")
        assert signed_in.status == 200
        assert "; secure" in signed_in.headers["set-cookie"].lower()
    finally:
        service.close()


def test_instances_with_one_store_share_sessions(service: SecuredService) -> None:
    config, store = load({}, {"auth": "required"}), SqliteStore(clock=service.clock)
    served = [Served(service.runner, config), Served(service.runner, config), Served(runner_of(store), config)]
    first, second, elsewhere = (Http(server.url) for server in served)
    try:
        cookie = cookie_of(first("POST", SESSION, {"credential": service.key("reader").secret}))
        statuses = [server("GET", "/api/v1/schedules", Cookie=cookie).status for server in (first, second, elsewhere)]
        assert statuses == [200, 200, 401]
    finally:
        for http, server in zip((first, second, elsewhere), served, strict=True):
            http.close()
            server.close()
        store.close()


def test_sign_in_accepts_a_token_unless_it_is_too_long_for_a_cookie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    with token_service(tmp_path) as service:
        signed_in = service.http("POST", SESSION, {"credential": HMAC.token()})
        assert (signed_in.status, signed_in.json["signed_in"]) == (200, True)
        assert service.http("GET", "/api/v1/schedules", Cookie=cookie_of(signed_in)).status == 200
        long = service.http("POST", SESSION, {"credential": HMAC.token(padding="x" * 3_500)})
        assert (long.status, long.json["field"]) == (400, "credential")
