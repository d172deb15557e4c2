"""Allowed addresses: every way to write, reach or hide one that is not public."""

from __future__ import annotations

import pytest

from tompion.errors import InvalidField, LaunchRefused
from tompion.outbound.ssrf_guard import AllowRule, SsrfGuard, parse_allow_rule

REFUSED_URLS = [
    # loopback, in every form that some library reads
    "http://127.0.0.1/", "http://127.0.0.1:8080/x", "http://127.255.255.254/", "http://127.1/", "http://127.0.1/",
    "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://017700000001/",
    "http://①②⑦.0.0.1/", "http://127。0。0。1/", "http://１２７.０.０.１/", "http://①②⑦.⓪.⓪.①/", "http://ⓛocalhost/",
    "http://127.0.0.1./", "http://0/", "http://0.0.0.0/", "http://0.1.2.3/",
    "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:0:127.0.0.1]/", "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    # translated and tunnelled
    "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::1]/", "http://[2002:7f00:1::]/",
    "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1:fffe::]/", "http://[2002:a9fe:a9fe::]/", "http://[2002:c0a8:1::1]/",
    "http://[2001:0:7f00:1::]/", "http://[::ffff:0:7f00:1]/",
    "http://[2002:a00:1::1]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    # private, shared, link-local
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/",
    "http://192.168.255.255/", "http://167772161/", "http://0xa000001/", "http://192.168.1/", "http://100.64.0.1/",
    "http://100.127.255.255/", "http://169.254.0.1/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/",
    "http://[fc00::1]/", "http://[fd12:3456:789a::1]/", "http://[fec0::1]/", "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:192.168.0.1]/",
    # metadata of clouds
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://[fd00:ec2::254]/",
    "http://100.100.100.200/", "http://192.0.0.192/", "http://192.0.0.9/", "http://168.63.129.16/", "http://[::ffff:169.254.169.254]/",
    # multicast, broadcast, reserved, documentation, not assigned
    "http://224.0.0.1/", "http://232.1.2.3/",
    "http://239.255.255.250/", "http://[ff02::1]/", "http://255.255.255.255/", "http://240.0.0.1/",
    "http://192.0.2.1/", "http://198.18.0.1/", "http://198.51.100.7/", "http://203.0.113.9/", "http://192.88.99.1/",
    "http://[2001:db8::1]/", "http://[100::1]/", "http://[4000::1]/", "http://[3fff::1]/", "http://[5f00::1]/",
    # not HTTP, or not a host
    "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "//example.org/", "example.org", "", "http://",
    "http:///path", "http://user@example.org/", "http://user:secret@example.org/", "http://exa mple.org/",
    "http://example.org\\@127.0.0.1/", "http://[::1", "http://example.org:99999/", "http://127.0.0.1%2f@example.org/",
]  # fmt: skip
ALLOWED_URLS = [
    "http://example.org/", "https://example.org:8443/x?y=z#f", "http://93.184.216.34/", "https://[2606:4700::1111]/",
    "http://172.15.255.255/", "http://172.32.0.1/", "http://100.63.255.255/", "http://100.128.0.1/",
    "http://localhost.example.org/", "http://11.0.0.1/", "http://xn--bcher-kva.example/",
]  # fmt: skip


def test_list_of_rejected_urls_is_long() -> None:
    assert len(REFUSED_URLS) >= 60


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_refused(url: str) -> None:
    with pytest.raises(LaunchRefused):
        SsrfGuard().target(url)


@pytest.mark.parametrize("url", ALLOWED_URLS)
def test_allowed(url: str) -> None:
    assert SsrfGuard().target(url).url == url


@pytest.mark.parametrize("value", [None, 5, ["http://example.org"], b"http://example.org"])
def test_value_that_is_not_text_is_rejected(value: object) -> None:
    with pytest.raises(LaunchRefused, match="has no url"):
        SsrfGuard().target(value)


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(LaunchRefused) as caught:
        SsrfGuard().target("http://user:hunter2@example.org/")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("addresses", "fine"),
    [
        (["93.184.216.34"], True),
        (["93.184.216.34", "127.0.0.1"], False),
        (["::ffff:10.0.0.1"], False),
        (["fe80::1%eth0"], False),
        (["2606:4700::1111", "1.1.1.1"], True),
        ([], False),
    ],
)
def test_a_name_must_have_public_addresses_and_no_others(addresses: list[str], fine: bool) -> None:
    """A name with a public and a private address is rejected, because the client may choose either."""
    if fine:
        assert SsrfGuard().check_all(addresses, 443) == addresses
    else:
        with pytest.raises(LaunchRefused):
            SsrfGuard().check_all(addresses, 443)


def test_rule_allows_its_network_only() -> None:
    guard = SsrfGuard(["10.1.0.0/16", "127.0.0.1:8080", "[fd00::1]:443", "fd01::/32"])
    for url in ("http://10.1.2.3/", "http://127.0.0.1:8080/", "https://[fd00::1]/", "http://[fd01::9]:1/",
                "http://[::ffff:10.1.0.1]/"):  # fmt: skip
        guard.target(url)
    for url in ("http://10.2.0.1/", "http://127.0.0.1/", "http://127.0.0.2:8080/", "http://[fd00::1]/",
                "http://127.1:8080/"):  # fmt: skip
        with pytest.raises(LaunchRefused):
            guard.target(url)


@pytest.mark.parametrize(
    "text", ["", "example.org", "10.0.0.1/8", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x", "[::1]:65536"]
)
def test_invalid_rule_is_rejected(text: str) -> None:
    with pytest.raises(InvalidField, match="allow"):
        SsrfGuard([text])


def test_a_rule_can_be_limited_to_a_port() -> None:
    assert parse_allow_rule("[::1]:99") == AllowRule(parse_allow_rule("::1").network, 99)
