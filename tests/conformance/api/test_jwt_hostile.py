"""Tokens that must open nothing.  Each differs from one that is believed in a single point, and is refused for it."""

from __future__ import annotations

import hmac
import json
import socket
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.support.service import Http
from tests.support.token_issuers import (
    ALL_ISSUERS,
    EC,
    EC_IN_SET,
    ED,
    HMAC,
    IN_SET,
    NOW,
    RSA,
    SECRET,
    VARIABLE,
    TokenIssuer,
    TokenService,
    jwk,
    part,
    private,
    public_pem,
    put_together,
    signer,
    token_service,
)

FORGED = "signature is not valid"
NO_ALGORITHM = "the token's algorithm (alg)"
NO_KEY = "no key with this kid"
HEADER = "the token's header"
UNREADABLE = "malformed token"
NEITHER = "neither an API key nor a JWT"
NO_ROLE = "grants no role"
NO_AUDIENCE = "audience (aud) is not this service"
NO_ISSUER = "unknown token issuer (iss)"
NO_INSTANT = "is not a valid time"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenService]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SECRET)
        with token_service(tmp_path_factory.mktemp("hostile")) as service:
            yield service


def signed(claims: bytes, header: bytes | None = None) -> str:
    """A token of an issuer that is believed, whose parts are exactly these bytes."""
    return put_together(RSA.header() if header is None else header, claims, RSA.sign)


def claims_text(**more: Any) -> str:
    return json.dumps(RSA.claims(**more))


def with_end(text: str) -> str:
    """A token whose end is written in this way."""
    return signed(claims_text(exp=4711).replace("4711", text).encode())


def with_signature(issuer: TokenIssuer, change: Callable[[bytes], bytes]) -> str:
    text, _, signature = issuer.token().rpartition(".")
    return f"{text}.{part(change(urlsafe_b64decode(signature + '==')))}"


def unsigned(algorithm: str, issuer: TokenIssuer = RSA) -> str:
    return put_together(issuer.header(alg=algorithm), issuer.claims(), lambda _: b"x")


def stripped(algorithm: str) -> str:
    return unsigned(algorithm).rpartition(".")[0] + "."


def confused(issuer: TokenIssuer, algorithm: str, secret: bytes, **header: Any) -> str:
    """Return a token signed with the public key as a shared secret."""
    return put_together(issuer.header(alg=algorithm, **header), issuer.claims(), hmac_of(algorithm, secret))


def hmac_of(algorithm: str, secret: bytes) -> Callable[[bytes], bytes]:
    return lambda text: hmac.new(secret, text, f"sha{algorithm[2:]}").digest()


def der(signature: bytes) -> bytes:
    half = len(signature) // 2
    return encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))


def secret_of(kid: str, secret: bytes) -> str:
    """Return a token whose kid points to another place, signed with the content of that place."""
    return put_together(HMAC.header(kid=kid), HMAC.claims(), hmac_of("HS256", secret))


STRANGER = TokenIssuer(RSA.iss, "RS256", "rsa-stranger")
BROUGHT = {"kty": "RSA", **{name: jwk("rsa-stranger")[name] for name in ("n", "e")}}

HOSTILE: dict[str, tuple[Callable[[], str], str]] = {
    # --- the algorithm
    "alg none": (lambda: unsigned("none"), NO_ALGORITHM),
    "alg None": (lambda: unsigned("None"), NO_ALGORITHM),
    "alg nOnE": (lambda: unsigned("nOnE"), NO_ALGORITHM),
    "alg none, empty signature": (lambda: stripped("none"), NEITHER),
    "alg none of an issuer with a secret": (lambda: unsigned("none", HMAC), NO_ALGORITHM),
    "no alg": (lambda: RSA.token({"alg": None}), NO_ALGORITHM),
    "alg empty": (lambda: RSA.token({"alg": ""}), NO_ALGORITHM),
    "alg a list": (lambda: RSA.token({"alg": ["RS256"]}), NO_ALGORITHM),
    "alg an object": (lambda: RSA.token({"alg": {"RS256": 1}}), NO_ALGORITHM),
    "alg in small letters": (lambda: RSA.token({"alg": "rs256"}), NO_ALGORITHM),
    "RSA public key as secret": (lambda: confused(RSA, "HS256", public_pem("rsa-1")), NO_ALGORITHM),
    "RSA public key as secret, HS512": (lambda: confused(RSA, "HS512", public_pem("rsa-1")), NO_ALGORITHM),
    "EC public key as secret": (lambda: confused(EC, "HS256", public_pem("ec-1")), NO_ALGORITHM),
    "key of a set as secret": (
        lambda: confused(IN_SET, "HS256", json.dumps(jwk("rsa-2")).encode(), kid="rsa-2"),
        NO_ALGORITHM,
    ),
    "public key as the secret of an issuer that has one": (
        lambda: confused(HMAC, "HS256", public_pem("rsa-1")),
        FORGED,
    ),
    "empty secret": (lambda: confused(HMAC, "HS256", b""), FORGED),
    "HS512 where HS256 is named": (lambda: confused(HMAC, "HS512", SECRET.encode()), NO_ALGORITHM),
    "PS256 where RS256 is named": (
        lambda: put_together(RSA.header(alg="PS256"), RSA.claims(), signer("PS256", private("rsa-1"))),
        NO_ALGORITHM,
    ),
    "another key's algorithm": (lambda: IN_SET.token({"kid": "ec-2"}), NO_KEY),
    "another key's algorithm, the other way": (lambda: EC_IN_SET.token({"kid": "rsa-2"}), NO_KEY),
    "a key of the set that fits no algorithm": (
        lambda: put_together({"alg": "EdDSA", "kid": "ed-2"}, IN_SET.claims(), signer("EdDSA", private("ed-2"))),
        NO_ALGORITHM,
    ),
    # --- the key
    "a stranger's key": (STRANGER.token, FORGED),
    "another issuer's key": (
        lambda: put_together(RSA.header(), RSA.claims(), signer("RS256", private("rsa-2"))),
        FORGED,
    ),
    "another issuer's key, by its name": (
        lambda: put_together(RSA.header(kid="rsa-2"), RSA.claims(), signer("RS256", private("rsa-2"))),
        NO_KEY,
    ),
    "kid unknown": (lambda: IN_SET.token({"kid": "rsa-3"}), NO_KEY),
    "kid of another issuer": (lambda: ED.token({"kid": "rsa-2"}), NO_KEY),
    "kid a path": (lambda: secret_of("../../../../dev/null", b""), NO_KEY),
    "kid a path to a key": (lambda: IN_SET.token({"kid": "../keys.json"}), NO_KEY),
    "kid SQL": (lambda: secret_of("x' UNION SELECT 'known' --", b"known"), NO_KEY),
    "kid a URL": (lambda: secret_of("http://127.0.0.1:1/key", b"known"), NO_KEY),
    "kid a command": (lambda: secret_of("key|id", b"known"), NO_KEY),
    "kid with NUL": (lambda: IN_SET.token({"kid": "rsa-2\x00"}), NO_KEY),
    "kid empty": (lambda: IN_SET.token({"kid": ""}), "is malformed"),
    "kid very long": (lambda: IN_SET.token({"kid": "k" * 1_000}), "is malformed"),
    "kid a number": (lambda: IN_SET.token({"kid": 1}), "is malformed"),
    "kid a list": (lambda: IN_SET.token({"kid": ["rsa-2"]}), "is malformed"),
    "kid null": (lambda: signed(claims_text().encode(), b'{"alg": "RS256", "kid": null}'), FORGED),
    "jku": (lambda: STRANGER.token({"jku": "http://127.0.0.1:1/keys"}), HEADER),
    "x5u": (lambda: STRANGER.token({"x5u": "http://127.0.0.1:1/chain"}), HEADER),
    "jwk": (lambda: STRANGER.token({"jwk": BROUGHT}), HEADER),
    "x5c": (lambda: STRANGER.token({"x5c": ["MIIB"]}), HEADER),
    "jwk beside the right signature": (lambda: RSA.token({"jwk": BROUGHT}), HEADER),
    "crit": (lambda: RSA.token({"crit": ["exp"]}), HEADER),
    "crit that we would understand": (lambda: RSA.token({"crit": ["b64"], "b64": True}), HEADER),
    "payload that is not encoded": (lambda: RSA.token({"b64": False}), HEADER),
    "compressed": (lambda: RSA.token({"zip": "DEF"}), HEADER),
    "typ of something else": (lambda: RSA.token({"typ": "dpop+jwt"}), HEADER),
    "typ a number": (lambda: RSA.token({"typ": 1}), HEADER),
    # --- the signature
    "signature of other claims": (
        lambda: ".".join([*RSA.token(sub="eve").split(".")[:2], RSA.token().split(".")[2]]),
        FORGED,
    ),
    "signature empty": (lambda: RSA.token().rpartition(".")[0] + ".", NEITHER),
    "signature cut": (lambda: with_signature(RSA, lambda signature: signature[:-1]), FORGED),
    "signature of zeros": (lambda: with_signature(RSA, lambda signature: bytes(len(signature))), FORGED),
    "HMAC cut": (lambda: with_signature(HMAC, lambda signature: signature[:16]), FORGED),
    "ES signature too short": (lambda: with_signature(EC, lambda signature: signature[:-1]), FORGED),
    "ES signature too long": (lambda: with_signature(EC, lambda signature: signature + b"\0"), FORGED),
    "ES signature of zeros": (lambda: with_signature(EC, lambda signature: bytes(len(signature))), FORGED),
    "ES signature as DER": (lambda: with_signature(EC, der), FORGED),
    "EdDSA signature cut": (lambda: with_signature(ED, lambda signature: signature[:32]), FORGED),
    # --- the form
    "two parts": (lambda: RSA.token().rpartition(".")[0], NEITHER),
    "four parts": (lambda: RSA.token() + ".x", NEITHER),
    "five parts, as JWE": (lambda: f"{part({'alg': 'dir', 'enc': 'A256GCM'})}..aaaa.bbbb.cccc", NEITHER),
    "empty parts": (lambda: "..", NEITHER),
    "dots": (lambda: "." * 100, NEITHER),
    "cut in the middle": (lambda: RSA.token()[:100], NEITHER),
    "white space inside": (lambda: RSA.token().replace(".", ". "), NEITHER),
    "white space before": (lambda: " " + RSA.token(), NEITHER),
    "a tab": (lambda: "\t" + RSA.token(), NEITHER),
    "padding": (lambda: RSA.token().replace(".", "=."), NEITHER),
    "not ASCII": (lambda: "é" + RSA.token(), NEITHER),
    "full-width letters": (lambda: RSA.token().replace("e", "\xaa"), NEITHER),
    "not base64": (lambda: "!" + RSA.token(), NEITHER),
    "too large": (lambda: RSA.token(more="x" * 8_000), NEITHER),
    "header no JSON": (lambda: signed(claims_text().encode(), b"{"), UNREADABLE),
    "header a list": (lambda: signed(claims_text().encode(), b"[]"), UNREADABLE),
    "header UTF-16": (lambda: signed(claims_text().encode(), json.dumps(RSA.header()).encode("utf-16")), UNREADABLE),
    "claims a text": (lambda: signed(b'"text"'), UNREADABLE),
    "claims no UTF-8": (lambda: signed(b'{"iss": "\xff"}'), UNREADABLE),
    "claims nested": (lambda: signed(b'{"a":' + b"[" * 2_500 + b"]" * 2_500 + b"}"), "token"),
    "alg twice": (lambda: signed(claims_text().encode(), b'{"alg": "none", "alg": "RS256"}'), UNREADABLE),
    "exp twice": (lambda: signed(claims_text().replace("{", '{"exp": 1, ', 1).encode()), UNREADABLE),
    "a role twice": (
        lambda: signed(claims_text().replace('{"default"', '{"default": "admin", "default"').encode()),
        UNREADABLE,
    ),
    # --- when
    "expired": (lambda: RSA.token(iat=NOW - 600, exp=NOW - 30), "has expired"),
    "long expired": (lambda: RSA.token(iat=0, exp=1), "has expired"),
    "nbf to come": (lambda: RSA.token(nbf=NOW + 31), "is not valid yet"),
    "iat to come": (lambda: RSA.token(iat=NOW + 31), "is not valid yet"),
    "nbf to come, no leeway": (lambda: IN_SET.token(nbf=NOW + 1), "is not valid yet"),
    "no exp": (lambda: RSA.token(exp=None), "no expiry (exp)"),
    "exp null": (lambda: with_end("null"), NO_INSTANT),
    "exp text": (lambda: with_end(f'"{NOW + 600}"'), NO_INSTANT),
    "exp true": (lambda: with_end("true"), NO_INSTANT),
    "exp a list": (lambda: with_end(f"[{NOW + 600}]"), NO_INSTANT),
    "exp NaN": (lambda: with_end("NaN"), UNREADABLE),
    "exp Infinity": (lambda: with_end("Infinity"), UNREADABLE),
    "exp infinite": (lambda: with_end("1e999"), NO_INSTANT),
    "exp huge": (lambda: with_end("9" * 30), NO_INSTANT),
    "exp of 5000 digits": (lambda: with_end("9" * 5_000), UNREADABLE),
    "exp negative": (lambda: with_end("-1"), NO_INSTANT),
    "nbf text": (lambda: RSA.token(nbf="soon"), NO_INSTANT),
    "iat false": (lambda: RSA.token(iat=False), NO_INSTANT),
    "lasts too long": (lambda: IN_SET.token(exp=NOW + 3_601), "lifetime exceeds 3600 seconds"),
    "lasts too long, without iat": (lambda: IN_SET.token(iat=None, exp=NOW + 3_601), "lifetime exceeds"),
    "lasts too long, nearly over": (lambda: IN_SET.token(iat=NOW - 3_600, exp=NOW + 1), "lifetime exceeds"),
    # --- issuer and audience
    "no iss": (lambda: RSA.token(iss=None), NO_ISSUER),
    "iss unknown": (lambda: RSA.token(iss="https://eve.example"), NO_ISSUER),
    "iss of another": (lambda: RSA.token(iss=HMAC.iss), NO_ALGORITHM),
    "iss of another with the same algorithm": (lambda: RSA.token(iss=IN_SET.iss), NO_KEY),
    "iss with a slash more": (lambda: RSA.token(iss=RSA.iss + "/"), NO_ISSUER),
    "iss a list": (lambda: RSA.token(iss=[RSA.iss]), NO_ISSUER),
    "iss an object": (lambda: RSA.token(iss={RSA.iss: 1}), NO_ISSUER),
    "no aud": (lambda: RSA.token(aud=None), NO_AUDIENCE),
    "aud of another": (lambda: RSA.token(aud="another-service"), NO_AUDIENCE),
    "aud that begins alike": (lambda: RSA.token(aud="tompion-production"), NO_AUDIENCE),
    "aud in capitals": (lambda: RSA.token(aud="TOMPION"), NO_AUDIENCE),
    "aud a list of others": (lambda: RSA.token(aud=["one", "two"]), NO_AUDIENCE),
    "aud an empty list": (lambda: RSA.token(aud=[]), NO_AUDIENCE),
    "aud a list with more than texts": (lambda: RSA.token(aud=["tompion", 1]), NO_AUDIENCE),
    "aud an object": (lambda: RSA.token(aud={"tompion": True}), NO_AUDIENCE),
    "aud a nested list": (lambda: RSA.token(aud=[["tompion"]]), NO_AUDIENCE),
    "no sub": (lambda: RSA.token(sub=None), "subject (sub) is missing"),
    "sub empty": (lambda: RSA.token(sub=""), "subject (sub) is missing"),
    "sub a number": (lambda: RSA.token(sub=1), "subject (sub) is missing"),
    "sub with a newline": (lambda: RSA.token(sub="ann\nroot logged in"), "not printable"),
    "sub with an escape": (lambda: RSA.token(sub="ann\x1b[2J"), "not printable"),
    "sub written backwards": (lambda: RSA.token(sub="ann\u202eeve"), "not printable"),
    "sub half a character": (
        lambda: signed(claims_text(sub="X").replace('"X"', '"\\ud800"').encode()),
        "not printable",
    ),
    # --- what it may do
    "no roles": (lambda: RSA.token(tompion=None), NO_ROLE),
    "roles empty": (lambda: RSA.token(tompion={}), NO_ROLE),
    "roles a text": (lambda: RSA.token(tompion="admin"), NO_ROLE),
    "roles a list": (lambda: RSA.token(tompion=["admin"]), NO_ROLE),
    "roles a list of pairs": (lambda: RSA.token(tompion=[["default", "admin"]]), NO_ROLE),
    "role unknown": (lambda: RSA.token(tompion={"default": "owner"}), NO_ROLE),
    "role public": (lambda: RSA.token(tompion={"default": "public"}), NO_ROLE),
    "role in capitals": (lambda: RSA.token(tompion={"default": "ADMIN"}), NO_ROLE),
    "role a number": (lambda: RSA.token(tompion={"default": 4}), NO_ROLE),
    "role nested": (lambda: RSA.token(tompion={"default": {"role": "admin"}}), NO_ROLE),
    "role a list": (lambda: RSA.token(tompion={"default": ["admin"]}), NO_ROLE),
    "one role right, one unknown": (lambda: RSA.token(tompion={"default": "reader", "a": "owner"}), NO_ROLE),
    "namespace empty": (lambda: RSA.token(tompion={"": "admin"}), NO_ROLE),
    "namespace with a newline": (lambda: RSA.token(tompion={"a\nb": "admin"}), NO_ROLE),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_token_is_unauthenticated(service: TokenService, name: str) -> None:
    make, words = HOSTILE[name]
    token = make()
    answer = service.request(token)
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert words in answer.json["detail"]
    assert answer.headers["www-authenticate"] == "Bearer"
    assert token.encode("latin-1") not in answer.body
    assert not any(piece in answer.body.decode() for piece in token.split(".") if len(piece) > 10)


def test_the_valid_token_that_they_differ_from_is_accepted(service: TokenService) -> None:
    assert [service.request(issuer.token()).status for issuer in ALL_ISSUERS] == [200] * len(ALL_ISSUERS)


@pytest.mark.parametrize("size", [8_193, 60_000, 100_000, 1_000_000])
def test_a_token_with_bytes_that_no_header_can_hold_is_refused(service: TokenService, size: int) -> None:
    """A server may refuse it before we do, even before it has read it: then the connection ends."""
    http = Http(service.served.url)
    token = RSA.token(more="x" * size)
    assert len(token) > size
    try:
        status = http("GET", "/api/v1/schedules", Authorization=f"Bearer {token}").status
    except ConnectionError:
        status = 400
    finally:
        http.close()
    assert status in (400, 401, 431)
    assert service.http("GET", "/healthz").status == 200


def test_two_authorization_headers_are_refused(service: TokenService) -> None:
    """A proxy may have checked either of the two."""
    host, port = service.served.url.removeprefix("http://").split(":")
    header = f"Authorization: Bearer {RSA.token()}\r\n"
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(f"GET /api/v1/schedules HTTP/1.1\r\nHost: localhost\r\n{header}{header}\r\n".encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("scheme", ["Basic", "JWT", "DPoP", "Token", "Bearer:"])
def test_other_authorization_schemes_are_unauthenticated(service: TokenService, scheme: str) -> None:
    answer = service.http("GET", "/api/v1/schedules", Authorization=f"{scheme} {RSA.token()}")
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")


def test_a_token_in_the_query_or_a_cookie_is_unauthenticated(service: TokenService) -> None:
    assert service.http("GET", f"/api/v1/schedules?access_token={RSA.token()}").status == 401
    assert service.http("GET", "/api/v1/schedules", Cookie=f"access_token={RSA.token()}").status == 401
