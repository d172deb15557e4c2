"""Authentication and authorisation: every route and role, other tenants, invalid keys and rate limits."""

from __future__ import annotations

import hmac
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.operations import BEGIN
from tests.support.service import Http, Response, Served, runner_of
from tompion.api.auth import api_key_cache
from tompion.config.loader import load
from tompion.contract.api_routes import Route
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.model.api_key import NewKey
from tompion.operations.resources import api_keys
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

ROLES = (Role.READER, Role.OPERATOR, Role.EDITOR, Role.ADMIN)
SECONDS = 120


class SecuredService:
    """A service that wants keys, and keys for it."""

    def __init__(self, **flags: object) -> None:
        self.clock = ManualClock(BEGIN)
        self.store = SqliteStore(clock=self.clock)
        self.runner = runner_of(self.store)
        self.served = Served(self.runner, load({}, {"auth": "required", **flags}))
        self.http = Http(self.served.url)

    def key(self, role: str, namespace: str = "default", **options: object) -> NewKey:
        sent = self.runner.send(
            lambda session: api_keys.create_key(session, "test", role=role, **options),  # type: ignore[arg-type]  # untyped options
            namespace=namespace,
            actor="ann",
            writes=True,
        )
        return sent.result(SECONDS)

    def request(self, method: str, path: str, key: str | None, body: object = None) -> Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return self.http(method, path, body, **headers)

    def close(self) -> None:
        self.http.close()
        self.served.close()
        self.store.close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecuredService]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 0.0)
    service = SecuredService()
    yield service
    service.close()


def filled(route: Route) -> str:
    return re.sub(r"{\w+}", "1", route.full_path)


def body_of(route: Route) -> object:
    return None if route.method in ("GET", "DELETE") else {}


def test_every_route_needs_exactly_its_role(service: SecuredService) -> None:
    """A caller with the role or a higher one gets the operation's response. Others get 403."""
    keys = {role: service.key(role.name.lower()).secret for role in ROLES}
    for route in ROUTES:
        for role in ROLES:
            answer = service.request(route.method, filled(route), keys[role], body_of(route))
            refused = answer.status == 403 and answer.json["code"] == "forbidden"
            assert refused == (role < route.role), (route.method, route.path, role.name, answer.status)
            assert answer.status != 401


def test_every_route_needs_credentials(service: SecuredService) -> None:
    for route in ROUTES:
        answer = service.request(route.method, filled(route), None, body_of(route))
        assert (answer.status == 401) == (route.role is not Role.PUBLIC), (route.method, route.path, answer.status)
        if answer.status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"


def test_objects_of_another_namespace_are_not_found(service: SecuredService) -> None:
    """An administrator elsewhere learns nothing, not even that a namespace is there."""
    mine, theirs = service.key("admin", "mine").secret, service.key("admin", "theirs").secret
    created = service.request("PUT", "/api/v1/schedules/1?namespace=mine", mine, {"cron": "@daily", "function": "a:b"})
    assert created.status == 201
    for route in ROUTES:
        if route.role is Role.PUBLIC:
            continue
        answer = service.request(route.method, f"{filled(route)}?namespace=mine", theirs, body_of(route))
        assert (answer.status, answer.json["code"]) == (404, "not_found"), (route.method, route.path)
    assert service.request("GET", "/api/v1/schedules/1", mine).status == 200, (
        "without a name, the caller's own is meant"
    )
    assert service.request("GET", "/api/v1/schedules/1", theirs).status == 404


def test_a_key_for_all_namespaces_works_in_each(service: SecuredService) -> None:
    everywhere = service.key("reader", "*").secret
    assert service.request("GET", "/api/v1/schedules?namespace=anything", everywhere).status == 200
    assert service.request("PUT", "/api/v1/schedules/1?namespace=anything", everywhere, {}).status == 403


def test_administrators_create_list_and_revoke_keys(service: SecuredService) -> None:
    admin = service.key("admin")
    created = service.request("POST", "/api/v1/keys", admin.secret, {"name": "ci", "role": "editor"})
    assert created.status == 201
    secret, key_id = created.json["secret"], created.json["key"]["key_id"]
    assert re.fullmatch(r"tpn_[0-9a-f]{12}_[0-9a-f]{48}", secret)
    listed = service.request("GET", "/api/v1/keys", admin.secret)
    assert {key["key_id"] for key in listed.json["items"]} == {admin.key.key_id, key_id}
    assert secret.encode() not in listed.body
    assert service.request("GET", "/api/v1/schedules", secret).status == 200
    assert service.request("DELETE", f"/api/v1/keys/{key_id}", admin.secret).status == 204
    assert service.request("GET", "/api/v1/schedules", secret).status == 401
    assert service.request("DELETE", "/api/v1/keys/missing", admin.secret).status == 404


def test_a_key_expires(service: SecuredService) -> None:
    ends = datetime.fromtimestamp(BEGIN + 60, UTC)
    key = service.key("reader", expires_at=ends).secret
    assert service.request("GET", "/api/v1/schedules", key).status == 200
    service.clock.advance(60)
    assert service.request("GET", "/api/v1/schedules", key).status == 401


def test_keys_are_compared_in_constant_time(service: SecuredService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ``compare_digest`` decides whether a secret is right."""
    key = service.key("reader")
    wrong = key.secret[:-1] + ("0" if key.secret[-1] != "0" else "1")
    compared: list[tuple[str, str]] = []

    def compare(secret_hash: str, stored: str) -> bool:
        compared.append((secret_hash, stored))
        return secret_hash != stored

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert service.request("GET", "/api/v1/schedules", wrong).status == 200
    assert service.request("GET", "/api/v1/schedules", key.secret).status == 401
    stored = sha256(key.secret.rpartition("_")[2].encode()).hexdigest()
    assert compared[-1] == (stored, stored)
    assert compared[0][1] == stored


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    """A dump of the database has neither a secret nor the session cookie of its owner."""
    with closing(SqliteStore(tmp_path / "keys.db")) as store:
        served = Served(runner_of(store), load({}, {"auth": "required"}))
        admin = runner_of(store).send(
            lambda session: api_keys.create_key(session, "first", role="admin"),
            namespace="default",
            actor="ann",
            writes=True,
        )
        http, admin_key = Http(served.url), admin.result(SECONDS).secret
        created = http(
            "POST", "/api/v1/keys", {"name": "ci", "role": "editor"}, Authorization=f"Bearer {admin_key}"
        ).json
        signed_in = http("POST", "/api/v1/session", {"credential": created["secret"]}, Origin=served.url)
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        once = {"Idempotency-Key": "once", "Cookie": cookie, "Origin": served.url}
        made_by_it = http("PUT", "/api/v1/schedules/1", {"cron": "@daily", "function": "a:b"}, **once)
        assert made_by_it.status == 201
        http.close()
        served.close()
        with closing(sqlite3.connect(tmp_path / "keys.db")) as connection:
            dump = "\n".join(connection.iterdump())
    assert created["key"]["key_id"] in dump
    for secret in (admin_key, created["secret"]):
        assert secret.rpartition("_")[2] not in dump
        assert secret.rpartition("_")[2] not in (tmp_path / "keys.db").read_bytes().decode("latin-1")
    assert cookie.partition("=")[2] not in dump


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer ",
        "Bearer nonsense-4711",
        "Bearer tpn_000000000000_" + "0" * 48,
        "Bearer tpn_" + "x" * 10_000,
        "Basic dXNlcjpwYXNz",
        "tpn_000000000000_" + "0" * 48,
        "Bearer tpn_' OR 1=1 --_",
        "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
    ],
)
def test_malformed_keys_are_unauthenticated(service: SecuredService, authorization: str) -> None:
    answer = service.http("GET", "/api/v1/schedules", Authorization=authorization)
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert authorization.partition(" ")[2] not in answer.json["detail"] or not authorization.partition(" ")[2]


def test_a_key_with_a_wrong_secret_is_unauthenticated(service: SecuredService) -> None:
    key = service.key("admin").secret
    assert service.request("GET", "/api/v1/schedules", key[:-1] + ("0" if key[-1] != "0" else "1")).status == 401


def test_who_changes_something_is_in_the_audit(service: SecuredService) -> None:
    key = service.key("editor")
    service.request("PUT", "/api/v1/schedules/1", key.secret, {"cron": "@daily", "function": "a:b"})
    change = service.request("GET", "/api/v1/schedules/1/history", key.secret).json["items"][0]
    assert change["actor"] == f"key {key.key.key_id} (test)"


def test_a_read_only_service_refuses_changes() -> None:
    service = SecuredService(read_only=True)
    try:
        admin = service.key("admin").secret
        for route in ROUTES:
            answer = service.request(route.method, filled(route), admin, body_of(route))
            expected = route.writes and route.role is not Role.PUBLIC
            assert (answer.status == 403) == expected, (route.method, route.path, answer.status)
    finally:
        service.close()


def test_large_bodies_and_frequent_requests_are_refused() -> None:
    service = SecuredService(max_body_bytes=1_000, requests_per_s=5)
    try:
        key = service.key("editor").secret
        answer = service.request("PUT", "/api/v1/schedules/1", key, {"payload": "x" * 2_000})
        assert (answer.status, answer.json["code"]) == (413, "too_large")
        statuses = [service.request("GET", "/api/v1/schedules", key).status for _ in range(20)]
        assert 429 in statuses
        assert statuses[0] == 200
    finally:
        service.close()


def test_each_caller_has_a_rate_limit_and_invalid_credentials_share_one() -> None:
    service = SecuredService(requests_per_s=5)
    try:
        first, second = service.key("reader").secret, service.key("reader").secret
        assert [service.request("GET", "/api/v1/schedules", key).status for key in (first, second)] == [200, 200]
        statuses = [service.request("GET", "/api/v1/schedules", first).status for _ in range(20)]
        assert 429 in statuses
        assert service.request("GET", "/api/v1/schedules", second).status == 200
        made_up = [service.request("GET", "/api/v1/schedules", f"tpn_{number:012x}_{'0' * 48}") for number in range(30)]
        assert {answer.status for answer in made_up} == {401, 429}
    finally:
        service.close()


def test_the_rate_limit_of_a_namespace_does_not_affect_others() -> None:
    """All keys of a tenant share the limit. Requests without access to the namespace do not count."""
    service = SecuredService(namespace_requests_per_s=5)
    try:
        mine = [service.key("reader", "mine").secret for _ in range(10)]
        theirs, everywhere = service.key("reader", "theirs").secret, service.key("reader", "*").secret
        strangers = [service.request("GET", "/api/v1/schedules?namespace=mine", theirs).status for _ in range(30)]
        assert set(strangers) == {404}
        assert service.request("GET", "/api/v1/schedules", mine[0]).status == 200
        answers = [service.request("GET", "/api/v1/schedules", key) for key in mine * 3]
        refused = next(answer for answer in answers if answer.status == 429)
        assert (refused.json["code"], refused.json["retryable"]) == ("too_many_requests", True)
        assert "namespace_requests_per_s" in refused.json["detail"]
        assert refused.headers["retry-after"] == "1"
        assert service.request("GET", "/api/v1/schedules", theirs).status == 200
        for _ in range(30):
            service.request("GET", "/api/v1/schedules?namespace=mine", everywhere)
        for path in ("/api/v1/schedules?namespace=mine", "/api/v1/calendar.ics?namespace=mine"):
            assert service.request("GET", path, everywhere).status == 429, "for every caller and route"
        assert service.request("GET", "/healthz", None).status == 200
    finally:
        service.close()


@pytest.mark.parametrize("named", ["a/b", "a%00b", " a", "x" * 500])
def test_a_namespace_name_is_validated(service: SecuredService, named: str) -> None:
    """With a slash in it, schedules of two namespaces could share one key."""
    everywhere = service.key("admin", "*").secret
    refused = service.request("GET", f"/api/v1/schedules?namespace={named.replace(' ', '%20')}", everywhere)
    assert (refused.status, refused.json["field"]) == (400, "namespace")


def test_routes_for_all_namespaces_need_a_role_in_all(service: SecuredService) -> None:
    everywhere, tenant = service.key("admin", "*").secret, service.key("admin", "mine").secret
    for extra in SYSTEM_ROUTES:
        if not extra.all_namespaces:
            continue
        assert service.request("GET", extra.full_path, everywhere).status == 200
        assert service.request("GET", extra.full_path, service.key("reader", "*").secret).status == (
            200 if extra.role is Role.READER else 403
        )
        refused = service.request("GET", extra.full_path, tenant)
        assert (refused.status, refused.json["code"]) == (403, "forbidden"), extra.path


def test_every_system_route_needs_its_role(service: SecuredService) -> None:
    for extra in SYSTEM_ROUTES:
        answer = service.request("GET", extra.full_path, None)
        assert (answer.status == 401) == (extra.role is not Role.PUBLIC), extra.path
        if extra.role is not Role.PUBLIC and not extra.all_namespaces:
            elsewhere = service.request(
                "GET", f"{extra.full_path}?namespace=mine", service.key("admin", "theirs").secret
            )
            assert elsewhere.status == 404, extra.path


def test_basic_authentication_takes_the_key_as_password(service: SecuredService) -> None:
    key = service.key("reader").secret

    def status_of(text: str) -> int:
        return service.http(
            "GET", "/api/v1/calendar.ics", Authorization=f"Basic {b64encode(text.encode()).decode()}"
        ).status

    assert status_of(f"calendar:{key}") == 200
    assert status_of(f":{key}") == 200
    for wrong in (key, f"{key}:", "calendar:tpn_no", ":", ""):
        assert status_of(wrong) == 401
    assert service.http("GET", "/api/v1/calendar.ics", Authorization="Basic ***").status == 401


def test_a_request_for_another_host_is_refused(service: SecuredService) -> None:
    key = service.key("reader").secret
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.", "[::2]:8640", "", "a" * 5_000):
        refused = service.http("GET", "/api/v1/schedules", Host=host, Authorization=f"Bearer {key}")
        assert (refused.status, refused.json["code"]) == (400, "unknown_host"), host
    for host in ("127.0.0.1:1", "LOCALHOST", "[::1]:8640"):
        assert service.http("GET", "/api/v1/schedules", Host=host, Authorization=f"Bearer {key}").status == 200, host


def test_responses_have_security_headers(service: SecuredService) -> None:
    headers = service.request("GET", "/api/v1/schedules", service.key("reader").secret).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
