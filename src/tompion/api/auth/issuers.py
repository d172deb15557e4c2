"""Token issuers: the ``[[issuer]]`` blocks with their keys, and the roles that a token's claims grant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tompion.api.auth.config_blocks import Block, roles_of
from tompion.api.auth.jwks import (
    FITS,
    SECRET,
    JsonWebKey,
    KeySet,
    RemoteKeySet,
    StaticKeySet,
    fetch_jwks,
    jwks_url_problem,
    public_key,
    read_jwks,
    secret_key,
)
from tompion.contract.roles import Role
from tompion.errors import InvalidField

SOURCES = ("secret_env", "public_key", "jwks", "jwks_url")
FIELDS = (
    "iss", "audience", "algorithms", *SOURCES, "kid", "claim", "roles", "namespaces", "leeway_s", "max_lifetime_s",
    "refresh_s", "keep_s",
)  # fmt: skip
DEFAULT_CLAIM = "tompion"
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Issuer:
    """A trusted issuer of JWT.

    ``claim`` is the path of the claim that grants roles. ``mapping`` has the roles for each of its values. Without a
    mapping, the claim itself is a table of namespaces and roles. ``namespaces`` limits the namespaces in which the
    issuer can grant roles.
    """

    iss: str
    audiences: frozenset[str]
    algorithms: frozenset[str]
    keys: KeySet
    claim: tuple[str, ...]
    mapping: Mapping[str, Mapping[str, Role]] | None
    namespaces: frozenset[str] | None
    leeway_s: int
    max_lifetime_s: int

    def roles(self, claims: Mapping[str, Any]) -> dict[str, Role]:
        """Return the roles that a token's claims grant. A claim that is not valid as a whole grants none."""
        value: Any = claims
        for name in self.claim:
            value = value.get(name) if isinstance(value, Mapping) else None
        roles = roles_of(value) if self.mapping is None else _mapped_roles(value, self.mapping)
        if not roles or (self.namespaces is not None and not self.namespaces.issuperset(roles)):
            return {}
        return roles


def read_issuers(
    blocks: Sequence[Mapping[str, Any]], path: str, environment: Mapping[str, str], elapsed: Callable[[], float]
) -> dict[str, Issuer]:
    """Return the issuers in a file by ``iss``. Raises :class:`~tompion.errors.InvalidField`."""
    issuers: dict[str, Issuer] = {}
    for number, fields in enumerate(blocks, 1):
        block = Block(f"{path}: [[issuer]] number {number}", fields, FIELDS)
        issuer = _issuer(block, environment, elapsed)
        if issuer.iss in issuers:
            block.refuse("iss", f"{issuer.iss!r} is used twice")
        issuers[issuer.iss] = issuer
    return issuers


def _issuer(block: Block, environment: Mapping[str, str], elapsed: Callable[[], float]) -> Issuer:
    """Return the issuer that a block of the configuration describes."""
    iss, audiences = block.text("iss"), frozenset(block.texts("audience"))
    algorithms = block.texts("algorithms")
    for name in algorithms:
        if name not in FITS:
            block.refuse("algorithms", f"{name!r}; expected some of {', '.join(FITS)}")
    return Issuer(
        iss=iss,
        audiences=audiences,
        algorithms=frozenset(algorithms),
        keys=_key_set(block, algorithms, environment, elapsed),
        claim=block.texts("claim") if block.present("claim") else (DEFAULT_CLAIM,),
        mapping=_mapping(block),
        namespaces=frozenset(block.texts("namespaces")) if block.present("namespaces") else None,
        leeway_s=block.seconds("leeway_s", 30, 0, 300),
        max_lifetime_s=block.seconds("max_lifetime_s", DAY_S, 1, 366 * DAY_S),
    )


def _key_set(
    block: Block, algorithms: tuple[str, ...], environment: Mapping[str, str], elapsed: Callable[[], float]
) -> KeySet:
    """Return the keys of an issuer. Refuse options that contradict each other."""
    sources = block.present(*SOURCES)
    if len(sources) != 1:
        problem = "none is set" if not sources else f"{' and '.join(sources)} are set"
        block.refuse(sources[-1] if sources else SOURCES[0], f"expected exactly one of {', '.join(SOURCES)}; {problem}")
    source = sources[0]
    if source != "jwks_url" and (unused := block.present("refresh_s", "keep_s")):
        block.refuse(unused[0], "only for jwks_url")
    if source.startswith("jwks") and block.present("kid"):
        block.refuse("kid", "not for a JWK set, whose keys have names of their own")
    if source != "secret_env" and any(FITS[name][0] == SECRET for name in algorithms):
        block.refuse("algorithms", "HS256, HS384 and HS512 need a secret (secret_env)")
    if source == "jwks_url":
        return _remote_key_set(block, algorithms, elapsed)
    try:
        return StaticKeySet(_static_keys(block, source, algorithms, environment))
    except InvalidField:
        raise
    except ValueError as error:
        block.refuse(source, str(error))


def _static_keys(
    block: Block, source: str, algorithms: tuple[str, ...], environment: Mapping[str, str]
) -> dict[str | None, JsonWebKey]:
    if source == "jwks":
        return read_jwks(block.file(source), algorithms)
    kid = block.text("kid") if block.present("kid") else None
    if source == "public_key":
        return {kid: public_key(block.file(source), algorithms)}
    variable = block.text(source)
    if not environment.get(variable):
        block.refuse(source, f"the environment variable {variable} is not set")
    return {kid: secret_key(environment[variable].encode(), algorithms)}


def _remote_key_set(block: Block, algorithms: tuple[str, ...], elapsed: Callable[[], float]) -> RemoteKeySet:
    url = block.text("jwks_url")
    if problem := jwks_url_problem(url):
        block.refuse("jwks_url", problem)
    refresh_s = block.seconds("refresh_s", 300, 1, DAY_S)
    keep_s = block.seconds("keep_s", 3600, 1, 30 * DAY_S)
    if keep_s < refresh_s:
        block.refuse("keep_s", f"{keep_s} is less than refresh_s, {refresh_s}")
    return RemoteKeySet(partial(fetch_jwks, url), algorithms, refresh_s=refresh_s, keep_s=keep_s, elapsed=elapsed)


def _mapping(block: Block) -> dict[str, dict[str, Role]] | None:
    if not block.present("roles"):
        return None
    return {value: block.roles(f"roles.{value}", table) for value, table in block.table("roles").items()}


def _mapped_roles(claim: Any, mapping: Mapping[str, Mapping[str, Role]]) -> dict[str, Role] | None:
    """Return the roles that the values of a claim grant together. A value without a mapping grants none."""
    values = [claim] if isinstance(claim, str) else claim
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return None
    roles: dict[str, Role] = {}
    for value in values:
        for namespace, role in mapping.get(value, {}).items():
            roles[namespace] = max(role, roles.get(namespace, Role.PUBLIC))
    return roles
