"""Signed tokens (JWT): read strictly, believed only if a known issuer's key has signed them for this service.

The order matters.  Until the signature is right nothing of a token is used but its issuer, which says among whose keys
to look, the name of the key, and the algorithm, which must be one that the operator has named for that very key.  What
is refused is never repeated.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from jwt import PyJWS, PyJWTError

from tompion.api.auth.issuers import Issuer
from tompion.api.auth.jwks import JsonWebKey
from tompion.api.auth.principal import Principal
from tompion.errors import Unauthenticated

MAX_TOKEN_CHARS = 8192
MAX_KID_CHARS = 200
MAX_ACTOR_CHARS = 300
END_OF_TIME = 253_402_300_799
"""The last second of the year 9999."""
FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
TYPES = ("jwt", "at+jwt", "application/jwt", "application/at+jwt")
UNWANTED = frozenset({"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc"})
"""What a header could say to bring a key along, or to be read in another way."""


class JwtVerifier:
    """Says who shows a token."""

    def __init__(self, issuers: Mapping[str, Issuer], now: Callable[[], float]) -> None:
        """Take whose tokens are believed, and what tells the time."""
        self._issuers = issuers
        self._now = now
        self._signatures = PyJWS()

    async def caller(self, text: str) -> Principal:
        """Return whose token it is; raises :class:`~tompion.errors.Unauthenticated`."""
        form = FORM.fullmatch(text) if len(text) <= MAX_TOKEN_CHARS else None
        if form is None:
            raise Unauthenticated("this is neither an API key nor a token")
        header, claims = _object(form[1]), _object(form[2])
        issuer = self._issuers.get(claims["iss"]) if isinstance(claims.get("iss"), str) else None
        if issuer is None:
            raise Unauthenticated("the issuer of this token is not known here")
        algorithm, kid = _chosen(header, issuer)
        key = await issuer.keys.find(kid)
        if key is None or algorithm not in key.algorithms:
            raise Unauthenticated("this token names no key of its issuer that is known and fits its algorithm")
        self._refuse_forged(text, key, algorithm)
        _refuse_untimely(claims, issuer, self._now())
        if not issuer.audiences.intersection(_audiences(claims.get("aud"))):
            raise Unauthenticated("this token is for somebody else: its audience (aud) is not this service")
        return _caller(claims, issuer)

    def _refuse_forged(self, text: str, key: JsonWebKey, algorithm: str) -> None:
        try:
            self._signatures.decode(text, key.material, algorithms=[algorithm])
        except (PyJWTError, ValueError, TypeError):
            raise Unauthenticated("this token was not signed with the key of its issuer") from None


def _object(part: str) -> dict[str, Any]:
    """Return the JSON object that a part of a token is; one that says something twice is none."""
    try:
        text = urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()
        found = json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unauthenticated("this token cannot be read")
    return found


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("something is there twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _chosen(header: Mapping[str, Any], issuer: Issuer) -> tuple[str, str | None]:
    """Return the algorithm and the name of the key that a header asks for."""
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in issuer.algorithms:
        raise Unauthenticated("the algorithm of this token is not one that its issuer uses here")
    if not isinstance(kind, str) or kind.lower() not in TYPES or UNWANTED.intersection(header):
        raise Unauthenticated("the header of this token says what is not accepted here")
    if kid is not None and not (isinstance(kid, str) and 0 < len(kid) <= MAX_KID_CHARS):
        raise Unauthenticated("this token names its key (kid) in a way that cannot be right")
    return algorithm, kid


def _refuse_untimely(claims: Mapping[str, Any], issuer: Issuer, now: float) -> None:
    ends = _instant(claims, "exp")
    if ends is None:
        raise Unauthenticated("this token never ends: it has no exp")
    if now >= ends + issuer.leeway_s:
        raise Unauthenticated("this token has expired")
    issued, begins = _instant(claims, "iat"), _instant(claims, "nbf")
    if max(issued or 0, begins or 0) > now + issuer.leeway_s:
        raise Unauthenticated("this token is not valid yet")
    if ends - (now if issued is None else issued) > issuer.max_lifetime_s:
        raise Unauthenticated(f"this token lasts longer than {issuer.max_lifetime_s} seconds (max_lifetime_s)")


def _instant(claims: Mapping[str, Any], name: str) -> float | None:
    """Return an instant, in seconds since 1970."""
    if name not in claims:
        return None
    value = claims[name]
    if type(value) not in (int, float) or not 0 <= value <= END_OF_TIME:  # neither nan nor infinity is there
        raise Unauthenticated(f"the {name} of this token is no instant")
    return float(value)


def _audiences(value: Any) -> frozenset[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return frozenset()
    return frozenset(values)


def _caller(claims: Mapping[str, Any], issuer: Issuer) -> Principal:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject or not subject.isprintable():
        raise Unauthenticated("this token does not say whose it is (sub), or not in a printable way")
    roles = issuer.roles(claims)
    if not roles:
        raise Unauthenticated(f"this token gives no role that can be read here (claim {'.'.join(issuer.claim)})")
    actor = f"jwt {issuer.iss} {subject}"
    return Principal(actor if len(actor) <= MAX_ACTOR_CHARS else actor[: MAX_ACTOR_CHARS - 1] + "…", roles)
