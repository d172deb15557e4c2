"""Issuers of tokens: their keys, the files that a service reads, and tokens of any shape, right or wrong."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.operations import BEGIN
from tests.support.service import Http, Response, Served, runner_of
from tompion.config.loader import load
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

NOW = int(BEGIN)
SECRET = "a secret that is long enough for HS256, and then some"  # noqa: S105 - of a service that runs for one test
VARIABLE = "SECRET_OF_AN_ISSUER"


@cache
def private(name: str) -> Any:
    """Return the private key of a name."""
    kind = name.partition("-")[0]
    if kind == "rsa":
        return rsa.generate_private_key(65537, 2048)
    if kind == "ed":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key({"ec": ec.SECP256R1, "ec384": ec.SECP384R1}[kind]())


def public_pem(name: str) -> bytes:
    pem: bytes = private(name).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


def private_pem(name: str) -> bytes:
    pem: bytes = private(name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


def jwk(name: str, **more: Any) -> dict[str, Any]:
    """Return the public key of a name as a member of a JWK set, with the same name."""
    kind: Any = {"rsa": RSAAlgorithm, "ed": OKPAlgorithm}.get(name.partition("-")[0], ECAlgorithm)
    return {**kind.to_jwk(private(name).public_key(), as_dict=True), "kid": name, "use": "sig", **more}


def jwks(*members: dict[str, Any]) -> bytes:
    return json.dumps({"keys": members}).encode()


def part(content: Any) -> str:
    """Return a part of a token. Values that are not bytes are encoded as JSON."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


Sign = Callable[[bytes], bytes]


def signer(algorithm: str, key: Any) -> Sign:
    return lambda text: jwt.PyJWS().get_algorithm_by_name(algorithm).sign(text, key)


def put_together(header: Any, claims: Any, sign: Sign) -> str:
    text = f"{part(header)}.{part(claims)}"
    return f"{text}.{part(sign(text.encode()))}"


@dataclass(frozen=True)
class TokenIssuer:
    """A token issuer: its name, algorithm and key."""

    iss: str
    algorithm: str
    key: str
    kid: str | None = None

    @property
    def material(self) -> Any:
        return SECRET.encode() if self.key == "secret" else private(self.key)

    def sign(self, text: bytes) -> bytes:
        return signer(self.algorithm, self.material)(text)

    def header(self, **more: Any) -> dict[str, Any]:
        return without_none({"alg": self.algorithm, "typ": "JWT", "kid": self.kid, **more})

    def claims(self, **more: Any) -> dict[str, Any]:
        usual = {"iss": self.iss, "aud": "tompion", "sub": "ann", "iat": NOW, "exp": NOW + 600}
        return without_none({**usual, "tompion": {"default": "editor"}, **more})

    def token(self, header: dict[str, Any] | None = None, **claims: Any) -> str:
        return put_together(self.header(**(header or {})), self.claims(**claims), self.sign)


HMAC = TokenIssuer("https://hmac.example", "HS256", "secret")
RSA = TokenIssuer("https://rsa.example", "RS256", "rsa-1")
PSS = TokenIssuer("https://pss.example", "PS256", "rsa-1")
EC = TokenIssuer("https://ec.example", "ES256", "ec-1")
ED = TokenIssuer("https://ed.example", "EdDSA", "ed-1", kid="ed-1")
IN_SET = TokenIssuer("https://set.example", "RS256", "rsa-2", kid="rsa-2")
EC_IN_SET = TokenIssuer("https://set.example", "ES256", "ec-2", kid="ec-2")
ALL_ISSUERS = (HMAC, RSA, PSS, EC, ED, IN_SET, EC_IN_SET)

FILE = f"""
auth = "required"

[[issuer]]
iss = "{HMAC.iss}"
audience = "tompion"
algorithms = ["HS256"]
secret_env = "{VARIABLE}"

[[issuer]]
iss = "{RSA.iss}"
audience = ["tompion", "tompion-staging"]
algorithms = ["RS256"]
public_key = "DIRECTORY/rsa-1.pem"

[[issuer]]
iss = "{PSS.iss}"
audience = "tompion"
algorithms = ["PS256"]
public_key = "DIRECTORY/rsa-1.pem"

[[issuer]]
iss = "{EC.iss}"
audience = "tompion"
algorithms = "ES256"
public_key = "DIRECTORY/ec-1.pem"

[[issuer]]
iss = "{ED.iss}"
audience = "tompion"
algorithms = ["EdDSA"]
public_key = "DIRECTORY/ed-1.pem"
kid = "ed-1"
namespaces = ["default", "reports"]

[[issuer]]
iss = "{IN_SET.iss}"
audience = "tompion"
algorithms = ["RS256", "ES256"]
jwks = "DIRECTORY/keys.json"
leeway_s = 0
max_lifetime_s = 3600
"""


class TokenService:
    """A service with trusted issuers and a manual clock."""

    def __init__(self, directory: Path, text: str) -> None:
        (directory / "tompion.toml").write_text(text.replace("DIRECTORY", str(directory)))
        self.clock = ManualClock(BEGIN)
        self.store = SqliteStore(clock=self.clock)
        self.runner = runner_of(self.store)
        self.served = Served(self.runner, load({}, {}, str(directory / "tompion.toml")), self.clock)
        self.http = Http(self.served.url)

    def request(
        self, token: str | None, method: str = "GET", path: str = "/api/v1/schedules", body: Any = None
    ) -> Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http(method, path, body, **headers)

    def close(self) -> None:
        self.http.close()
        self.served.close()
        self.store.close()


@contextmanager
def token_service(directory: Path, text: str = FILE) -> Iterator[TokenService]:
    """Start a service with a configuration file and its keys."""
    for name in ("rsa-1", "ec-1", "ed-1"):
        (directory / f"{name}.pem").write_bytes(public_pem(name))
    (directory / "keys.json").write_bytes(jwks(jwk("rsa-2"), jwk("ec-2", alg="ES256"), jwk("ed-2")))
    service = TokenService(directory, text)
    try:
        yield service
    finally:
        service.close()
