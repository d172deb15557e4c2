"""Text from the configuration and from callers: files, variables, keys and tokens."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.fuzz import texts
from tests.support.service import runner_of
from tests.support.token_issuers import HMAC, NOW, SECRET, VARIABLE, put_together
from tompion.api.auth.api_key_cache import ApiKeyCache
from tompion.api.auth.issuers import read_issuers
from tompion.api.auth.jwt import JwtVerifier
from tompion.bootstrap.engine import build_notifier
from tompion.bootstrap.security import check_exposure
from tompion.config.loader import load
from tompion.config.schema import OPTIONS, Config
from tompion.errors import InvalidInput, Unauthenticated
from tompion.model.api_key import KeyParts, key_hash
from tompion.model.api_key import key_text as key_written
from tompion.model.rows import KeyRow
from tompion.operations.runner import OperationRunner
from tompion.store.base import Transaction
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

ISSUER = {"iss": HMAC.iss, "audience": "tompion", "algorithms": ["HS256"], "secret_env": VARIABLE}


def from_file(text: str) -> None:
    """A configuration file, and everything that a service makes of it before it opens anything."""
    path = _scratch() / "tompion.toml"
    path.write_bytes(text.encode(errors="surrogateescape" if text.isascii() else "replace"))
    _obeyed(load({}, None, str(path)))


def from_environment(text: str) -> None:
    """Variables, one in each line."""
    pairs = (line.partition("=") for line in text.split("\n"))
    _obeyed(load({name: value for name, _, value in pairs}))


def _obeyed(config: Config) -> None:
    check_exposure(config)
    build_notifier(config.notifications, config.settings)
    if any(getattr(config, name) is None for name in OPTIONS):
        raise AssertionError("an option without a value")


def with_key(text: str) -> None:
    """An API key: only one that was parts out opens anything."""
    _awaited(_keys().authenticate(text))
    if text not in key_seeds():
        raise AssertionError("a key that does not exist was accepted")


def with_token(text: str) -> None:
    """A token as it is shown."""
    _awaited(_tokens().authenticate(text))
    if text not in token_seeds():
        raise AssertionError("a token that was not issued was accepted")


def with_claims(text: str) -> None:
    """The claims of a correctly signed token."""
    _awaited(_tokens().authenticate(put_together(HMAC.header(), text.encode(errors="replace"), HMAC.sign)))


def with_header(text: str) -> None:
    """The header of a correctly signed token."""
    _awaited(_tokens().authenticate(put_together(text.encode(errors="replace"), HMAC.claims(), HMAC.sign)))


REFUSALS: dict[Callable[[str], None], type[Exception]] = {
    from_file: InvalidInput,
    from_environment: InvalidInput,
    with_key: Unauthenticated,
    with_token: Unauthenticated,
    with_claims: Unauthenticated,
    with_header: Unauthenticated,
}
"""What may come out of each, besides an answer."""


# --- where the text comes from ----------------------------------------------------------------------------------------

FILE_SEEDS = tuple(
    """\
store = "sqlite:///tompion.db"
port = 8640
queues = ["default", "bulk"]
engine = true
----
[limits]
tick_ms = 1000
lock_ttl_ms = 120000
heartbeat_ms = 30000
max_buffer = 1000
----
auth = "required"
hosts = ["*.example.org", "tompion"]

[[issuer]]
iss = "https://hmac.example"
audience = ["tompion"]
algorithms = ["RS256"]
jwks_url = "https://hmac.example/jwks.json"
leeway_s = 30
----
auth = "required"
tls_client_ca = "/ca.pem"
[[certificate]]
subject = "CN=ann"
roles = { default = "editor" }
----
[[schedule]]
id = "report"
cron = "0 9 * * MON-FRI"
function = "tasks:report"
[schedule.payload]
n = 1.5
----
[[notification]]
name = "ops"
url = "https://hooks.example/x"
on = ["failed", "missed"]
max_per_minute = 5
----
[executors.http]
max_active = 100
allow = ['10.0.0.0/8']
[executors.command]
commands = { x = ['/bin/true'] }
----
when = 2026-03-29T02:30:00+01:00
day = 1979-05-27
hex = 0xDEAD_BEEF
nan = nan
text = "a\\u00e9"
""".split("----\n")
)
VARIABLE_SEEDS = (
    "TOMPION_PORT=8640\nTOMPION_ENGINE=yes\nTOMPION_QUEUES=default,bulk\nTICK_MS=500",
    "TOMPION_AUTH=required\nTOMPION_HOSTS=*.example.org\nTOMPION_PUBLIC_URL=https://tompion.example:8443/x",
    "TOMPION_TEMPORAL_ADDRESS=127.0.0.1:7233\nTOMPION_MAX_BODY_BYTES=1\nTOMPION_LOCK_TTL_MS=60000",
    "TOMPION_LOG_LEVEL=debug\nTOMPION_HEARTBEAT_MS=0\nMAX_BUFFER=-1\nTOMPION_HOST=[::1]",
)
CLAIM_SEEDS = tuple(
    json.dumps(claims)
    for claims in (
        HMAC.claims(),
        HMAC.claims(aud=["tompion", "x"], nbf=NOW - 5, jti="1"),
        HMAC.claims(tompion={"*": "reader", "a": "admin"}),
        HMAC.claims(exp=NOW + 1e9, iat=1.5, sub=None),
    )
)
HEADER_SEEDS = tuple(
    json.dumps(header)
    for header in (HMAC.header(), HMAC.header(kid="a"), HMAC.header(alg="none"), HMAC.header(typ="at+jwt", crit=["x"]))
)


@cache
def key_seeds() -> tuple[str, ...]:
    """Keys that were parts out, the same in every process: a case must be the same again."""
    parts = [KeyParts("0123456789ab", "c0ffee" * 8), KeyParts("ba9876543210", "5ec2e7" * 8)]
    for key in parts:
        row = KeyRow(key.key_id, "default", "reader", "ann", key_hash(key.secret), "", NOW, None, None)
        _runner().store.write(partial(_insert, row)).result()
    return tuple(map(key_written, parts))


def _insert(row: KeyRow, transaction: Transaction) -> None:
    transaction.api_key_insert(row)


@cache
def token_seeds() -> tuple[str, ...]:
    """Tokens that were issued."""
    return tuple(put_together(HMAC.header(), json.loads(claims), HMAC.sign) for claims in CLAIM_SEEDS)


def key_text(draw: texts.Draw) -> str:
    """A key, or what is left of one."""
    return texts.blended(key_seeds())(draw)


def token_text(draw: texts.Draw) -> str:
    """A token, or what is left of one."""
    return texts.blended(token_seeds())(draw)


# --- what it is shown to ---------------------------------------------------------------------------------------------


@cache
def _scratch() -> Path:
    directory = tempfile.TemporaryDirectory(prefix="tompion-fuzz-")
    _kept.append(directory)
    return Path(directory.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _runner() -> OperationRunner:
    return runner_of(SqliteStore(clock=ManualClock(NOW), inline=True))


@cache
def _keys() -> ApiKeyCache:
    return ApiKeyCache(_runner())


@cache
def _tokens() -> JwtVerifier:
    return JwtVerifier(read_issuers((ISSUER,), "tompion.toml", {VARIABLE: SECRET}, lambda: 0.0), lambda: float(NOW))


@cache
def _event_loop() -> asyncio.Runner:
    return asyncio.Runner()


def _awaited(coroutine: Coroutine[Any, Any, object]) -> object:
    return _event_loop().run(coroutine)
