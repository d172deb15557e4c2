"""Runs as entries of a Redis or Valkey stream. A key that is remembered is added once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as NoAnswer

from tompion.errors import InvalidField, LaunchRefused, TargetUnreachable
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import completion_type, message_id, run_message, text_option
from tompion.model.action_options import EXECUTOR_OPTIONS

SETTINGS = ("url", "remember_ms", "timeout_ms", "max_active")
PREFIX = "tompion:key:"
ADD_ONCE = """
local entry = redis.call('GET', KEYS[2])
if entry then return entry end
local fields = {'key', ARGV[1], 'run_id', ARGV[2], 'message', ARGV[3]}
if ARGV[5] ~= '' then fields[7] = 'traceparent' fields[8] = ARGV[5] end
local id = redis.call('XADD', KEYS[1], '*', unpack(fields))
redis.call('SET', KEYS[2], id, 'PX', ARGV[4])
return id
"""


class RedisExecutor(Executor):
    """Adds runs to streams."""

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "redis", *SETTINGS)
        url = configured.get("url")
        if not isinstance(url, str) or not url.startswith(("redis://", "rediss://", "unix://")):
            raise InvalidField("executors.redis.url", "expected a URL such as redis://127.0.0.1:6379/0")
        self._remember_ms = int_setting(configured, "redis", "remember_ms", 24 * 3_600_000)
        timeout_s = int_setting(configured, "redis", "timeout_ms", 5_000) / 1000
        self.max_active: int = int_setting(configured, "redis", "max_active", 1_000)
        self._env = env
        self._redis = Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s)
        self._add_once = self._redis.register_script(ADD_ONCE)

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Add the run to the stream, unless it is there already."""
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["redis"])
        stream, end = text_option(run_context, "stream"), completion_type(run_context)
        message = run_message(dag, run_context, self._env)
        try:
            added = await self._add_once(
                keys=[stream, f"{PREFIX}{stream}:{message_id(run_context, end)}"],
                args=[
                    run_context.idempotency_key,
                    run_context.run_id,
                    message,
                    self._remember_ms,
                    run_context.traceparent or "",
                ],
            )
        except (NoConnection, NoAnswer, ReadOnlyError) as error:  # ReadOnlyError: a replica, which may be promoted
            raise TargetUnreachable(f"cannot reach Redis: {type(error).__name__}") from None
        except RedisError as error:
            raise LaunchRefused(f"Redis did not accept the message: {type(error).__name__}") from None
        return end(execution_id=f"{stream}:{added.decode()}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
