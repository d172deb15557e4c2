"""``[[issuer]]`` blocks: whose tokens are believed, with which keys, and what their claims mean here."""

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
    fetch,
    problem_of,
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
CLAIM = "tompion"
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Issuer:
    """Somebody whose tokens are believed.

    ``claim`` is where the roles stand in a token, from the outside in.  ``mapping`` says what each of its values means;
    without one, the claim itself is a table of namespaces and roles.  ``namespaces`` are those that the issuer may
    speak of, if not all.
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
        """Return the roles that the claims of a token give; none if the claim cannot be read in full."""
        found: Any = claims
        for name in self.claim:
            found = found.get(name) if isinstance(found, Mapping) else None
        roles = roles_of(found) if self.mapping is None else _mapped(found, self.mapping)
        if not roles or (self.namespaces is not None and not self.namespaces.issuperset(roles)):
            return {}
        return roles


def read_issuers(
    blocks: Sequence[Mapping[str, Any]], path: str, environment: Mapping[str, str], elapsed: Callable[[], float]
) -> dict[str, Issuer]:
    """Return the issuers that a file names, by ``iss``; raises :class:`~tompion.errors.InvalidField`."""
    found: dict[str, Issuer] = {}
    for number, fields in enumerate(blocks, 1):
        block = Block(f"{path}: [[issuer]] number {number}", fields, FIELDS)
        issuer = _issuer(block, environment, elapsed)
        if issuer.iss in found:
            block.refuse("iss", f"{issuer.iss!r} is there twice")
        found[issuer.iss] = issuer
    return found


def _issuer(block: Block, environment: Mapping[str, str], elapsed: Callable[[], float]) -> Issuer:
    iss, audiences = block.text("iss"), frozenset(block.texts("audience"))
    algorithms = block.texts("algorithms")
    for name in algorithms:
        if name not in FITS:
            block.refuse("algorithms", f"{name!r}; expected some of {', '.join(FITS)}")
    return Issuer(
        iss=iss,
        audiences=audiences,
        algorithms=frozenset(algorithms),
        keys=_keys(block, algorithms, environment, elapsed),
        claim=block.texts("claim") if block.given("claim") else (CLAIM,),
        mapping=_mapping(block),
        namespaces=frozenset(block.texts("namespaces")) if block.given("namespaces") else None,
        leeway_s=block.seconds("leeway_s", 30, 0, 300),
        max_lifetime_s=block.seconds("max_lifetime_s", DAY_S, 1, 366 * DAY_S),
    )


def _keys(
    block: Block, algorithms: tuple[str, ...], environment: Mapping[str, str], elapsed: Callable[[], float]
) -> KeySet:
    sources = block.given(*SOURCES)
    if len(sources) != 1:
        problem = "none of them is there" if not sources else f"{' and '.join(sources)} are there"
        block.refuse(sources[-1] if sources else SOURCES[0], f"expected exactly one of {', '.join(SOURCES)}; {problem}")
    source = sources[0]
    if source != "jwks_url" and (useless := block.given("refresh_s", "keep_s")):
        block.refuse(useless[0], "it is for jwks_url only")
    if source.startswith("jwks") and block.given("kid"):
        block.refuse("kid", "the keys of a JWK set have their own")
    if source != "secret_env" and any(FITS[name][0] == SECRET for name in algorithms):
        block.refuse("algorithms", "HS256, HS384 and HS512 need a secret (secret_env)")
    if source == "jwks_url":
        return _fetched(block, algorithms, elapsed)
    try:
        return StaticKeySet(_fixed(block, source, algorithms, environment))
    except InvalidField:
        raise
    except ValueError as error:
        block.refuse(source, str(error))


def _fixed(
    block: Block, source: str, algorithms: tuple[str, ...], environment: Mapping[str, str]
) -> dict[str | None, JsonWebKey]:
    if source == "jwks":
        return read_jwks(block.file(source), algorithms)
    kid = block.text("kid") if block.given("kid") else None
    if source == "public_key":
        return {kid: public_key(block.file(source), algorithms)}
    variable = block.text(source)
    if not environment.get(variable):
        block.refuse(source, f"the environment has no {variable}")
    return {kid: secret_key(environment[variable].encode(), algorithms)}


def _fetched(block: Block, algorithms: tuple[str, ...], elapsed: Callable[[], float]) -> RemoteKeySet:
    url = block.text("jwks_url")
    if problem := problem_of(url):
        block.refuse("jwks_url", problem)
    refresh_s = block.seconds("refresh_s", 300, 1, DAY_S)
    keep_s = block.seconds("keep_s", 3600, 1, 30 * DAY_S)
    if keep_s < refresh_s:
        block.refuse("keep_s", f"{keep_s} is less than refresh_s, {refresh_s}")
    return RemoteKeySet(partial(fetch, url), algorithms, refresh_s=refresh_s, keep_s=keep_s, elapsed=elapsed)


def _mapping(block: Block) -> dict[str, dict[str, Role]] | None:
    if not block.given("roles"):
        return None
    return {value: block.roles(f"roles.{value}", table) for value, table in block.table("roles").items()}


def _mapped(claim: Any, mapping: Mapping[str, Mapping[str, Role]]) -> dict[str, Role] | None:
    """Return what the values of a claim give together; a value that means nothing here gives nothing."""
    values = [claim] if isinstance(claim, str) else claim
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return None
    found: dict[str, Role] = {}
    for value in values:
        for namespace, role in mapping.get(value, {}).items():
            found[namespace] = max(role, found.get(namespace, Role.PUBLIC))
    return found
