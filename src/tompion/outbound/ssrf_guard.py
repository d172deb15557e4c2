"""The SSRF guard: requests go only to public addresses, and to those that the operator allows.

The author of a workflow chooses its URL.  Without a guard, the service would give access to its internal network.  A
name is resolved once, and the connection uses the address that was checked, so DNS rebinding has no effect.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from tompion.errors import InvalidField, LaunchRefused

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
DEFAULT_PORTS = {"http": 80, "https": 443}

REFUSED: dict[str, Sequence[str]] = {
    "this host or network": ("0.0.0.0/8", "::/128"),
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "shared by a carrier": ("100.64.0.0/10",),
    "link-local": ("169.254.0.0/16", "fe80::/10"),
    "metadata of a cloud": ("168.63.129.16/32",),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "reserved": (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "100::/64",
        "2001::/23",
        "5f00::/16",
    ),
    "documentation": ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    "translated": ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"),
}
PUBLIC_IPV6 = IPv6Network("2000::/3")
COMPATIBLE_IPV4 = IPv6Network("::/96")
_REFUSED_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), kind) for kind, networks in REFUSED.items() for network in networks
)


class HttpTarget(NamedTuple):
    """The host and port of a URL, not resolved yet."""

    url: str
    host: str
    port: int

    @property
    def name(self) -> str:
        """Return host and port, which identify a target."""
        return f"{self.host}:{self.port}"


class AllowRule(NamedTuple):
    """An exception of the operator: a network, and one port or any."""

    network: Network
    port: int | None

    def allows(self, address: Address, port: int) -> bool:
        """Return whether the rule allows an address and a port."""
        return address in self.network and self.port in (None, port)


class SsrfGuard:
    """Checks whether requests may go to an address.

    ``allow`` has the exceptions of the operator: ``10.1.0.0/16``, ``127.0.0.1:8080``, ``[fd00::1]:443``.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._rules = tuple(parse_allow_rule(text) for text in allow)

    def target(self, url: object) -> HttpTarget:
        """Return the target of a URL. Raises for an invalid URL and for an address that is not allowed."""
        if not isinstance(url, str):
            raise LaunchRefused("the workflow has no url")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise LaunchRefused("the url is not valid") from None
        if parts.scheme not in DEFAULT_PORTS:
            raise LaunchRefused(f"the url must begin with http:// or https://, not {parts.scheme or 'nothing'}")
        if parts.username is not None or parts.password is not None:
            raise LaunchRefused("the url must not contain a user or a password; use a header")
        host = (parts.hostname or "").rstrip(".")
        if not host or any(character.isspace() or character in "\\%#?@" for character in host):
            raise LaunchRefused("the url has no host")
        if not host.isascii():  # clients map some other characters to digits and dots
            raise LaunchRefused("the url's host is not ASCII; write it in its xn-- form")
        target = HttpTarget(url, host, port or DEFAULT_PORTS[parts.scheme])
        literal = literal_address(host)
        if literal is not None:
            self.check(literal, target.port)
        return target

    def check(self, address: str | Address, port: int) -> Address:
        """Return the address if it is allowed. Raises if it is not."""
        parsed = ip_address(address.partition("%")[0]) if isinstance(address, str) else address
        for candidate in _embedded_addresses(parsed):
            kind = _refused_kind(candidate)
            if kind is not None and not any(rule.allows(candidate, port) for rule in self._rules):
                raise LaunchRefused(f"{parsed} is not a public address ({kind}), and no rule allows it")
        return parsed

    def check_all(self, addresses: Sequence[str], port: int) -> list[str]:
        """Return the addresses of a name if all of them are allowed, because the client may choose any."""
        if not addresses:
            raise LaunchRefused("the host has no address")
        return [str(self.check(address, port)) for address in addresses]


def parse_allow_rule(text: str) -> AllowRule:
    """Return a rule from the configuration."""
    network, port = text, None
    if text.startswith("["):
        network, _, rest = text[1:].partition("]")
        port = _parse_port(rest.removeprefix(":"), text) if rest else None
    elif text.count(":") == 1:
        network, _, rest = text.partition(":")
        port = _parse_port(rest, text)
    try:
        return AllowRule(ip_network(network), port)
    except ValueError:
        raise InvalidField(
            "allow", f"{text!r} is not a network; expected 10.1.0.0/16 or 127.0.0.1:8080, for example"
        ) from None


def _parse_port(text: str, rule: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 16):
        raise InvalidField("allow", f"{rule!r}: {text!r} is not a port")
    return int(text)


def literal_address(host: str, parse: Callable[[str], bytes] = socket.inet_aton) -> Address | None:
    """Return the address if the host is an IP literal.

    The C library also accepts ``127.1``, ``0x7f000001`` and ``2130706433``.  These forms are rejected, because clients
    interpret them differently.
    """
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        parse(host)
    except (OSError, UnicodeError):
        return None
    raise LaunchRefused("the url has an address in an unusual form; write four decimal numbers")


def _embedded_addresses(address: Address) -> list[Address]:
    """Return an address and the IPv4 address inside of it, because a translator may connect to that."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    packed: list[Address] = [address]
    if address in COMPATIBLE_IPV4 and int(address) > 1:
        packed.append(IPv4Address(int(address)))
    return packed


def _refused_kind(address: Address) -> str | None:
    """Return why an address is not public, or ``None`` if it is."""
    for network, kind in _REFUSED_NETWORKS:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return "not assigned"
    return None
