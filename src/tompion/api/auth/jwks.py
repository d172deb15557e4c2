"""The keys of an issuer: which there are, and the algorithms that each of them may be used with.

The algorithms are those that the operator has named and that fit the kind of key; what a token says about itself
chooses among them and never adds one.  A key's name (``kid``) is looked up in what is known, and nowhere else.
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

SECRET = "oct"  # noqa: S105 - what RFC 7518 calls this kind of key


FITS: Mapping[str, tuple[str, str]] = {
    **{f"HS{bits}": (SECRET, "") for bits in (256, 384, 512)},
    **{f"{family}{bits}": ("RSA", "") for family in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The kind of key, and its curve, that each algorithm needs."""


CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


MIN_RSA_BITS = 2048


MAX_KEYS = 100


RETRY_S = 30.0
"""How long after a fetch the next one may follow, whatever tokens ask for."""


@dataclass(frozen=True, slots=True)
class JsonWebKey:
    """A key that verifies, and with which algorithms."""

    material: Any
    algorithms: frozenset[str]


class KeySet(Protocol):
    """Where the keys of an issuer come from."""

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return the key of a name; without a name, the only key that there is."""


class StaticKeySet:
    """Keys that a file or the environment holds."""

    def __init__(self, known: Mapping[str | None, JsonWebKey]) -> None:
        """Take the keys by name."""
        self._known = known

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return a key."""
        return named(self._known, kid)


Fetch = Callable[[], Awaitable[bytes]]


class RemoteKeySet:
    """Keys that are fetched, and fetched again: when they are no longer fresh, and when a token names an unknown one.

    Between two fetches there is always a pause, so that tokens with made-up names cause no traffic.  When nobody
    answers, the last known keys go on being used for a bounded time.
    """

    def __init__(
        self, fetch: Fetch, algorithms: Iterable[str], *, refresh_s: float, keep_s: float, elapsed: Callable[[], float]
    ) -> None:
        """Take how to fetch them, and what tells how much time has passed."""
        self._fetch = fetch
        self._algorithms = tuple(algorithms)
        self._refresh_s = refresh_s
        self._keep_s = keep_s
        self._elapsed = elapsed
        self._known: Mapping[str | None, JsonWebKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> JsonWebKey | None:
        """Return a key; raises :class:`~tompion.errors.StoreUnavailable` if none can be had just now."""
        key = self._kept(kid)
        if self._is_due(key):
            self._tried_at = self._elapsed()
            self._fetching = asyncio.create_task(self._refresh())
        if key is None and self._fetching is not None:
            await asyncio.wait({self._fetching})
            key = self._kept(kid)
        if key is None and not self._is_within(self._keep_s):
            raise StoreUnavailable("the keys of this token's issuer cannot be fetched just now")
        return key

    def _kept(self, kid: str | None) -> JsonWebKey | None:
        return named(self._known, kid) if self._is_within(self._keep_s) else None

    def _is_within(self, seconds: float) -> bool:
        return self._fetched_at is not None and self._elapsed() < self._fetched_at + seconds

    def _is_due(self, key: JsonWebKey | None) -> bool:
        if self._fetching is not None and not self._fetching.done():
            return False
        if self._tried_at is not None and self._elapsed() < self._tried_at + RETRY_S:
            return False
        return key is None or not self._is_within(self._refresh_s)

    async def _refresh(self) -> None:
        try:
            self._known = read_jwks(await self._fetch(), self._algorithms)
        except (OSError, ValueError):
            return
        self._fetched_at = self._elapsed()


def named(known: Mapping[str | None, JsonWebKey], kid: str | None) -> JsonWebKey | None:
    """Return the key of a name; without a name, the only key that there is."""
    if kid is None:
        return next(iter(known.values())) if len(known) == 1 else None
    return known.get(kid)


def secret_key(secret: bytes, algorithms: Iterable[str]) -> JsonWebKey:
    """Return a shared secret as a key; raises ``ValueError`` unless it is as long as the algorithm's hash."""
    wanted = frozenset(algorithms)
    least = max((int(name[2:]) // 8 for name in wanted if FITS[name][0] == SECRET), default=0)
    if any(FITS[name][0] != SECRET for name in wanted):
        raise ValueError("a secret is for HS256, HS384 and HS512 only")
    if len(secret) < least:
        raise ValueError(f"the secret has {len(secret)} bytes; {least} are the least for {', '.join(sorted(wanted))}")
    return JsonWebKey(secret, wanted)


def public_key(pem: bytes, algorithms: Iterable[str]) -> JsonWebKey:
    """Return the public key of a PEM file; raises ``ValueError`` if it is none, or fits no algorithm."""
    try:
        material = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("there is no public key in PEM form in it") from None
    kind = _kind_of(material)
    wanted = frozenset(algorithms)
    if wrong := sorted(name for name in wanted if FITS[name] != kind):
        raise ValueError(f"{', '.join(wrong)} cannot be used with a key of the kind {' '.join(kind).strip()}")
    _refuse_short(material)
    return JsonWebKey(material, wanted)


def read_jwks(text: bytes, algorithms: Iterable[str]) -> dict[str | None, JsonWebKey]:
    """Return the keys of a JWK set that fit the algorithms, by name; raises ``ValueError`` if there is none.

    A key is used with those algorithms only that fit its kind, and with one only if it says so itself.  Secrets have
    no business in such a set, nor have private keys.
    """
    members = _members(text)
    wanted = [name for name in algorithms if FITS[name][0] != SECRET]
    found: dict[str | None, JsonWebKey] = {}
    for member in members:
        key = _jwk(member, wanted)
        if key is None:
            continue
        kid = member.get("kid")
        if kid in found or not (kid is None or isinstance(kid, str)):
            raise ValueError("two of its keys have the same name (kid), or one has a name that is no text")
        found[kid] = key
    if not found:
        raise ValueError(f"none of its keys fits {', '.join(algorithms)}")
    if None in found and len(found) > 1:
        raise ValueError("there are several keys in it, and not all have a name (kid)")
    return found


def _members(text: bytes) -> list[dict[str, Any]]:
    try:
        document = json.loads(text.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    members = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list) or not all(isinstance(each, dict) for each in members):
        raise ValueError('it is no JWK set: {"keys": [...]}')
    if len(members) > MAX_KEYS:
        raise ValueError(f"there are more than {MAX_KEYS} keys in it")
    return members


def _jwk(member: Mapping[str, Any], wanted: Iterable[str]) -> JsonWebKey | None:
    if "d" in member:
        raise ValueError("there is a private key in it")
    kind = (member.get("kty"), member.get("crv", ""))
    fitting = frozenset(name for name in wanted if FITS[name] == kind and member.get("alg", name) == name)
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
        raise ValueError(f"an RSA key of {material.key_size} bits; {MIN_RSA_BITS} are the least")


TIMEOUT_S = 5.0


MAX_JWKS_BYTES = 256 * 1024


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
                if len(found) > MAX_JWKS_BYTES:
                    raise OSError(f"it answers with more than {MAX_JWKS_BYTES} bytes")
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
