"""Runs as HTTP requests to the URL of the workflow.

A 2xx response completes the run, except 202: then the target will report.  With the option ``expect``, exactly the
statuses that it names complete the run.  503 means that the target is down.  408, 425, 429 and other 5xx are retried,
any other status is not.  ``Retry-After`` is obeyed.  Redirects are not followed.  Error messages never contain data
that was sent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import aiohttp

from tompion.encoding.bounded_text import text_as_json, truncate
from tompion.errors import InvalidField, LaunchError, LaunchRefused, TargetUnreachable, display
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.http_request import JSON_TYPE, HttpRequest, build_request, read_headers
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.model.action_options import EXECUTOR_OPTIONS, is_expected_status
from tompion.model.run import RunState
from tompion.outbound.http_session import open_session, read_start
from tompion.outbound.ssrf_guard import HttpTarget, SsrfGuard
from tompion.outbound.webhook_signature import parse_secret, read_keys, signature_headers
from tompion.runtime.clock import Clock, SystemClock

ACCEPTED = 202
DEFAULT_EXPECT = ("2xx",)
RETRYABLE_STATUSES = frozenset({408, 425, 429})
SERVER_ERROR = 500
UNAVAILABLE = 503
MAX_RETRY_AFTER_S = 86_400.0
TARGET_CACHE_SIZE = 4_096
SECRET_HEADER_WORDS = ("auth", "cookie", "credential", "key", "password", "secret", "signature", "token")
MIN_SECRET_CHARS = 8
"""The value of a header whose name contains one of these words is a secret, unless it is shorter."""
SECRET_FIELDS = ("secret_env", "secret_file")
SETTINGS = ("allow", "secrets", "timeout_ms", "max_active", "max_per_target")


class HttpExecutor(Executor):
    """Sends runs to URLs."""

    remote = True

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv, clock: Clock | None = None) -> None:
        check_settings(configured, "http", *SETTINGS)
        self._guard = _guard(configured.get("allow", ()))
        self._target_of = lru_cache(TARGET_CACHE_SIZE)(self._guard.target)
        self._secrets = _secrets(configured.get("secrets", {}))
        self._timeout_ms = int_setting(configured, "http", "timeout_ms", 30_000)
        self.max_active: int = int_setting(configured, "http", "max_active", 5_000)
        self.max_per_target: int = int_setting(configured, "http", "max_per_target", 1_000)
        self._env = env
        self._clock = clock or SystemClock()
        self._session: aiohttp.ClientSession | None = None

    def target(self, dag: Any, run_context: RunContext) -> str:
        """Return host and port, which have a concurrency limit of their own."""
        return self._target(run_context).name

    def address(self, dag: Any, run_context: RunContext) -> str:
        """Return the URL. If one URL of a host is unavailable, launches to other URLs of the host do not wait."""
        return self._target(run_context).url

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Send the run and interpret the response."""
        options = run_context.options
        check_workflow_options(options, *EXECUTOR_OPTIONS["http"])
        target, expect = self._target(run_context), _expected_statuses(options)
        request = self._signed(run_context, build_request(dag, run_context, self._env))
        try:
            async with asyncio.timeout(self._timeout_s(options)):
                return await self._send(target, request, _secret_parts(options), expect)
        except TimeoutError:
            return Completed(
                RunState.TIMED_OUT, error=f"no response within timeout_ms ({self._timeout_s(options) * 1000:.0f})"
            )

    def _target(self, run_context: RunContext) -> HttpTarget:
        url = run_context.options.get("url")
        return self._target_of(url) if isinstance(url, str) else self._guard.target(url)

    async def cancel(self, dag: Any, run_context: RunContext, execution_id: str | None) -> bool:
        """Notify the target at its cancel_url, if it has one. A pending request is aborted without that."""
        url = run_context.options.get("cancel_url")
        if execution_id is None or url is None:
            return False
        body = json.dumps({"meta": run_context.meta, "execution_id": execution_id}).encode()
        headers = {
            **read_headers(run_context.options),
            "Content-Type": JSON_TYPE,
            "Idempotency-Key": run_context.idempotency_key,
        }
        request = self._signed(run_context, HttpRequest("POST", body, headers))
        async with asyncio.timeout(self._timeout_s(run_context.options)):
            await self._send(self._guard.target(url), request)
        return True

    async def terminate(self, dag: Any, run_context: RunContext, execution_id: str | None) -> None:
        """Notify the target as ``cancel`` does. A remote target cannot be forced."""
        await self.cancel(dag, run_context, execution_id)

    async def aclose(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send(
        self,
        target: HttpTarget,
        request: HttpRequest,
        secrets: Sequence[str] = (),
        expect: Sequence[object] | None = None,
    ) -> Completed | Accepted:
        """Send a request to a target and return the result of the response."""
        try:
            async with self._open_session().request(
                request.method, target.url, data=request.body or None, headers=request.headers, allow_redirects=False
            ) as response:
                text = _mask_secrets(await read_start(response, self._env.max_result_bytes), secrets)
                return self._interpret(response.status, response.headers, text, expect)
        except LaunchError:
            raise
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, LaunchError):
                raise error.__cause__ from None
            if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
                raise TargetUnreachable(f"cannot reach {target.name}: {type(error).__name__}") from None
            raise LaunchError(f"{target.name} did not respond: {type(error).__name__}") from None

    def _interpret(
        self, status: int, headers: Mapping[str, str], text: str, expect: Sequence[object] | None
    ) -> Completed | Accepted:
        """Return the result of a response, or raise if its status is not expected."""
        if expect is None and status == ACCEPTED:
            return Accepted(truncate(headers.get("Location") or "accepted", 500))
        rules = DEFAULT_EXPECT if expect is None else expect
        if any(is_expected_status(rule, status) for rule in rules):
            return Completed(result=text_as_json(text, self._env.max_result_bytes))
        message = f"the target responded with {status}"
        if text:
            message = f"{message}: {truncate(text, 500)}"
        if status in RETRYABLE_STATUSES or status >= SERVER_ERROR:
            kind = TargetUnreachable if status == UNAVAILABLE else LaunchError
            raise kind(message, retry_after_s=self._retry_after_s(headers.get("Retry-After")))
        if 300 <= status < 400:
            raise LaunchRefused(f"the target responded with {status}: redirects are not followed")
        raise LaunchRefused(message)

    def _retry_after_s(self, value: str | None) -> float | None:
        """Return the seconds of a Retry-After header, which is a number or a date. An invalid one is ignored."""
        if value is None:
            return None
        try:
            seconds = float(value) if value.isascii() and value.strip().isdigit() else None
            if seconds is None:
                seconds = parsedate_to_datetime(value).timestamp() - self._clock.now()
        except (ValueError, OverflowError):
            return None
        return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = open_session(self._guard)
        return self._session

    def _timeout_s(self, options: Mapping[str, Any]) -> float:
        timeout_ms = options.get("timeout_ms", self._timeout_ms)
        if type(timeout_ms) is not int or timeout_ms < 1:
            raise LaunchRefused("the workflow's option timeout_ms is not a whole number from 1")
        return int(timeout_ms) / 1000

    def _signed(self, run_context: RunContext, request: HttpRequest) -> HttpRequest:
        name = run_context.options.get("secret")
        if name is None:
            return request
        keys = self._secrets.get(name) if isinstance(name, str) else None
        if keys is None:
            raise LaunchRefused("the workflow names a secret that the operator has not configured")
        signature = signature_headers(run_context.idempotency_key, int(self._clock.now()), request.body, keys)
        return request._replace(headers={**request.headers, **signature})


def _expected_statuses(options: Mapping[str, Any]) -> Sequence[object] | None:
    expect = options.get("expect")
    return expect if expect is None or isinstance(expect, list | tuple) else [expect]


def _guard(allow: Any) -> SsrfGuard:
    if not isinstance(allow, list | tuple) or not all(isinstance(rule, str) for rule in allow):
        expected = "a list of networks, such as 10.1.0.0/16 or 127.0.0.1:8080"
        raise InvalidField("executors.http.allow", f"{display(allow)}; expected {expected}")
    return SsrfGuard(allow)


def _secrets(configured: Any) -> dict[str, tuple[bytes, ...]]:
    if not isinstance(configured, Mapping):
        raise InvalidField("executors.http.secrets", "expected a table of secrets by name")
    return {name: _keys(name, texts) for name, texts in configured.items()}


def _keys(name: str, texts: Any) -> tuple[bytes, ...]:
    """Return the keys of a secret: literal ones, or those that a table with secret_env or secret_file names."""
    if isinstance(texts, Mapping):
        where = f"executors.http.secrets.{name}."
        for field in texts:
            if field not in SECRET_FIELDS:
                raise InvalidField(f"{where}{field}", f"there is no such option; expected {' or '.join(SECRET_FIELDS)}")
        return read_keys(where, texts, os.environ)
    listed = tuple(texts) if isinstance(texts, list | tuple) else (texts,)
    if not 1 <= len(listed) <= 2 or not all(isinstance(text, str) for text in listed):
        expected = "expected one secret, two while it is being replaced, or a table with secret_env or secret_file"
        raise InvalidField(f"executors.http.secrets.{name}", expected)
    return tuple(parse_secret(text) for text in listed)


def _secret_parts(options: Mapping[str, Any]) -> list[str]:
    """Return the secret parts of a workflow's headers: for ``Bearer …``, the token."""
    headers = options.get("headers", {}).items()
    values = [value for name, value in headers if any(word in name.lower() for word in SECRET_HEADER_WORDS)]
    return [part for value in values for part in value.split() if len(part) >= MIN_SECRET_CHARS]


def _mask_secrets(text: str, secrets: Sequence[str]) -> str:
    """Mask the secrets in a response, because some targets repeat the request."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return text
