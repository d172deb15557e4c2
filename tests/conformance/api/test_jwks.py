"""Keys that an issuer publishes: fetched, kept, fetched again, rotated, and not to be had."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.jwks import MOVED, Publisher, publishing
from tests.support.service import Http
from tests.support.token_issuers import TokenIssuer, TokenService, jwk, jwks, token_service
from tompion.api.auth.jwks import MAX_JWKS_BYTES

FILE = """
auth = "required"

[[issuer]]
iss = "https://login.example"
audience = "tompion"
algorithms = ["RS256", "ES256"]
jwks_url = "{url}"
refresh_s = 300
keep_s = 3600
max_lifetime_s = 864000
"""


def issuer_of(key: str) -> TokenIssuer:
    return TokenIssuer("https://login.example", "RS256" if key.startswith("rsa") else "ES256", key, kid=key)


def token(key: str, **header: Any) -> str:
    """A token that lasts for days, so that only its key can be the reason why it is refused."""
    issuer = issuer_of(key)
    return issuer.token(header, exp=issuer.claims()["iat"] + 800_000)


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as server:
        server.content = jwks(jwk("rsa-2"), jwk("ec-2"))
        yield server


@pytest.fixture
def service(publisher: Publisher, tmp_path: Path) -> Iterator[TokenService]:
    with token_service(tmp_path, FILE.format(url=publisher.url)) as server:
        yield server


def test_keys_are_fetched_on_demand_and_cached(service: TokenService, publisher: Publisher) -> None:
    assert publisher.fetched == 0
    assert [service.request(token(key)).status for key in ("rsa-2", "ec-2", "rsa-2")] == [200, 200, 200]
    service.clock.advance(299)
    assert service.request(token("rsa-2")).status == 200
    assert publisher.fetched == 1


def test_a_new_key_is_fetched_on_first_use(service: TokenService, publisher: Publisher) -> None:
    assert service.request(token("rsa-2")).status == 200
    publisher.content = jwks(jwk("rsa-2"), jwk("rsa-3"))
    service.clock.advance(31)
    assert service.request(token("rsa-3")).status == 200
    assert publisher.fetched == 2


def test_a_withdrawn_key_is_refused(service: TokenService, publisher: Publisher) -> None:
    assert service.request(token("rsa-2")).status == 200
    publisher.content = jwks(jwk("rsa-3"))
    service.clock.advance(31)
    assert service.request(token("rsa-3")).status == 200
    assert service.request(token("rsa-2")).status == 401


def test_a_withdrawn_key_is_dropped_at_the_next_refresh(service: TokenService, publisher: Publisher) -> None:
    """The refresh happens beside the request that finds the keys old, and counts for those after it."""
    assert service.request(token("rsa-2")).status == 200
    publisher.content = jwks(jwk("rsa-3"))
    fetched = threading.Event()
    publisher.before = fetched.set
    service.clock.advance(300)
    assert service.request(token("rsa-2")).status == 200
    assert fetched.wait(120)
    assert service.request(token("rsa-3")).status == 200, "which waits for the fetch that is under way"
    assert service.request(token("rsa-2")).status == 401
    assert publisher.fetched == 2


def test_unknown_key_names_do_not_cause_many_fetches(service: TokenService, publisher: Publisher) -> None:
    assert service.request(token("rsa-2")).status == 200
    statuses = {service.request(token("rsa-2", kid=f"made-up-{number}")).status for number in range(50)}
    assert (statuses, publisher.fetched) == ({401}, 1)
    service.clock.advance(31)
    statuses = {service.request(token("rsa-2", kid=f"made-up-{number}")).status for number in range(50)}
    assert (statuses, publisher.fetched) == ({401}, 2)


def test_concurrent_requests_share_one_fetch(service: TokenService, publisher: Publisher) -> None:
    go = threading.Event()
    publisher.before = lambda: go.wait(120)

    def ask(_number: int) -> int:
        http = Http(service.served.url)
        try:
            return http("GET", "/api/v1/schedules", Authorization=f"Bearer {token('rsa-2')}").status
        finally:
            http.close()

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ask, number) for number in range(8)]
        go.set()
        assert {future.result(120) for future in futures} == {200}
    assert publisher.fetched == 1


@pytest.mark.parametrize("failure", ["status", "no JSON", "no set", "no key", "too large", "redirect", "private key"])
def test_cached_keys_are_used_for_a_while_when_the_issuer_is_down(
    service: TokenService, publisher: Publisher, failure: str
) -> None:
    assert service.request(token("rsa-2")).status == 200
    good = publisher.content
    publisher.status = {"status": 500, "redirect": 302}.get(failure, 200)
    publisher.headers = {"Location": publisher.url + MOVED} if failure == "redirect" else {}
    publisher.content = {
        "no JSON": b"<html>",
        "no set": b"[]",
        "no key": jwks(),
        "too large": good + b" " * MAX_JWKS_BYTES,
        "private key": jwks(jwk("rsa-2"), jwk("rsa-3", d="AQAB")),
    }.get(failure, good)
    service.clock.advance(3_599)
    assert service.request(token("rsa-2")).status == 200
    assert service.request(token("rsa-2", kid="unknown")).status == 401, "which waits for the fetch that is under way"
    service.clock.advance(31)
    answer = service.request(token("rsa-2"))
    assert (answer.status, answer.json["retryable"]) == (503, True)
    assert publisher.fetched == 3
    publisher.status, publisher.content = 200, good
    assert service.request(token("rsa-2")).status == 503, "not before the next fetch is due"
    service.clock.advance(30)
    assert service.request(token("rsa-2")).status == 200


def test_an_endless_key_set_is_refused(
    service: TokenService, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tompion.api.auth.jwks.FETCH_TIMEOUT_S", 0.05)
    go = threading.Event()
    publisher.before = lambda: go.wait(120)
    assert service.request(token("rsa-2")).status == 503
    go.set()


def test_a_wrong_algorithm_causes_no_fetch(service: TokenService, publisher: Publisher) -> None:
    assert service.request(token("rsa-2", alg="HS256")).status == 401
    assert service.request(token("rsa-2", jku=publisher.url)).status == 401
    assert publisher.fetched == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC"},
        {"alg": "ES256"},
        {"alg": "PS256"},
        {"use": "enc"},
        {"n": "AQAB"},
        {"n": "!"},
        {"n": None},
    ],
    ids=str,
)
def test_a_key_that_does_not_fit_its_algorithm_is_ignored(
    service: TokenService, publisher: Publisher, wrong: dict[str, Any]
) -> None:
    publisher.content = jwks(jwk("rsa-2", **wrong), jwk("ec-2"))
    assert service.request(token("ec-2")).status == 200
    assert service.request(token("rsa-2")).status == 401
