"""Runs as messages of JetStream. The server keeps one message per key, however often it is published.

The duplicate window of the stream must be longer than the lease of a worker (``lock_ttl_ms``).  The default of
JetStream, two minutes, is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import ConnectionClosedError, OutboundBufferLimitError
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NoStreamResponseError

from tompion.errors import InvalidField, LaunchError, TargetUnreachable
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import completion_type, message_id, run_message, text_option, trace_headers
from tompion.model.action_options import EXECUTOR_OPTIONS

SETTINGS = ("servers", "timeout_ms", "max_active")


class NatsExecutor(Executor):
    """Publishes runs to a stream."""

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "nats", *SETTINGS)
        servers = configured.get("servers")
        self._servers = [servers] if isinstance(servers, str) else list(servers or ())
        if not self._servers or not all(isinstance(server, str) for server in self._servers):
            raise InvalidField("executors.nats.servers", "expected a list of URLs, such as ['nats://127.0.0.1:4222']")
        self._timeout_s = int_setting(configured, "nats", "timeout_ms", 5_000) / 1000
        self.max_active: int = int_setting(configured, "nats", "max_active", 1_000)
        self._env = env
        self._client: Client | None = None
        self._connecting = asyncio.Lock()

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Publish the run and wait until the stream has stored it."""
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["nats"])
        subject, end = text_option(run_context, "subject"), completion_type(run_context)
        client = await self._connect()
        try:
            acknowledged = await client.jetstream().publish(
                subject,
                run_message(dag, run_context, self._env),
                timeout=self._timeout_s,
                headers={
                    "Nats-Msg-Id": message_id(run_context, end),
                    "Tompion-Run-Id": run_context.run_id,
                    "Tompion-Attempt": str(run_context.attempt),
                    **trace_headers(run_context),
                },
            )
        except NoStreamResponseError:
            raise LaunchError(f"no stream accepts the subject {subject!r}") from None
        except (TimeoutError, ConnectionClosedError, OutboundBufferLimitError) as error:
            raise TargetUnreachable(f"cannot reach NATS: {type(error).__name__}") from None
        except (NatsError, APIError) as error:
            raise LaunchError(f"NATS did not accept the message: {type(error).__name__}") from None
        return end(execution_id=f"{acknowledged.stream}:{acknowledged.seq}")

    async def aclose(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connect(self) -> Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                self._client = await self._open_client()
            return self._client

    async def _open_client(self) -> Client:
        """Return a new connection. The client can swallow a cancellation, so this does not wait for its end."""
        opening = asyncio.ensure_future(nats.connect(self._servers, allow_reconnect=True, error_cb=_ignore_error))
        done, _ = await asyncio.wait({opening}, timeout=self._timeout_s)
        if not done:
            opening.add_done_callback(_close_late_client)
            opening.cancel()
            raise TargetUnreachable("cannot reach NATS: TimeoutError")
        try:
            return opening.result()
        except (NatsError, OSError, TimeoutError) as error:
            raise TargetUnreachable(f"cannot reach NATS: {type(error).__name__}") from None


def _close_late_client(opening: asyncio.Future[Client]) -> None:
    """Close a connection that opened after its time limit."""
    if not opening.cancelled() and opening.exception() is None:
        _closing.add(closing := asyncio.ensure_future(opening.result().close()))
        closing.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()
"""Connections that are being closed, so that the tasks are not collected."""


async def _ignore_error(_error: Exception) -> None:
    """Do nothing. The publisher gets the error, too."""
