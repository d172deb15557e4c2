"""Runs as messages of RabbitMQ: published with confirms, and under the run's id, by which a consumer tells them apart.

RabbitMQ itself keeps every message that it is sent.  A run that is launched again, because its worker was lost in
between, is there twice under one ``message_id``: whoever consumes remembers the ids that they have dealt with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aio_pika import DeliveryMode, Message, connect
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import AMQPError, ChannelClosed, ChannelNotFoundEntity, DeliveryError

from tompion.errors import InvalidField, LaunchError, LaunchRefused
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, known_options, only, whole
from tompion.executors.queue_message import done_when, message_id_of, message_of, text_option, traced

CONFIGURED = ("url", "timeout_ms", "max_active")


class RabbitExecutor(Executor):
    """Publishes runs to queues or exchanges."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        """Take the server; nothing is connected yet."""
        only(configured, "rabbitmq", *CONFIGURED)
        url = configured.get("url")
        if not isinstance(url, str) or not url.startswith(("amqp://", "amqps://")):
            raise InvalidField("executors.rabbitmq.url", "expected such as amqp://127.0.0.1:5672/")
        self._url = url
        self._timeout_s = whole(configured, "rabbitmq", "timeout_ms", 5_000) / 1000
        self.max_active = whole(configured, "rabbitmq", "max_active", 1_000)
        self._site = site
        self._connecting = asyncio.Lock()
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None

    async def run(self, dag: Any, meta: RunContext) -> Completed | Accepted:
        """Publish the run, and wait until the server has it safe and some queue takes it."""
        known_options(meta.options, "queue", "exchange", "routing_key", "done")
        (exchange, key), end = _address(meta), done_when(meta)
        message = Message(
            message_of(dag, meta, self._site),
            message_id=message_id_of(meta, end),
            correlation_id=meta.key,
            content_type="application/json",
            delivery_mode=DeliveryMode.PERSISTENT,
            headers={"tompion-run-id": meta.run_id, "tompion-attempt": meta.attempt, **traced(meta)},
        )
        try:
            channel = await self._open()
            where = channel.default_exchange if exchange is None else await channel.get_exchange(exchange, ensure=False)
            await where.publish(message, key, mandatory=True, timeout=self._timeout_s)
        except DeliveryError:
            raise LaunchRefused(f"no queue takes what is sent to {exchange or 'the usual exchange'}, {key!r}") from None
        except ChannelNotFoundEntity:
            raise LaunchRefused(f"RabbitMQ has no exchange {exchange!r}") from None
        except ChannelClosed as error:
            raise LaunchRefused(f"RabbitMQ has not taken the message: {type(error).__name__}") from None
        except (AMQPError, OSError, TimeoutError) as error:
            raise LaunchError(f"cannot reach RabbitMQ: {type(error).__name__}") from None
        return end(execution_id=f"{exchange or ''}:{key}:{meta.delivery_id}")

    async def aclose(self) -> None:
        """Close the connection."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            await connection.close()

    async def _open(self) -> AbstractChannel:
        """Return a channel that is open; a mistake in one message closes it for all."""
        async with self._connecting:
            if self._connection is None or self._connection.is_closed:
                self._connection = await connect(self._url, timeout=self._timeout_s)
                self._channel = None
            if self._channel is None or self._channel.is_closed:
                self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            return self._channel


def _address(meta: RunContext) -> tuple[str | None, str]:
    """Return the exchange, if one is named, and the routing key: a queue's name is its key at the usual exchange."""
    if "exchange" not in meta.options:
        return None, text_option(meta, "queue")
    if "queue" in meta.options:
        raise LaunchRefused("the workflow names a queue and an exchange; one of them is enough")
    key = meta.options.get("routing_key", "")
    if not isinstance(key, str):
        raise LaunchRefused("the workflow's option routing_key is no text")
    return text_option(meta, "exchange"), key
