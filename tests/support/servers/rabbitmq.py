"""A RabbitMQ for the tests, from Debian's package, because no wheel has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import LOOPBACK, free_port
from tests.support.servers.message_brokers import running

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


@contextmanager
def rabbitmq_server(directory: Path) -> Iterator[str]:
    """Run RabbitMQ in a directory during the block, without the daemon of Erlang, and yield its URL."""
    port, inner = free_port(), free_port()
    (directory / "plugins").write_text("[].")
    environment = {
        "HOME": str(directory),
        "RABBITMQ_NODENAME": "tompion@localhost",
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(inner),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-start_epmd false -erl_epmd_port {inner}",
    }
    with running([str(PROGRAM)], port, {**os.environ, **environment}):
        yield f"amqp://guest:guest@{LOOPBACK}:{port}/"
