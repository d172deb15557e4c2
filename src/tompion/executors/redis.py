"""Runs as entries of a Redis or Valkey stream: one entry of each key, for as long as the key is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as NoAnswer

from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import done_when, message_id_of, message_of, text_option

CONFIGURED = ("url", "remember_ms", "timeout_ms", "max_active")
PREFIX = "tompion:key:"
ADD_ONCE = """
local known = redis.call('GET', KEYS[2])
if known then return known end
local fields = {'key', ARGV[1], 'run_id', ARGV[2], 'message', ARGV[3]}
if ARGV[5] ~= '' then fields[7] = 'traceparent' fields[8] = ARGV[5] end
local id = redis.call('XADD', KEYS[1], '*', unpack(fields))
redis.call('SET', KEYS[2], id, 'PX', ARGV[4])
return id
"""


class RedisExecutor(Executor):
    """Adds runs to streams."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take the server; nothing is connected yet."""
        only(configured, "redis", *CONFIGURED)
        url = configured.get("url")
        if not isinstance(url, str) or not url.startswith(("redis://", "rediss://", "unix://")):
            raise InvalidField("executors.redis.url", "expected such as redis://127.0.0.1:6379/0")
        self._remember_ms = whole(configured, "redis", "remember_ms", 24 * 3_600_000)
        timeout_s = whole(configured, "redis", "timeout_ms", 5_000) / 1000
        self.max_active = whole(configured, "redis", "max_active", 1_000)
        self._site = site
        self._redis = Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s)
        self._add_once = self._redis.register_script(ADD_ONCE)

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Add the run, unless the stream has it already."""
        known_options(meta.options, "stream", "done")
        stream, end = text_option(meta, "stream"), done_when(meta)
        message = message_of(dag, meta, self._site)
        try:
            added = await self._add_once(
                keys=[stream, f"{PREFIX}{stream}:{message_id_of(meta, end)}"],
                args=[meta.key, meta.run_id, message, self._remember_ms, meta.traceparent or ""],
            )
        except (NoConnection, NoAnswer, ReadOnlyError) as error:  # the last is a replica, which may become more
            raise LaunchError(f"cannot reach Redis: {type(error).__name__}") from None
        except RedisError as error:
            raise LaunchRefused(f"Redis has not taken the message: {type(error).__name__}") from None
        return end(execution_id=f"{stream}:{added.decode()}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
