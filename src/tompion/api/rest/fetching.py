"""Fetching a JWK set: from the address that the operator has named, and only so much, and only so long."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

TIMEOUT_S = 5.0
LARGEST = 256 * 1024


async def fetch(url: str) -> bytes:
    """Return what an address answers; raises ``OSError`` if it does not, or too late, or too much."""
    wait = ClientTimeout(total=TIMEOUT_S)
    accepted = {"Accept": "application/jwk-set+json, application/json"}
    try:
        async with (
            ClientSession(timeout=wait, headers=accepted) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise OSError(f"it answers {answer.status}")
            found = bytearray()
            async for piece in answer.content.iter_any():
                found += piece
                if len(found) > LARGEST:
                    raise OSError(f"it answers with more than {LARGEST} bytes")
            return bytes(found)
    except (ClientError, TimeoutError) as error:
        raise OSError(str(error) or type(error).__name__) from error


def problem_of(url: str) -> str | None:
    """Return why keys cannot be fetched from an address: in the clear only from this machine."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("http", "https") or not host or parts.fragment:
        return "expected a URL such as https://login.example.org/jwks.json"
    if parts.username is not None or parts.password is not None:
        return "it has a user name or a password in it"
    if parts.scheme == "http" and not _is_loopback(host):
        return "expected https; http is for loopback addresses only"
    return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
