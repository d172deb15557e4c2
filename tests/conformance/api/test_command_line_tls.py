"""The command line before a service that has certificates of its own, and wants some."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.api.certificates import TlsService, tls_service
from tests.support.command_line import run
from tompion.cli.connection import CA, CERT, CERT_KEY, KEY, STORE, URL

DAILY = ("--cron", "@daily", "--function", "tasks:report")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsService]:
    with tls_service(tmp_path_factory.mktemp("shell")) as service:
        yield service


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (URL, KEY, STORE, CA, CERT, CERT_KEY):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def papers(service: TlsService) -> tuple[str, str]:
    """The files of the trusted authority and of the client certificate."""
    certificate = service.authority.issue(service.directory, uris=("spiffe://example.org/robot",))
    return str(service.server_ca), str(certificate)


def test_client_certificate_is_sent_and_server_certificate_is_verified(
    service: TlsService, papers: tuple[str, str]
) -> None:
    ca, cert = papers
    where = ("--url", service.url, "--ca", ca, "--cert", cert)
    assert run(["schedules", "create", "one", *DAILY, *where]).code == 0
    key, chain = Path(cert).with_suffix(".key"), Path(cert).with_suffix(".chain")
    pem = Path(cert).read_text()
    border = pem.index("-----BEGIN CERTIFICATE")
    key.write_text(pem[:border])
    chain.write_text(pem[border:])
    apart = ("--url", service.url, "--ca", ca, "--cert", str(chain), "--cert-key", str(key))
    assert run(["schedules", "get", "one", *apart]).code == 0


def test_tls_options_come_from_the_environment(
    service: TlsService, papers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip((URL, CA, CERT), (service.url, *papers), strict=True):
        monkeypatch.setenv(name, value)
    assert run(["schedules", "list", "-o", "json"]).code == 0
    assert "no engine" in run(["doctor"]).out
    monkeypatch.setenv(URL, "http://127.0.0.1:1")
    assert run(["schedules", "list"]).code == 6, "they are for https only, and ignored elsewhere"


def test_an_untrusted_server_gets_no_request(service: TlsService, papers: tuple[str, str]) -> None:
    left = run(["schedules", "list", "--url", service.url, "--cert", papers[1], "-o", "json"])
    assert (left.code, json.loads(left.err)["code"]) == (6, "store_unavailable")
    assert "CERTIFICATE_VERIFY_FAILED" in left.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--url", "https://127.0.0.1:1", "--ca", "none.pem"), "--ca: cannot use none.pem: No such file"),
        (("--url", "https://127.0.0.1:1", "--cert", "none.pem"), "--cert: cannot use none.pem: No such file"),
        (("--url", "https://127.0.0.1:1", "--ca", "{text}"), "--ca: cannot use"),
        (("--url", "https://127.0.0.1:1", "--cert-key", "k.pem"), "--cert-key needs --cert"),
        (("--url", "http://127.0.0.1:1", "--ca", "c.pem"), "need a service at https://"),
        (("--store", "sqlite:///x.db", "--cert", "c.pem"), "need a service at https://"),
    ],
)
def test_unusable_certificate_files_are_a_one_line_error(argv: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "text.pem").write_text("hello")
    left = run(["schedules", "list", *(word.replace("{text}", str(tmp_path / "text.pem")) for word in argv)])
    assert (left.code, left.out, left.err.count("\n")) == (2, "", 1)
    assert message in left.err
