"""Runs as HTTP requests: the workflow and everything about the run are posted to its URL.

A 2xx is the end of the run, 202 means that the target will report; 408, 425, 429 and 5xx are worth another try, and any
other answer is not.  Redirects are not followed.  Whatever is sent, nothing of it is ever in an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import aiohttp

from tompion.errors import InvalidField, LaunchError, LaunchRefused, display
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import message_of, traced
from tompion.model.codec import text_as_json, truncate
from tompion.model.run import RunState
from tompion.outbound.http_session import open_session, read_start
from tompion.outbound.ssrf_guard import Guard, Target
from tompion.outbound.webhook_signature import read_secret, signature_headers
from tompion.runtime.clock import Clock, SystemClock

ACCEPTED = 202
RETRIED = frozenset({408, 425, 429})
SERVER_ERROR = 500
REMEMBERED_URLS = 4_096
SECRETIVE = ("auth", "cookie", "credential", "key", "password", "secret", "signature", "token")
LEAST_SECRET = 8
"""A header whose name has one of these words holds a secret, unless it is shorter."""
CONFIGURED = ("allow", "secrets", "timeout_ms", "max_active", "max_per_target")
OPTIONS = ("url", "headers", "secret", "timeout_ms", "cancel_url")
FORBIDDEN_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "idempotency-key", "content-type"}
)


class HttpExecutor(Executor):
    """Posts runs to URLs."""

    remote = True

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv, clock: Clock | None = None) -> None:
        """Take what the operator allows, the secrets to sign with by name, and the bounds."""
        only(configured, "http", *CONFIGURED)
        self._guard = _guard(configured.get("allow", ()))
        self._target_of = lru_cache(REMEMBERED_URLS)(self._guard.target)
        self._secrets = _secrets(configured.get("secrets", {}))
        self._timeout_ms = whole(configured, "http", "timeout_ms", 30_000)
        self.max_active = whole(configured, "http", "max_active", 5_000)
        self.max_per_target = whole(configured, "http", "max_per_target", 1_000)
        self._site = site
        self._clock = clock or SystemClock()
        self._session: aiohttp.ClientSession | None = None

    def target(self, dag: Any, meta: RunContext) -> str:
        """Return the host and the port: each is bounded by itself."""
        return self._target(meta).name

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Post the run, and read the answer."""
        options = meta.options
        known_options(options, *OPTIONS)
        found = self._target(meta)
        body = message_of(dag, meta, self._site)
        headers = {**_headers(options), **traced(meta), **self._signature(meta, body)}
        try:
            async with asyncio.timeout(self._limit_s(options)):
                return await self._posted(found, body, headers, _secret_parts(options))
        except TimeoutError:
            return Completed(
                RunState.TIMED_OUT, error=f"no answer within timeout_ms ({self._limit_s(options) * 1000:.0f})"
            )

    def _target(self, meta: RunContext) -> Target:
        url = meta.options.get("url")
        return self._target_of(url) if isinstance(url, str) else self._guard.target(url)

    async def cancel(self, dag: Any, meta: RunContext, execution_id: str | None) -> bool:
        """Tell the target, where it wants to be told; a request that is under way is simply cut off."""
        url = meta.options.get("cancel_url")
        if execution_id is None or url is None:
            return False
        body = json.dumps({"meta": meta.meta, "execution_id": execution_id}).encode()
        headers = {**_headers(meta.options), **self._signature(meta, body)}
        async with asyncio.timeout(self._limit_s(meta.options)):
            await self._posted(self._guard.target(url), body, headers)
        return True

    async def terminate(self, dag: Any, meta: RunContext, execution_id: str | None) -> None:
        """Tell the target, which cannot be forced."""
        await self.cancel(dag, meta, execution_id)

    async def aclose(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _posted(
        self, target: Target, body: bytes, headers: Mapping[str, str], secrets: Sequence[str] = ()
    ) -> Completed | Accepted:
        try:
            async with self._opened().post(target.url, data=body, headers=headers, allow_redirects=False) as answer:
                text = _masked(await read_start(answer, self._site.max_result_bytes), secrets)
                return self._read(answer.status, answer.headers.get("Location"), text)
        except LaunchError:
            raise
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, LaunchError):
                raise error.__cause__ from None
            raise LaunchError(f"cannot reach {target.name}: {type(error).__name__}") from None

    def _read(self, status: int, location: str | None, text: str) -> Completed | Accepted:
        if status == ACCEPTED:
            return Accepted(truncate(location or "accepted", 500))
        if 200 <= status < 300:
            return Completed(result=text_as_json(text, self._site.max_result_bytes))
        said = f"the target answered {status}: {truncate(text, 500)}" if text else f"the target answered {status}"
        if status in RETRIED or status >= SERVER_ERROR:
            raise LaunchError(said)
        if 300 <= status < 400:
            raise LaunchRefused(f"the target answered {status}: redirects are not followed")
        raise LaunchRefused(said)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(self._guard)
        return self._session

    def _limit_s(self, options: Mapping[str, Any]) -> float:
        chosen = options.get("timeout_ms", self._timeout_ms)
        if type(chosen) is not int or chosen < 1:
            raise LaunchRefused("the workflow's option timeout_ms is not a whole number from 1")
        return chosen / 1000

    def _signature(self, meta: RunContext, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": meta.key}
        name = meta.options.get("secret")
        if name is None:
            return headers
        keys = self._secrets.get(name) if isinstance(name, str) else None
        if keys is None:
            raise LaunchRefused("the workflow's secret is not one that the operator has configured")
        return {**headers, **signature_headers(meta.key, int(self._clock.now()), body, keys)}


def _guard(allow: Any) -> Guard:
    if not isinstance(allow, list | tuple) or not all(isinstance(each, str) for each in allow):
        expected = "a list of networks, such as 10.1.0.0/16 or 127.0.0.1:8080"
        raise InvalidField("executors.http.allow", f"{display(allow)}; expected {expected}")
    return Guard(allow)


def _secrets(given: Any) -> dict[str, tuple[bytes, ...]]:
    if not isinstance(given, Mapping):
        raise InvalidField("executors.http.secrets", "expected a table of secrets by name")
    return {name: _keys(name, texts) for name, texts in given.items()}


def _keys(name: str, texts: Any) -> tuple[bytes, ...]:
    listed = tuple(texts) if isinstance(texts, list | tuple) else (texts,)
    if not 1 <= len(listed) <= 2 or not all(isinstance(text, str) for text in listed):
        raise InvalidField(f"executors.http.secrets.{name}", "expected one secret, or two while it is being replaced")
    return tuple(read_secret(text) for text in listed)


def _headers(options: Mapping[str, Any]) -> dict[str, str]:
    given = options.get("headers", {})
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise LaunchRefused("the workflow's headers are not an object of texts")
    for name, value in given.items():
        if name.lower() in FORBIDDEN_HEADERS or name.lower().startswith("webhook-"):
            raise LaunchRefused(f"the workflow must not set the header {name!r}")
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise LaunchRefused("a header of the workflow has a name that cannot be sent")
        if not value.isprintable():
            raise LaunchRefused(f"the header {name!r} has a value that cannot be sent")
    return dict(given)


def _secret_parts(options: Mapping[str, Any]) -> list[str]:
    """Return what of a workflow's headers nobody else may read: of ``Bearer …``, not the first word."""
    given = options.get("headers", {}).items()
    values = [value for name, value in given if any(word in name.lower() for word in SECRETIVE)]
    return [part for value in values for part in value.split() if len(part) >= LEAST_SECRET]


def _masked(text: str, secrets: Sequence[str]) -> str:
    """Return an answer without the secrets that were sent: some targets repeat what they were asked."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text
