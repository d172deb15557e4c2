"""JWT: parsed strictly, and accepted only with the signature of a configured issuer for this service.

The order of the checks matters. Until the signature is verified, only three parts of a token are used: its issuer,
which selects the key set, the name of its key, and its algorithm, which the operator must have listed for that key.
Error messages never repeat a part of the token.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import Any

from jwt import PyJWS, PyJWTError

from tompion.api.auth.issuers import Issuer
from tompion.api.auth.jwks import JsonWebKey
from tompion.api.auth.principal import Principal
from tompion.encoding.strict_json import parse_strict_json
from tompion.errors import Unauthenticated

MAX_TOKEN_CHARS = 8192
MAX_KID_CHARS = 200
MAX_ACTOR_CHARS = 300
MAX_INSTANT_S = 253_402_300_799
"""The last second of the year 9999."""
COMPACT_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
TYPES = ("jwt", "at+jwt", "application/jwt", "application/at+jwt")
FORBIDDEN_HEADERS = frozenset({"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc"})
"""Header fields that would bring a key along, or change how the token is parsed."""


class JwtVerifier:
    """Finds the principal of a JWT."""

    def __init__(self, issuers: Mapping[str, Issuer], now: Callable[[], float]) -> None:
        self._issuers = issuers
        self._now = now
        self._signatures = PyJWS()

    async def authenticate(self, text: str) -> Principal:
        """Return the subject of a token. Raises :class:`~tompion.errors.Unauthenticated`."""
        form = COMPACT_FORM.fullmatch(text) if len(text) <= MAX_TOKEN_CHARS else None
        if form is None:
            raise Unauthenticated("neither an API key nor a JWT")
        header, claims = _json_object(form[1]), _json_object(form[2])
        issuer = self._issuers.get(claims["iss"]) if isinstance(claims.get("iss"), str) else None
        if issuer is None:
            raise Unauthenticated("unknown token issuer (iss)")
        algorithm, kid = _algorithm_and_kid(header, issuer)
        key = await issuer.keys.find(kid)
        if key is None or algorithm not in key.algorithms:
            raise Unauthenticated("the issuer has no key with this kid and algorithm")
        self._verify_signature(text, key, algorithm)
        _verify_times(claims, issuer, self._now())
        if not issuer.audiences.intersection(_audiences(claims.get("aud"))):
            raise Unauthenticated("the token's audience (aud) is not this service")
        return _principal(claims, issuer)

    def _verify_signature(self, text: str, key: JsonWebKey, algorithm: str) -> None:
        try:
            self._signatures.decode(text, key.material, algorithms=[algorithm])
        except (PyJWTError, ValueError, TypeError):
            raise Unauthenticated("the token's signature is not valid") from None


def _json_object(part: str) -> dict[str, Any]:
    """Return the JSON object in a part of a token. Duplicate names are refused."""
    try:
        text = urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()
        value = parse_strict_json(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Unauthenticated("malformed token")
    return value


def _algorithm_and_kid(header: Mapping[str, Any], issuer: Issuer) -> tuple[str, str | None]:
    """Return the algorithm and the key name that a header requests."""
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in issuer.algorithms:
        raise Unauthenticated("the token's algorithm (alg) is not enabled for its issuer")
    if not isinstance(kind, str) or kind.lower() not in TYPES or FORBIDDEN_HEADERS.intersection(header):
        raise Unauthenticated("the token's header has a type or a field that is not accepted")
    if kid is not None and not (isinstance(kid, str) and 0 < len(kid) <= MAX_KID_CHARS):
        raise Unauthenticated("the token's key name (kid) is malformed")
    return algorithm, kid


def _verify_times(claims: Mapping[str, Any], issuer: Issuer, now: float) -> None:
    expires = _instant(claims, "exp")
    if expires is None:
        raise Unauthenticated("the token has no expiry (exp)")
    if now >= expires + issuer.leeway_s:
        raise Unauthenticated("the token has expired")
    issued, not_before = _instant(claims, "iat"), _instant(claims, "nbf")
    if max(issued or 0, not_before or 0) > now + issuer.leeway_s:
        raise Unauthenticated("the token is not valid yet")
    if expires - (now if issued is None else issued) > issuer.max_lifetime_s:
        raise Unauthenticated(f"the token's lifetime exceeds {issuer.max_lifetime_s} seconds (max_lifetime_s)")


def _instant(claims: Mapping[str, Any], name: str) -> float | None:
    """Return a time claim in seconds since 1970."""
    if name not in claims:
        return None
    value = claims[name]
    if type(value) not in (int, float) or not 0 <= value <= MAX_INSTANT_S:  # excludes NaN and infinity
        raise Unauthenticated(f"the token's {name} is not a valid time")
    return float(value)


def _audiences(value: Any) -> frozenset[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(audience, str) for audience in values):
        return frozenset()
    return frozenset(values)


def _principal(claims: Mapping[str, Any], issuer: Issuer) -> Principal:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject or not subject.isprintable():
        raise Unauthenticated("the token's subject (sub) is missing or not printable")
    roles = issuer.roles(claims)
    if not roles:
        raise Unauthenticated(f"the token grants no role (claim {'.'.join(issuer.claim)})")
    actor = f"jwt {issuer.iss} {subject}"
    return Principal(actor if len(actor) <= MAX_ACTOR_CHARS else actor[: MAX_ACTOR_CHARS - 1] + "…", roles)
