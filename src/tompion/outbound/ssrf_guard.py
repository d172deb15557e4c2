"""Which addresses this process connects to on behalf of others: public ones, and those that the operator allows.

Whoever writes a workflow chooses its URL; without a guard the service would be a way into the network that it stands
in.  Names are resolved once, and the connection goes to the address that was looked at: a name that means something
else a moment later changes nothing.
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
PORTS = {"http": 80, "https": 443}

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
_KINDS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), kind) for kind, networks in REFUSED.items() for network in networks
)


class Target(NamedTuple):
    """Where a URL leads to: nothing is resolved yet."""

    url: str
    host: str
    port: int

    @property
    def name(self) -> str:
        """Return the host and the port, which is what a target is known by."""
        return f"{self.host}:{self.port}"


class AllowRule(NamedTuple):
    """What the operator allows: a network, and one port of it or any."""

    network: Network
    port: int | None

    def allows(self, address: Address, port: int) -> bool:
        """Return whether it is about an address and a port."""
        return address in self.network and self.port in (None, port)


class Guard:
    """Says whether an address may be connected to."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """Take what is allowed besides public addresses: ``10.1.0.0/16``, ``127.0.0.1:8080``, ``[fd00::1]:443``."""
        self._rules = tuple(read_rule(text) for text in allow)

    def target(self, url: object) -> Target:
        """Return where a URL leads to, unless that is forbidden already by the look of it."""
        if not isinstance(url, str):
            raise LaunchRefused("the workflow has no url")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise LaunchRefused("the url cannot be read") from None
        if parts.scheme not in PORTS:
            raise LaunchRefused(f"the url must begin with http:// or https://, not {parts.scheme or 'nothing'}")
        if parts.username is not None or parts.password is not None:
            raise LaunchRefused("the url must not hold a user or a password; use a header")
        host = (parts.hostname or "").rstrip(".")
        if not host or any(character.isspace() or character in "\\%#?@" for character in host):
            raise LaunchRefused("the url names no host")
        if not host.isascii():  # a client would read other characters as digits and dots
            raise LaunchRefused("the url's host is not ASCII; write it in its xn-- form")
        target = Target(url, host, port or PORTS[parts.scheme])
        literal = literal_address(host)
        if literal is not None:
            self.check(literal, target.port)
        return target

    def check(self, address: str | Address, port: int) -> Address:
        """Return an address that may be connected to; raises for any other."""
        found = ip_address(address.partition("%")[0]) if isinstance(address, str) else address
        for each in _meanings(found):
            kind = _kind(each)
            if kind is not None and not any(rule.allows(each, port) for rule in self._rules):
                raise LaunchRefused(f"{found} is not a public address ({kind}), and no rule allows it")
        return found

    def checked(self, addresses: Sequence[str], port: int) -> list[str]:
        """Return addresses that a name has, if all of them may be connected to: one of them might be chosen."""
        if not addresses:
            raise LaunchRefused("the host has no address")
        return [str(self.check(address, port)) for address in addresses]


def read_rule(text: str) -> AllowRule:
    """Return a rule that an operator has written."""
    written, port = text, None
    if text.startswith("["):
        written, _, rest = text[1:].partition("]")
        port = _port(rest.removeprefix(":"), text) if rest else None
    elif text.count(":") == 1:
        written, _, rest = text.partition(":")
        port = _port(rest, text)
    try:
        return AllowRule(ip_network(written), port)
    except ValueError:
        raise InvalidField(
            "allow", f"{text!r} is not a network; expected such as 10.1.0.0/16 or 127.0.0.1:8080"
        ) from None


def _port(text: str, rule: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 16):
        raise InvalidField("allow", f"{rule!r}: {text!r} is not a port")
    return int(text)


def literal_address(host: str, parse: Callable[[str], bytes] = socket.inet_aton) -> Address | None:
    """Return the address that a host is written as, if it is one.

    The C library also reads ``127.1``, ``0x7f000001`` and ``2130706433`` as addresses.  Nobody needs these forms, and
    not everybody reads them alike: they are refused, whatever they mean.
    """
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        parse(host)
    except (OSError, UnicodeError):
        return None
    raise LaunchRefused("the url writes an address in an unusual form; write four decimal numbers")


def _meanings(address: Address) -> list[Address]:
    """An address, and those that are packed into it: whoever translates it connects to one of these."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    packed: list[Address] = [address]
    if address in COMPATIBLE_IPV4 and int(address) > 1:
        packed.append(IPv4Address(int(address)))
    return packed


def _kind(address: Address) -> str | None:
    """Why an address is not a public one."""
    for network, kind in _KINDS:
        if address.version == network.version and address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return "not assigned"
    return None
