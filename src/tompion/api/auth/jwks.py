"""The key sets of issuers, and the algorithms that each key may be used with.

The operator lists the algorithms, and only those that fit the kind of key are used. A token selects one of them and
never adds one. A key name (``kid``) is looked up in the issuer's key set and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt import PyJWK, PyJWTError

from tompion.errors import StoreUnavailable

SECRET = "oct"  # noqa: S105 - the name of this kind of key in RFC 7518
FITS: Mapping[str, tuple[str, str]] = {
    **{f"HS{bits}": (SECRET, "") for bits in (256, 384, 512)},
    **{f"{family}{bits}": ("RSA", "") for family in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The kind of key and the curve that each algorithm needs."""
CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
MIN_RSA_BITS = 2048
MAX_KEYS = 100
MIN_FETCH_INTERVAL_S = 30.0
"""The shortest time between two fetches, so that unknown key names in tokens cause no traffic."""
FETCH_TIMEOUT_S = 5.0
MAX_JWKS_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class JsonWebKey:
    """A key that verifies signatures, and the algorithms that it may be used with."""

    material: Any
    algorithms: frozenset[str]


class KeySet(Protocol):
    """The keys of an issuer."""

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return the key with a name. Without a name, return the only key of the set."""


class StaticKeySet:
    """Keys from a file or from the environment, by name."""

    def __init__(self, keys: Mapping[str | None, JsonWebKey]) -> None:
        self._keys = keys

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return the key with a name. Without a name, return the only key of the set."""
        return find_key(self._keys, kid)


Fetch = Callable[[], Awaitable[bytes]]


class RemoteKeySet:
    """Keys that are fetched from the issuer.

    They are fetched again after ``refresh_s`` seconds, and when a token names an unknown key. While the issuer does
    not answer, the last keys stay in use for ``keep_s`` seconds. ``elapsed`` is a monotonic clock in seconds.
    """

    def __init__(
        self, fetch: Fetch, algorithms: Iterable[str], *, refresh_s: float, keep_s: float, elapsed: Callable[[], float]
    ) -> None:
        self._fetch = fetch
        self._algorithms = tuple(algorithms)
        self._refresh_s = refresh_s
        self._keep_s = keep_s
        self._elapsed = elapsed
        self._keys: Mapping[str | None, JsonWebKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return a key. Raises :class:`~tompion.errors.StoreUnavailable` if the keys cannot be fetched."""
        key = self._find_cached(kid)
        if self._is_due(key):
            self._tried_at = self._elapsed()
            self._fetching = asyncio.create_task(self._refresh())
        if key is None and self._fetching is not None:
            await asyncio.wait({self._fetching})
            key = self._find_cached(kid)
        if key is None and not self._is_within(self._keep_s):
            raise StoreUnavailable("the keys of the token's issuer cannot be fetched")
        return key

    def _find_cached(self, kid: str | None) -> JsonWebKey | None:
        return find_key(self._keys, kid) if self._is_within(self._keep_s) else None

    def _is_within(self, seconds: float) -> bool:
        return self._fetched_at is not None and self._elapsed() < self._fetched_at + seconds

    def _is_due(self, key: JsonWebKey | None) -> bool:
        if self._fetching is not None and not self._fetching.done():
            return False
        if self._tried_at is not None and self._elapsed() < self._tried_at + MIN_FETCH_INTERVAL_S:
            return False
        return key is None or not self._is_within(self._refresh_s)

    async def _refresh(self) -> None:
        try:
            self._keys = read_jwks(await self._fetch(), self._algorithms)
        except (OSError, ValueError):
            return
        self._fetched_at = self._elapsed()


def find_key(keys: Mapping[str | None, JsonWebKey], kid: str | None) -> JsonWebKey | None:
    """Return the key with a name. Without a name, return the only key of the set."""
    if kid is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(kid)


def secret_key(secret: bytes, algorithms: Iterable[str]) -> JsonWebKey:
    """Return a shared secret as a key. Raises ``ValueError`` if it is shorter than the algorithm's hash."""
    names = frozenset(algorithms)
    min_bytes = max((int(name[2:]) // 8 for name in names if FITS[name][0] == SECRET), default=0)
    if any(FITS[name][0] != SECRET for name in names):
        raise ValueError("a secret is for HS256, HS384 and HS512 only")
    if len(secret) < min_bytes:
        raise ValueError(f"the secret has {len(secret)} bytes; {', '.join(sorted(names))} needs at least {min_bytes}")
    return JsonWebKey(secret, names)


def public_key(pem: bytes, algorithms: Iterable[str]) -> JsonWebKey:
    """Return the public key in a PEM file. Raises ``ValueError`` if it is not one, or does not fit the algorithms."""
    try:
        material = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("no public key in PEM format") from None
    kind = _kind_of(material)
    names = frozenset(algorithms)
    if wrong := sorted(name for name in names if FITS[name] != kind):
        raise ValueError(f"{', '.join(wrong)} cannot be used with a key of the kind {' '.join(kind).strip()}")
    _refuse_short(material)
    return JsonWebKey(material, names)


def read_jwks(text: bytes, algorithms: Iterable[str]) -> dict[str | None, JsonWebKey]:
    """Return the keys of a JWK set that fit the algorithms, by name. Raises ``ValueError`` if none fits.

    A key is used only with algorithms that fit its kind, and only with its own ``alg`` if it names one. Shared secrets
    are ignored. A private key is an error.
    """
    members = _members(text)
    names = [name for name in algorithms if FITS[name][0] != SECRET]
    keys: dict[str | None, JsonWebKey] = {}
    for member in members:
        key = _jwk(member, names)
        if key is None:
            continue
        kid = member.get("kid")
        if kid in keys or not (kid is None or isinstance(kid, str)):
            raise ValueError("two keys have the same name (kid), or a name is not text")
        keys[kid] = key
    if not keys:
        raise ValueError(f"no key fits {', '.join(algorithms)}")
    if None in keys and len(keys) > 1:
        raise ValueError("there are several keys, and not all of them have a name (kid)")
    return keys


def _members(text: bytes) -> list[dict[str, Any]]:
    try:
        document = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    members = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise ValueError('not a JWK set; expected {"keys": [...]}')
    if len(members) > MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return members


def _jwk(member: Mapping[str, Any], names: Iterable[str]) -> JsonWebKey | None:
    """Return a public key of a key set, or ``None`` if it cannot verify a token of these algorithms."""
    if "d" in member:
        raise ValueError("the set has a private key")
    kind = (member.get("kty"), member.get("crv", ""))
    fitting = frozenset(name for name in names if FITS[name] == kind and member.get("alg", name) == name)
    if not fitting or member.get("use", "sig") != "sig":
        return None
    try:
        material = PyJWK(dict(member), algorithm=min(fitting)).key
        _refuse_short(material)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    return JsonWebKey(material, fitting)


def _kind_of(material: object) -> tuple[str, str]:
    if isinstance(material, RSAPublicKey):
        return "RSA", ""
    if isinstance(material, EllipticCurvePublicKey):
        return "EC", CURVES.get(material.curve.name, material.curve.name)
    if isinstance(material, Ed25519PublicKey):
        return "OKP", "Ed25519"
    return type(material).__name__, ""


def _refuse_short(material: object) -> None:
    if isinstance(material, RSAPublicKey) and material.key_size < MIN_RSA_BITS:
        raise ValueError(f"an RSA key of {material.key_size} bits; expected at least {MIN_RSA_BITS}")


async def fetch_jwks(url: str) -> bytes:
    """Return the body at a URL. Raises ``OSError`` for an error, a timeout or a large body."""
    timeout = ClientTimeout(total=FETCH_TIMEOUT_S)
    headers = {"Accept": "application/jwk-set+json, application/json"}
    try:
        async with (
            ClientSession(timeout=timeout, headers=headers) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise OSError(f"the response has status {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MAX_JWKS_BYTES:
                    raise OSError(f"the response has more than {MAX_JWKS_BYTES} bytes")
            return bytes(body)
    except (ClientError, TimeoutError) as error:
        raise OSError(str(error) or type(error).__name__) from error


def jwks_url_problem(url: str) -> str | None:
    """Return why keys cannot be fetched from a URL. Plain HTTP is for this machine only."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "not a URL"
    if parts.scheme not in ("http", "https") or not host or parts.fragment:
        return "expected a URL such as https://login.example.org/jwks.json"
    if parts.username is not None or parts.password is not None:
        return "a URL with a user name or password is not accepted"
    if parts.scheme == "http" and not _is_loopback(host):
        return "expected https; http is for loopback addresses only"
    return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
