"""Who may do what: every route, every role, other tenants; keys that are worth nothing; limits."""

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
from tests.support.service import Answer, Http, Served, runner_of
from tompion.api.auth import api_key_cache
from tompion.config.loader import load
from tompion.contract.roles import Role
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, Route
from tompion.model.security import NewKey
from tompion.operations.resources import api_keys
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

ROLES = (Role.READER, Role.OPERATOR, Role.EDITOR, Role.ADMIN)
SECONDS = 120


class World:
    """A service that wants keys, and keys for it."""

    def __init__(self, **flags: object) -> None:
        self.clock = ManualClock(BEGIN)
        self.store = SqliteStore(clock=self.clock)
        self.runner = runner_of(self.store)
        self.served = Served(self.runner, load({}, {"auth": "required", **flags}))
        self.http = Http(self.served.url)

    def key(self, role: str, namespace: str = "default", **given: object) -> NewKey:
        sent = self.runner.send(
            lambda session: api_keys.create_key(session, "test", role=role, **given),  # type: ignore[arg-type]  # as a door would
            namespace=namespace,
            actor="ann",
            writes=True,
        )
        return sent.result(SECONDS)

    def ask(self, method: str, path: str, key: str | None, body: object = None) -> Answer:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return self.http(method, path, body, **headers)

    def close(self) -> None:
        self.http.close()
        self.served.close()
        self.store.close()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(api_key_cache, "CACHE_TTL_S", 0.0)
    made = World()
    yield made
    made.close()


def filled(route: Route) -> str:
    return re.sub(r"{\w+}", "1", route.full_path)


def body_of(route: Route) -> object:
    return None if route.method in ("GET", "DELETE") else {}


def test_every_route_needs_exactly_its_role(world: World) -> None:
    """Whoever holds the role, or a higher one, is answered as the operation answers; everybody else is refused."""
    shown = {role: world.key(role.name.lower()).secret for role in ROLES}
    for route in ROUTES:
        for role in ROLES:
            answer = world.ask(route.method, filled(route), shown[role], body_of(route))
            refused = answer.status == 403 and answer.said["code"] == "forbidden"
            assert refused == (role < route.role), (route.method, route.path, role.name, answer.status)
            assert answer.status != 401


def test_every_route_needs_credentials(world: World) -> None:
    for route in ROUTES:
        answer = world.ask(route.method, filled(route), None, body_of(route))
        assert (answer.status == 401) == (route.role is not Role.PUBLIC), (route.method, route.path, answer.status)
        if answer.status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"


def test_objects_of_another_namespace_are_not_found(world: World) -> None:
    """An administrator elsewhere learns nothing, not even that a namespace is there."""
    mine, theirs = world.key("admin", "mine").secret, world.key("admin", "theirs").secret
    made = world.ask("PUT", "/api/v1/schedules/1?namespace=mine", mine, {"cron": "@daily", "function": "a:b"})
    assert made.status == 200
    for route in ROUTES:
        if route.role is Role.PUBLIC:
            continue
        answer = world.ask(route.method, f"{filled(route)}?namespace=mine", theirs, body_of(route))
        assert (answer.status, answer.said["code"]) == (404, "not_found"), (route.method, route.path)
    assert world.ask("GET", "/api/v1/schedules/1", mine).status == 200, "without a name, the caller's own is meant"
    assert world.ask("GET", "/api/v1/schedules/1", theirs).status == 404


def test_a_key_for_all_namespaces_works_in_each(world: World) -> None:
    everywhere = world.key("reader", "*").secret
    assert world.ask("GET", "/api/v1/schedules?namespace=anything", everywhere).status == 200
    assert world.ask("PUT", "/api/v1/schedules/1?namespace=anything", everywhere, {}).status == 403


def test_administrators_create_list_and_revoke_keys(world: World) -> None:
    admin = world.key("admin")
    made = world.ask("POST", "/api/v1/keys", admin.secret, {"name": "ci", "role": "editor"})
    assert made.status == 201
    secret, key_id = made.said["secret"], made.said["key"]["key_id"]
    assert re.fullmatch(r"tpn_[0-9a-f]{12}_[0-9a-f]{48}", secret)
    listed = world.ask("GET", "/api/v1/keys", admin.secret)
    assert {each["key_id"] for each in listed.said["items"]} == {admin.key.key_id, key_id}
    assert secret.encode() not in listed.body
    assert world.ask("GET", "/api/v1/schedules", secret).status == 200
    assert world.ask("DELETE", f"/api/v1/keys/{key_id}", admin.secret).said is True
    assert world.ask("GET", "/api/v1/schedules", secret).status == 401
    assert world.ask("DELETE", "/api/v1/keys/nobody", admin.secret).status == 404


def test_a_key_expires(world: World) -> None:
    ends = datetime.fromtimestamp(BEGIN + 60, UTC)
    key = world.key("reader", expires_at=ends).secret
    assert world.ask("GET", "/api/v1/schedules", key).status == 200
    world.clock.advance(60)
    assert world.ask("GET", "/api/v1/schedules", key).status == 401


def test_keys_are_compared_in_constant_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a secret is the right one is asked of ``compare_digest``, and of nobody else: whatever it says counts."""
    made = world.key("reader")
    wrong = made.secret[:-1] + ("0" if made.secret[-1] != "0" else "1")
    asked: list[tuple[str, str]] = []

    def compared(shown: str, kept: str) -> bool:
        asked.append((shown, kept))
        return shown != kept

    monkeypatch.setattr(hmac, "compare_digest", compared)
    assert world.ask("GET", "/api/v1/schedules", wrong).status == 200
    assert world.ask("GET", "/api/v1/schedules", made.secret).status == 401
    kept = sha256(made.secret.rpartition("_")[2].encode()).hexdigest()
    assert asked[-1] == (kept, kept)
    assert asked[0][1] == kept


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    """Nothing of a key, or of the cookie of whoever signed in with it, is in a dump of the whole database."""
    with closing(SqliteStore(tmp_path / "keys.db")) as store:
        served = Served(runner_of(store), load({}, {"auth": "required"}))
        admin = runner_of(store).send(
            lambda session: api_keys.create_key(session, "first", role="admin"),
            namespace="default",
            actor="ann",
            writes=True,
        )
        http, shown = Http(served.url), admin.result(SECONDS).secret
        made = http("POST", "/api/v1/keys", {"name": "ci", "role": "editor"}, Authorization=f"Bearer {shown}").said
        signed_in = http("POST", "/api/v1/session", {"credential": made["secret"]}, Origin=served.url)
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        once = {"Idempotency-Key": "once", "Cookie": cookie, "Origin": served.url}
        made_by_it = http("PUT", "/api/v1/schedules/1", {"cron": "@daily", "function": "a:b"}, **once)
        assert made_by_it.status == 200
        http.close()
        served.close()
        with closing(sqlite3.connect(tmp_path / "keys.db")) as connection:
            dump = "\n".join(connection.iterdump())
    assert made["key"]["key_id"] in dump
    for secret in (shown, made["secret"]):
        assert secret.rpartition("_")[2] not in dump
        assert secret.rpartition("_")[2] not in (tmp_path / "keys.db").read_bytes().decode("latin-1")
    assert cookie.partition("=")[2] not in dump


@pytest.mark.parametrize(
    "shown",
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
def test_malformed_keys_are_unauthenticated(world: World, shown: str) -> None:
    answer = world.http("GET", "/api/v1/schedules", Authorization=shown)
    assert (answer.status, answer.said["code"]) == (401, "unauthenticated")
    assert shown.partition(" ")[2] not in answer.said["detail"] or not shown.partition(" ")[2]


def test_a_key_with_a_wrong_secret_is_unauthenticated(world: World) -> None:
    key = world.key("admin").secret
    assert world.ask("GET", "/api/v1/schedules", key[:-1] + ("0" if key[-1] != "0" else "1")).status == 401


def test_who_changes_something_is_in_the_audit(world: World) -> None:
    key = world.key("editor")
    world.ask("PUT", "/api/v1/schedules/1", key.secret, {"cron": "@daily", "function": "a:b"})
    change = world.ask("GET", "/api/v1/schedules/1/history", key.secret).said["items"][0]
    assert change["actor"] == f"key {key.key.key_id} (test)"


def test_a_read_only_service_refuses_changes() -> None:
    world = World(read_only=True)
    try:
        admin = world.key("admin").secret
        for route in ROUTES:
            answer = world.ask(route.method, filled(route), admin, body_of(route))
            expected = route.writes and route.role is not Role.PUBLIC
            assert (answer.status == 403) == expected, (route.method, route.path, answer.status)
    finally:
        world.close()


def test_large_bodies_and_frequent_requests_are_refused() -> None:
    world = World(max_body_bytes=1_000, requests_per_s=5)
    try:
        key = world.key("editor").secret
        answer = world.ask("PUT", "/api/v1/schedules/1", key, {"payload": "x" * 2_000})
        assert (answer.status, answer.said["code"]) == (413, "too_large")
        statuses = [world.ask("GET", "/api/v1/schedules", key).status for _ in range(20)]
        assert 429 in statuses
        assert statuses[0] == 200
    finally:
        world.close()


def test_each_caller_has_a_rate_limit_and_invalid_credentials_share_one() -> None:
    world = World(requests_per_s=5)
    try:
        first, second = world.key("reader").secret, world.key("reader").secret
        assert [world.ask("GET", "/api/v1/schedules", key).status for key in (first, second)] == [200, 200]
        statuses = [world.ask("GET", "/api/v1/schedules", first).status for _ in range(20)]
        assert 429 in statuses
        assert world.ask("GET", "/api/v1/schedules", second).status == 200
        made_up = [world.ask("GET", "/api/v1/schedules", f"tpn_{number:012x}_{'0' * 48}") for number in range(30)]
        assert {answer.status for answer in made_up} == {401, 429}
    finally:
        world.close()


def test_the_rate_limit_of_a_namespace_does_not_affect_others() -> None:
    """Many keys of one tenant share it; whoever may not ask about a namespace uses nothing of it up."""
    world = World(namespace_requests_per_s=5)
    try:
        mine = [world.key("reader", "mine").secret for _ in range(10)]
        theirs, everywhere = world.key("reader", "theirs").secret, world.key("reader", "*").secret
        strangers = [world.ask("GET", "/api/v1/schedules?namespace=mine", theirs).status for _ in range(30)]
        assert set(strangers) == {404}
        assert world.ask("GET", "/api/v1/schedules", mine[0]).status == 200
        answers = [world.ask("GET", "/api/v1/schedules", key) for key in mine * 3]
        refused = next(answer for answer in answers if answer.status == 429)
        assert (refused.said["code"], refused.said["retryable"]) == ("too_many_requests", True)
        assert "namespace_requests_per_s" in refused.said["detail"]
        assert refused.headers["retry-after"] == "1"
        assert world.ask("GET", "/api/v1/schedules", theirs).status == 200
        for _ in range(30):
            world.ask("GET", "/api/v1/schedules?namespace=mine", everywhere)
        for path in ("/api/v1/schedules?namespace=mine", "/api/v1/calendar.ics?namespace=mine"):
            assert world.ask("GET", path, everywhere).status == 429, "whoever asks, and whatever for"
        assert world.ask("GET", "/healthz", None).status == 200
    finally:
        world.close()


@pytest.mark.parametrize("named", ["a/b", "a%00b", " a", "x" * 500])
def test_a_namespace_name_is_validated(world: World, named: str) -> None:
    """With a slash in it, schedules of two namespaces could share one key."""
    everywhere = world.key("admin", "*").secret
    refused = world.ask("GET", f"/api/v1/schedules?namespace={named.replace(' ', '%20')}", everywhere)
    assert (refused.status, refused.said["field"]) == (400, "namespace")


def test_routes_for_all_namespaces_need_a_role_in_all(world: World) -> None:
    everywhere, tenant = world.key("admin", "*").secret, world.key("admin", "mine").secret
    for extra in SYSTEM_ROUTES:
        if not extra.all_namespaces:
            continue
        assert world.ask("GET", extra.full_path, everywhere).status == 200
        assert world.ask("GET", extra.full_path, world.key("reader", "*").secret).status == (
            200 if extra.role is Role.READER else 403
        )
        refused = world.ask("GET", extra.full_path, tenant)
        assert (refused.status, refused.said["code"]) == (403, "forbidden"), extra.path


def test_every_system_route_needs_its_role(world: World) -> None:
    for extra in SYSTEM_ROUTES:
        answer = world.ask("GET", extra.full_path, None)
        assert (answer.status == 401) == (extra.role is not Role.PUBLIC), extra.path
        if extra.role is not Role.PUBLIC and not extra.all_namespaces:
            elsewhere = world.ask("GET", f"{extra.full_path}?namespace=mine", world.key("admin", "theirs").secret)
            assert elsewhere.status == 404, extra.path


def test_basic_authentication_takes_the_key_as_password(world: World) -> None:
    key = world.key("reader").secret

    def asked(text: str) -> int:
        return world.http(
            "GET", "/api/v1/calendar.ics", Authorization=f"Basic {b64encode(text.encode()).decode()}"
        ).status

    assert asked(f"calendar:{key}") == 200
    assert asked(f":{key}") == 200
    for wrong in (key, f"{key}:", "calendar:tpn_no", ":", ""):
        assert asked(wrong) == 401
    assert world.http("GET", "/api/v1/calendar.ics", Authorization="Basic ***").status == 401


def test_a_request_for_another_host_is_refused(world: World) -> None:
    key = world.key("reader").secret
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.", "[::2]:8640", "", "a" * 5_000):
        refused = world.http("GET", "/api/v1/schedules", Host=host, Authorization=f"Bearer {key}")
        assert (refused.status, refused.said["code"]) == (400, "unknown_host"), host
    for host in ("127.0.0.1:1", "LOCALHOST", "[::1]:8640"):
        assert world.http("GET", "/api/v1/schedules", Host=host, Authorization=f"Bearer {key}").status == 200, host


def test_responses_have_security_headers(world: World) -> None:
    headers = world.ask("GET", "/api/v1/schedules", world.key("reader").secret).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
