"""Runs as messages of JetStream: the server keeps one message of each key, however often it is published.

The stream's duplicate window is how long it remembers a key: it should be longer than a worker may take to be missed
(``lock_ttl_ms``), which JetStream's own default of two minutes just is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NoStreamResponseError

from tompion.errors import InvalidField, LaunchError
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import done_when, message_id_of, message_of, text_option, traced

CONFIGURED = ("servers", "timeout_ms", "max_active")


class NatsExecutor(Executor):
    """Publishes runs."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take the servers; nothing is connected yet."""
        only(configured, "nats", *CONFIGURED)
        servers = configured.get("servers")
        self._servers = [servers] if isinstance(servers, str) else list(servers or ())
        if not self._servers or not all(isinstance(each, str) for each in self._servers):
            raise InvalidField("executors.nats.servers", "expected such as ['nats://127.0.0.1:4222']")
        self._timeout_s = whole(configured, "nats", "timeout_ms", 5_000) / 1000
        self.max_active = whole(configured, "nats", "max_active", 1_000)
        self._site = site
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Publish, and wait until the stream has it."""
        known_options(meta.options, "subject", "done")
        subject, end = text_option(meta, "subject"), done_when(meta)
        client = await self._connected()
        try:
            acknowledged = await client.jetstream().publish(
                subject,
                message_of(dag, meta, self._site),
                timeout=self._timeout_s,
                headers={
                    "Nats-Msg-Id": message_id_of(meta, end),
                    "Tompion-Run-Id": meta.run_id,
                    "Tompion-Attempt": str(meta.attempt),
                    **traced(meta),
                },
            )
        except NoStreamResponseError:
            raise LaunchError(f"no stream takes the subject {subject!r}") from None
        except (NatsError, APIError, TimeoutError) as error:
            raise LaunchError(f"NATS has not taken the message: {type(error).__name__}") from None
        return end(execution_id=f"{acknowledged.stream}:{acknowledged.seq}")

    async def aclose(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                try:
                    async with asyncio.timeout(self._timeout_s):
                        self._client = await nats.connect(self._servers, allow_reconnect=True, error_cb=_ignored)
                except (NatsError, OSError, TimeoutError) as error:
                    raise LaunchError(f"cannot reach NATS: {type(error).__name__}") from None
            return self._client


async def _ignored(_error: Exception) -> None:
    """Whoever publishes hears of it."""
