"""Client certificates against a real server: named, unnamed, of another authority, expired and missing."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.conformance.api.certificates import TlsService, tls_service
from tests.support.service import Blocking
from tompion.api.auth.mtls import identities
from tompion.client import Client, protocol
from tompion.contract.sync_methods import SyncMethods
from tompion.errors import Forbidden, StoreUnavailable, Unauthenticated
from tompion.operations.resources import api_keys
from tompion.sdk.app import Tompion

SECONDS = 120
LIST = "/api/v1/schedules"
ROBOT: dict[str, Any] = {"uris": ("spiffe://example.org/robot",)}
READER = {"names": ("reader.example.org",)}
ANN = {"common": "ann"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsService]:
    with tls_service(tmp_path_factory.mktemp("required")) as service:
        yield service


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsService]:
    with tls_service(tmp_path_factory.mktemp("optional"), tls_client="optional") as service:
        yield service


def key_of(service: TlsService, role: str) -> str:
    sent = service.runner.send(
        lambda session: api_keys.create_key(session, "test", role=role), namespace="default", actor="ann", writes=True
    )
    return sent.result(SECONDS).secret


@pytest.mark.parametrize(
    ("who", "role", "actor"),
    [
        (ROBOT, "editor", "certificate uri spiffe://example.org/robot"),
        (READER, "reader", None),
        (ANN, "admin", "certificate cn ann"),
    ],
)
def test_a_certificate_grants_the_role_of_its_block(
    service: TlsService, who: dict[str, Any], role: str, actor: str | None
) -> None:
    with service.http(service.issue(**who)) as http:
        assert http("GET", LIST).status == 200
        created = http("PUT", f"{LIST}/{role}", {"cron": "@daily", "function": "a:b"})
        assert created.status == (201 if actor else 403)
        assert http("GET", "/api/v1/keys").status == (200 if role == "admin" else 403)
        assert http("GET", f"{LIST}?namespace=elsewhere").status == (200 if role == "admin" else 404)
        if actor:
            assert http("GET", f"{LIST}/{role}/history").json["items"][0]["actor"] == actor


@pytest.mark.parametrize(
    "who",
    [
        {"uris": ("spiffe://example.org/unnamed",)},
        {"uris": ("spiffe://example.org/robot/",)},
        {"uris": ("SPIFFE://example.org/robot",)},
        {"names": ("example.org",)},
        {"names": ("*.example.org",)},
        {"names": ("evil.reader.example.org",)},
        {"common": "Ann"},
        {"common": "spiffe://example.org/robot"},
        {"common": "ann", "names": ("unnamed.example.org",)},
    ],
    ids=str,
)
def test_a_certificate_without_a_block_is_unauthenticated(service: TlsService, who: dict[str, Any]) -> None:
    with service.http(service.issue(**who)) as http:
        answer = http("GET", LIST)
        assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
        assert http("GET", "/healthz").status == 200


def of_a_stranger(service: TlsService) -> ssl.SSLContext:
    return service.context(service.stranger.issue(service.directory, **ROBOT))


def over(service: TlsService) -> ssl.SSLContext:
    return service.issue(**ROBOT, ends_in=timedelta(seconds=-1))


def of_a_server(service: TlsService) -> ssl.SSLContext:
    return service.issue(**ROBOT, usage=ExtendedKeyUsageOID.SERVER_AUTH)


WRONG: list[Callable[[TlsService], ssl.SSLContext]] = [of_a_stranger, over, of_a_server]


@pytest.mark.parametrize("wrong", [*WRONG, TlsService.context])
def test_a_required_certificate_must_be_valid(
    service: TlsService, wrong: Callable[[TlsService], ssl.SSLContext]
) -> None:
    with service.http(wrong(service)) as http, pytest.raises(OSError, match=r".") as refused:
        http("GET", "/healthz")
    assert isinstance(refused.value, ssl.SSLError | ConnectionError)


@pytest.mark.parametrize("wrong", WRONG)
def test_an_optional_certificate_must_be_valid(
    lenient: TlsService, wrong: Callable[[TlsService], ssl.SSLContext]
) -> None:
    with lenient.http(wrong(lenient)) as http, pytest.raises((ssl.SSLError, ConnectionError)):
        http("GET", "/healthz")


def test_with_optional_certificates_a_key_also_authenticates(lenient: TlsService) -> None:
    key = key_of(lenient, "reader")
    with lenient.http(lenient.context()) as http:
        assert http("GET", LIST).status == 401
        assert http("GET", LIST, Authorization=f"Bearer {key}").status == 200
    with lenient.http(lenient.issue(**ROBOT)) as http:
        assert http("GET", LIST).status == 200


def test_plain_http_is_refused_on_a_tls_port(service: TlsService, lenient: TlsService) -> None:
    """A request with a valid key gets no response either, so an eavesdropper learns nothing."""
    for place in (service, lenient):
        host, port = place.url.removeprefix("https://").split(":")
        header = f"Authorization: Bearer {key_of(place, 'admin')}\r\n"
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(f"GET {LIST} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
            try:
                assert not connection.recv(1_000).startswith(b"HTTP/")
            except ConnectionError:
                continue


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_an_old_version_of_tls_is_refused(service: TlsService, version: ssl.TLSVersion) -> None:
    context = service.issue(**ROBOT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = version
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with service.http(context) as http:
        assert http("GET", LIST).status == 200, "the same with a newer one"
    context.maximum_version = version
    with service.http(context) as http, pytest.raises((ssl.SSLError, ConnectionError)):
        http("GET", LIST)


def test_an_authorization_header_takes_precedence_over_the_certificate(service: TlsService) -> None:
    with service.http(service.issue(**ANN)) as http:
        headers = {"Authorization": f"Bearer {key_of(service, 'reader')}"}
        assert http("GET", LIST, **headers).status == 200
        assert http("GET", "/api/v1/keys", **headers).status == 403
        assert http("GET", "/api/v1/keys", Authorization="Bearer tpn_000000000000_" + "0" * 48).status == 401
        assert http("GET", "/api/v1/keys", Authorization="").status == 401


def test_a_certificate_in_a_header_is_ignored(lenient: TlsService) -> None:
    """Proxies forward certificates in headers, but any caller could send such a header."""
    headers = {"X-Client-Cert": "ann", "X-SSL-Client-S-DN": "CN=ann", "X-Forwarded-Client-Cert": "Subject=CN=ann"}
    with lenient.http(lenient.context()) as http:
        assert http("GET", LIST, **headers).status == 401


def test_an_expired_certificate_is_refused_on_an_open_connection(tmp_path_factory: pytest.TempPathFactory) -> None:
    with tls_service(tmp_path_factory.mktemp("outlived")) as service, service.http(service.issue(**ROBOT)) as http:
        assert http("GET", LIST).status == 200
        service.clock.advance(90_000)
        assert http("GET", LIST).status == 401


@pytest.mark.parametrize("client", [Client, Blocking, Tompion])
def test_clients_authenticate_with_certificates(
    service: TlsService, client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "RETRY_DELAY_S", 0.0)

    def opened(tls: ssl.SSLContext) -> SyncMethods:
        api: SyncMethods = client(service.url, tls=tls)
        return api.open() if isinstance(api, Tompion) else api

    def call(tls: ssl.SSLContext, work: Callable[[SyncMethods], object]) -> object:
        api: Any = opened(tls)
        try:
            return work(api)
        finally:
            api.close()

    call(service.issue(**ROBOT), lambda it: it.put("by-client", cron="@daily", function="a:b"))
    with pytest.raises(Forbidden):
        call(service.issue(**READER), lambda it: it.pause("by-client"))
    with pytest.raises(Unauthenticated):
        call(service.issue(common="unnamed"), lambda it: it.schedules.list())
    for wrong in (*WRONG, TlsService.context):
        with pytest.raises(StoreUnavailable):
            call(wrong(service), lambda it: it.schedules.list())


def test_tls_responses_have_the_hsts_header(service: TlsService) -> None:
    with service.http(service.issue(**ROBOT)) as http:
        assert http("GET", LIST).headers["strict-transport-security"] == "max-age=31536000"


def test_a_request_for_another_host_is_refused_over_tls_too(service: TlsService) -> None:
    with service.http(service.issue(**ROBOT)) as http:
        assert http("GET", LIST, Host="rebound.example").status == 400
        assert http("GET", LIST, Host="localhost").status == 200


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        ({"subject": ((("commonName", "ann"),),)}, [("cn", "ann")]),
        ({"subject": ((("commonName", "ann"),), (("commonName", "bob"),))}, []),
        ({"subject": ((("organizationName", "ann"),),)}, []),
        ({"subjectAltName": (("DNS", "B.example"), ("URI", "u:1"))}, [("uri", "u:1"), ("dns", "b.example")]),
        ({"subject": ((("commonName", "ann"),),), "subjectAltName": (("DNS", "b.example"),)}, [("dns", "b.example")]),
        ({"subject": ((("commonName", "ann"),),), "subjectAltName": (("email", "b@c.example"),)}, [("cn", "ann")]),
        ({"subjectAltName": (("DNS", "a.example\x00.evil"),)}, [("dns", "a.example\x00.evil")]),
        ({}, []),
    ],
)
def test_names_of_a_certificate_in_order_of_precedence(
    certificate: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert list(identities(certificate)) == expected
