"""Runs as messages of RabbitMQ, published with confirms.

RabbitMQ does not remove duplicates.  A run that is launched again after its worker was lost is in the queue twice, with
the same ``message_id``: the consumer has to remember the ids that it has processed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aio_pika import DeliveryMode, Message, connect
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import AMQPError, ChannelClosed, ChannelNotFoundEntity, DeliveryError

from tompion.errors import InvalidField, LaunchRefused, TargetUnreachable
from tompion.executors.base import Accepted, Completed, Executor, RunContext
from tompion.executors.options import ExecutorEnv, check_settings, check_workflow_options, int_setting
from tompion.executors.queue_message import completion_type, message_id, run_message, text_option, trace_headers
from tompion.model.action_options import EXECUTOR_OPTIONS

SETTINGS = ("url", "timeout_ms", "max_active")


class RabbitExecutor(Executor):
    """Publishes runs to queues or exchanges."""

    def __init__(self, configured: Mapping[str, Any], env: ExecutorEnv) -> None:
        check_settings(configured, "rabbitmq", *SETTINGS)
        url = configured.get("url")
        if not isinstance(url, str) or not url.startswith(("amqp://", "amqps://")):
            raise InvalidField("executors.rabbitmq.url", "expected a URL such as amqp://127.0.0.1:5672/")
        self._url = url
        self._timeout_s = int_setting(configured, "rabbitmq", "timeout_ms", 5_000) / 1000
        self.max_active: int = int_setting(configured, "rabbitmq", "max_active", 1_000)
        self._env = env
        self._connecting = asyncio.Lock()
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None

    async def run(self, dag: Any, run_context: RunContext) -> Completed | Accepted:
        """Publish the run and wait until the server has stored it in a queue."""
        check_workflow_options(run_context.options, *EXECUTOR_OPTIONS["rabbitmq"])
        exchange, key = _address(run_context)
        result_type = completion_type(run_context)
        message = Message(
            run_message(dag, run_context, self._env),
            message_id=message_id(run_context, result_type),
            correlation_id=run_context.idempotency_key,
            content_type="application/json",
            delivery_mode=DeliveryMode.PERSISTENT,
            headers={
                "tompion-run-id": run_context.run_id,
                "tompion-attempt": run_context.attempt,
                **trace_headers(run_context),
            },
        )
        try:
            channel = await self._open()
            publisher = (
                channel.default_exchange if exchange is None else await channel.get_exchange(exchange, ensure=False)
            )
            await publisher.publish(message, key, mandatory=True, timeout=self._timeout_s)
        except DeliveryError:
            raise LaunchRefused(
                f"no queue is bound to {exchange or 'the default exchange'} with the key {key!r}"
            ) from None
        except ChannelNotFoundEntity:
            raise LaunchRefused(f"RabbitMQ has no exchange {exchange!r}") from None
        except ChannelClosed as error:
            raise LaunchRefused(f"RabbitMQ did not accept the message: {type(error).__name__}") from None
        except (AMQPError, OSError, TimeoutError) as error:
            raise TargetUnreachable(f"cannot reach RabbitMQ: {type(error).__name__}") from None
        return result_type(execution_id=f"{exchange or ''}:{key}:{run_context.delivery_id}")

    async def aclose(self) -> None:
        """Close the connection."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            await connection.close()

    async def _open(self) -> AbstractChannel:
        """Return an open channel. An error in one message closes the channel for all."""
        async with self._connecting:
            if self._connection is None or self._connection.is_closed:
                self._connection = await connect(self._url, timeout=self._timeout_s)
                self._channel = None
            if self._channel is None or self._channel.is_closed:
                self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            return self._channel


def _address(run_context: RunContext) -> tuple[str | None, str]:
    """Return the exchange, if one is named, and the routing key: at the default exchange, the name of the queue."""
    if "exchange" not in run_context.options:
        return None, text_option(run_context, "queue")
    if "queue" in run_context.options:
        raise LaunchRefused("the workflow names a queue and an exchange; expected one of them")
    key = run_context.options.get("routing_key", "")
    if not isinstance(key, str):
        raise LaunchRefused("the workflow's option routing_key is not text")
    return text_option(run_context, "exchange"), key
