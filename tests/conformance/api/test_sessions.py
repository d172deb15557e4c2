"""Signing in to the page: a cookie that no script reads, and changes that no other page can make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.api.test_authentication import World
from tests.support.operations import BEGIN
from tests.support.service import Answer, Http, Served, runner_of
from tests.support.token_issuers import HMAC, SECRET, VARIABLE, world_of
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
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 0.0)
    made = World()
    yield made
    made.close()


def host(world: World) -> str:
    return world.served.url.partition("://")[2]


def sign_in(world: World, credential: str) -> Answer:
    return world.http("POST", SESSION, {"credential": credential}, Origin=world.served.url)


def cookie_of(answer: Answer) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_sign_in_sets_an_http_only_cookie(world: World) -> None:
    key = world.key("operator")
    answer = sign_in(world, key.secret)
    assert answer.status == 200
    assert answer.said == {
        "actor": f"key {key.key.key_id} (test)",
        "roles": {"default": "operator"},
        "home": "default",
        "auth": "required",
        "signed_in": True,
        "read_only": False,
        "version": answer.said["version"],
    }
    attributes = {each.strip().lower() for each in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", f"max-age={MAX_SESSION_S}"} <= attributes
    assert "secure" not in attributes, "in the clear, a browser would not send it back"
    assert key.secret.rpartition("_")[2] not in answer.headers["set-cookie"]
    asked = world.http("GET", "/api/v1/schedules", Cookie=cookie_of(answer))
    assert asked.status == 200
    assert world.http("GET", SESSION, Cookie=cookie_of(answer)).said["actor"] == answer.said["actor"]


def test_the_session_of_an_anonymous_caller_has_no_actor(world: World) -> None:
    answer = world.http("GET", SESSION)
    assert (answer.status, answer.said["actor"], answer.said["roles"]) == (200, None, {})
    assert world.http("GET", SESSION, Cookie="tompion_session=nonsense").said["actor"] is None
    assert world.http("GET", "/api/v1/schedules", Cookie="tompion_session=nonsense").status == 401


@pytest.mark.parametrize("credential", ["tpn_000000000000_" + "0" * 48, "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_sign_in_with_an_invalid_key_is_unauthenticated(world: World, credential: str) -> None:
    answer = sign_in(world, credential)
    assert (answer.status, answer.said["code"]) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [{}, {"credential": 7}, {"credential": " "}, [], b"{"])
def test_sign_in_without_a_credential_names_the_field(world: World, body: object) -> None:
    answer = world.http("POST", SESSION, body)
    assert (answer.status, answer.said["field"]) == (400, "credential")


def test_a_session_ends_when_its_key_is_revoked(world: World) -> None:
    admin, key = world.key("admin"), world.key("reader")
    cookie = cookie_of(sign_in(world, key.secret))
    assert world.http("GET", "/api/v1/schedules", Cookie=cookie).status == 200
    assert world.ask("DELETE", f"/api/v1/keys/{key.key.key_id}", admin.secret).said is True
    assert world.http("GET", "/api/v1/schedules", Cookie=cookie).status == 401


def test_a_session_expires() -> None:
    world = World()
    clock = ManualClock(BEGIN)
    served = Served(world.runner, load({}, {"auth": "required"}), clock)
    http = Http(served.url)
    try:
        made = http("POST", SESSION, {"credential": world.key("reader").secret})
        clock.advance(MAX_SESSION_S - 1)
        assert http("GET", "/api/v1/schedules", Cookie=cookie_of(made)).status == 200
        clock.advance(2)
        assert http("GET", "/api/v1/schedules", Cookie=cookie_of(made)).status == 401
    finally:
        http.close()
        served.close()
        world.close()


def test_sign_out_deletes_the_cookie(world: World) -> None:
    cookie = cookie_of(sign_in(world, world.key("reader").secret))
    answer = world.http("DELETE", SESSION, Cookie=cookie, Origin=world.served.url)
    assert (answer.status, answer.said["actor"]) == (200, None)
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_an_authorization_header_takes_precedence_over_the_cookie(world: World) -> None:
    cookie = cookie_of(sign_in(world, world.key("admin").secret))
    reader = world.key("reader").secret
    answer = world.http("PUT", ONE, DAILY, Cookie=cookie, Authorization=f"Bearer {reader}")
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
    (each.method, re.sub(r"{\w+}", "1", each.full_path))
    for each in (*ROUTES, *SYSTEM_ROUTES)
    if each.method not in ("GET", "HEAD")
]
"""Every address that is not only read."""


@pytest.mark.parametrize("headers", HOSTILE, ids=str)
def test_cross_site_changes_with_a_cookie_are_refused(world: World, headers: dict[str, str]) -> None:
    cookie = cookie_of(sign_in(world, world.key("admin").secret))
    assert len(CHANGES) > 40
    for method, path in CHANGES:
        answer = world.http(method, path, DAILY, Cookie=cookie, **headers)
        assert (answer.status, answer.said["code"]) == (403, "forbidden"), (method, path)
        assert "cross-site" in answer.said["detail"], "for this, and not for want of a role"
    assert world.http("GET", ONE, Cookie=cookie).status == 404, "nothing was made"


def test_a_cross_site_form_is_refused(world: World) -> None:
    """A page may send a form, or text, to any address without being asked: none is read as JSON, whatever the route."""
    key = world.key("admin").secret
    body = json.dumps({**DAILY, "credential": key}).encode()
    for method, path in CHANGES:
        if method == "DELETE":
            continue  # it has no body, and no form sends it
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = world.http(method, path, body, Content_Type=kind, Authorization=f"Bearer {key}")
            assert (answer.status, answer.said.get("field")) == (400, "Content-Type"), (method, path, answer.body)
    assert world.ask("GET", ONE, world.key("admin").secret).status == 404, "nothing was made"


def test_a_change_with_a_cookie_needs_an_origin(world: World) -> None:
    cookie = cookie_of(sign_in(world, world.key("admin").secret))
    assert world.http("PUT", ONE, DAILY, Cookie=cookie).status == 403
    assert world.http("PUT", ONE, DAILY, Cookie=cookie, Origin=f"http://{host(world)}").status == 200
    assert world.http("PUT", ONE, DAILY, Cookie=cookie, Sec_Fetch_Site="same-origin").status == 200
    assert world.ask("PUT", ONE, world.key("editor").secret, DAILY).status == 200, "a key needs no page"


@pytest.mark.parametrize("headers", HOSTILE, ids=str)
def test_cross_site_changes_are_refused_on_loopback(headers: dict[str, str]) -> None:
    """A service on loopback lets everybody in; the page of another site, in the same browser, is not everybody."""
    store = SqliteStore()
    served = Served(runner_of(store))
    http = Http(served.url)
    try:
        assert http("PUT", ONE, DAILY, **headers).status == 403
        assert http("PUT", ONE, DAILY, Origin=served.url).status == 200
        assert http("PUT", ONE, DAILY).status == 200, "what is no browser sends no Origin"
        assert http("GET", SESSION).said | {"version": ""} == {
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
    world = World(public_url="https://tompion.example")
    try:
        key = world.key("editor").secret
        made = world.http("POST", SESSION, {"credential": key}, Origin="https://tompion.example")
        assert made.status == 200
        assert "; secure" in made.headers["set-cookie"].lower()
    finally:
        world.close()


def test_instances_with_one_store_share_sessions(world: World) -> None:
    told, store = load({}, {"auth": "required"}), SqliteStore(clock=world.clock)
    served = [Served(world.runner, told), Served(world.runner, told), Served(runner_of(store), told)]
    first, second, elsewhere = (Http(each.url) for each in served)
    try:
        cookie = cookie_of(first("POST", SESSION, {"credential": world.key("reader").secret}))
        statuses = [each("GET", "/api/v1/schedules", Cookie=cookie).status for each in (first, second, elsewhere)]
        assert statuses == [200, 200, 401]
    finally:
        for http, each in zip((first, second, elsewhere), served, strict=True):
            http.close()
            each.close()
        store.close()


def test_sign_in_accepts_a_token_unless_it_is_too_long_for_a_cookie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    with world_of(tmp_path) as world:
        made = world.http("POST", SESSION, {"credential": HMAC.token()})
        assert (made.status, made.said["signed_in"]) == (200, True)
        assert world.http("GET", "/api/v1/schedules", Cookie=cookie_of(made)).status == 200
        long = world.http("POST", SESSION, {"credential": HMAC.token(padding="x" * 3_500)})
        assert (long.status, long.said["field"]) == (400, "credential")
