"""Signed tokens: who is let in by one, what it lets them do, and what is written down about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.token_issuers import (
    ALL_ISSUERS,
    EC_IN_SET,
    ED,
    FILE,
    HMAC,
    IN_SET,
    NOW,
    RSA,
    SECRET,
    VARIABLE,
    TokenIssuer,
    TokenService,
    token_service,
)
from tompion.client import Client
from tompion.model.api_key import NewKey
from tompion.operations.resources import api_keys

SECONDS = 120


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenService]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SECRET)
        with token_service(tmp_path_factory.mktemp("tokens")) as service:
            yield service


@pytest.mark.parametrize("issuer", ALL_ISSUERS, ids=lambda issuer: f"{issuer.algorithm} {issuer.iss}")
def test_each_kind_of_token_is_accepted(service: TokenService, issuer: TokenIssuer) -> None:
    assert service.request(issuer.token()).status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["another-service", "tompion"]},
        {"aud": "tompion-staging"},
        {"iat": None},
        {"nbf": NOW, "iat": NOW},
        {"nbf": NOW + 30},
        {"iat": NOW - 600, "exp": NOW - 29},
        {"exp": NOW + 600.5, "iat": NOW - 0.5},
        {"jti": "1", "scope": "openid", "unknown": {"anything": [1]}},
        {"tompion": {"default": "reader", "*": "reader"}},
    ],
)
def test_additional_claims_are_accepted(service: TokenService, claims: dict[str, Any]) -> None:
    assert service.request(RSA.token(**claims)).status == 200


@pytest.mark.parametrize("header", [{"typ": "at+jwt"}, {"typ": "jwt"}, {"x5t": "abc"}])
def test_additional_header_fields_are_accepted(service: TokenService, header: dict[str, Any]) -> None:
    assert service.request(RSA.token(header)).status == 200


def test_a_token_without_kid_needs_an_issuer_with_one_key(service: TokenService) -> None:
    assert service.request(ED.token({"kid": None})).status == 200
    assert service.request(EC_IN_SET.token({"kid": None})).status == 401


def test_a_token_grants_roles_in_its_namespaces(service: TokenService) -> None:
    token = RSA.token(tompion={"default": "reader", "reports": "editor"})
    body = {"cron": "@daily", "function": "a:b"}
    assert service.request(token, path="/api/v1/schedules?namespace=reports").status == 200
    assert service.request(token, "PUT", "/api/v1/schedules/1?namespace=reports", body).status == 201
    assert service.request(token, "PUT", "/api/v1/schedules/1", body).status == 403
    assert service.request(token, path="/api/v1/schedules?namespace=others").status == 404


def test_the_only_namespace_of_a_token_is_the_default(service: TokenService) -> None:
    token = RSA.token(tompion={"mine": "editor"})
    created = service.request(token, "PUT", "/api/v1/schedules/1", {"cron": "@daily", "function": "a:b"})
    assert (created.status, created.json["namespace"]) == (201, "mine")


def test_an_issuer_grants_roles_only_in_its_namespaces(service: TokenService) -> None:
    assert service.request(ED.token(tompion={"reports": "admin"})).status == 200
    for roles in ({"payments": "reader"}, {"*": "reader"}, {"default": "reader", "payments": "reader"}):
        assert service.request(ED.token(tompion=roles)).status == 401


def test_who_changes_something_is_in_the_audit(service: TokenService) -> None:
    token = IN_SET.token(sub="ann@example.org")
    service.request(token, "PUT", "/api/v1/schedules/audited", {"cron": "@daily", "function": "a:b"})
    change = service.request(token, path="/api/v1/schedules/audited/history").json["items"][0]
    assert change["actor"] == "jwt https://set.example ann@example.org"


def test_a_long_actor_name_is_truncated_in_the_audit(service: TokenService) -> None:
    token = IN_SET.token(sub="a" * 1_000)
    service.request(token, "PUT", "/api/v1/schedules/long", {"cron": "@daily", "function": "a:b"})
    actor = service.request(token, path="/api/v1/schedules/long/history").json["items"][0]["actor"]
    assert re.fullmatch("jwt https://set.example a+…", actor)
    assert len(actor) == 300


def test_keys_and_tokens_work_side_by_side(service: TokenService) -> None:
    sent = service.runner.send(
        lambda session: api_keys.create_key(session, "test", role="reader"),
        namespace="default",
        actor="ann",
        writes=True,
    )
    key: NewKey = sent.result(SECONDS)
    assert service.request(key.secret).status == 200
    assert service.request(key.secret[:-1] + "x").status == 401
    assert service.request(HMAC.token()).status == 200


def test_an_expired_token_is_unauthenticated(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SECRET)
        with token_service(tmp_path_factory.mktemp("over")) as service:
            token, exact = RSA.token(), IN_SET.token()
            service.clock.advance(599)
            assert [service.request(token).status, service.request(exact).status] == [200, 200]
            service.clock.advance(1)
            assert [service.request(token).status, service.request(exact).status] == [200, 401], (
                "the one has a leeway of 30 s"
            )
            service.clock.advance(30)
            assert service.request(token).status == 401


def test_the_client_sends_a_token_like_a_key(service: TokenService) -> None:
    with Client(service.served.url, key=RSA.token()) as client:
        assert client.schedules.list().items is not None


MAPPED = """
[[issuer]]
iss = "https://groups.example"
audience = "tompion"
algorithms = ["RS256"]
public_key = "DIRECTORY/rsa-1.pem"
claim = ["realm_access", "roles"]

[issuer.roles]
ops = { default = "operator", reports = "reader" }
authors = { default = "editor" }
root = { "*" = "admin" }
"""
GROUPS = TokenIssuer("https://groups.example", "RS256", "rsa-1")


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenService]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SECRET)
        with token_service(tmp_path_factory.mktemp("mapped"), FILE + MAPPED) as service:
            yield service


@pytest.mark.parametrize(
    ("values", "namespace", "method", "status"),
    [
        (["ops"], "default", "GET", 200),
        (["ops"], "default", "PUT", 403),
        (["ops"], "reports", "GET", 200),
        (["ops"], "elsewhere", "GET", 404),
        (["ops", "authors", "unknown"], "default", "PUT", 200),
        (["authors", "ops"], "default", "PUT", 200),
        ("authors", "default", "PUT", 200),
        (["root"], "elsewhere", "PUT", 200),
        (["unknown"], "default", "GET", 401),
        ([], "default", "GET", 401),
        (["ops", 1], "default", "GET", 401),
        ({"default": "admin"}, "default", "GET", 401),
        (None, "default", "GET", 401),
    ],
)
def test_values_of_a_custom_claim_are_mapped_to_roles(
    mapped: TokenService, values: Any, namespace: str, method: str, status: int
) -> None:
    token = GROUPS.token(realm_access={"roles": values}, tompion={"*": "admin"})
    path, body = ("/1", {"cron": "@daily", "function": "a:b"}) if method == "PUT" else ("", None)
    answer = mapped.request(token, method, f"/api/v1/schedules{path}?namespace={namespace}", body)
    assert answer.status in ((200, 201) if status == 200 else (status,)), "the first PUT creates the schedule"
