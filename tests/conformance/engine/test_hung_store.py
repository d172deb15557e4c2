"""A worker whose database does not answer stops on SIGTERM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.support.servers.proxy import TcpProxy

pytestmark = pytest.mark.server

WORKER = """
from unittest.mock import patch
from tompion.cli.main import main
with patch("tompion.runtime.stop_signals.MAX_SHUTDOWN_S", 1.0):
    main()
"""
"""The worker command with a shorter limit for its shutdown."""


def test_worker_stops_on_sigterm_while_the_database_hangs(migrated_url: str) -> None:
    parts = urlsplit(migrated_url)
    assert parts.hostname is not None
    assert parts.port is not None
    with TcpProxy(parts.hostname, parts.port) as proxy:
        command = [sys.executable, "-c", WORKER, "worker", "--store", proxy.reroute(migrated_url)]
        environment = {**os.environ, "TOMPION_SHUTDOWN_GRACE_MS": "1000"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stderr is not None
                assert process.stdout.readline().startswith("running the schedules")
                proxy.blackhole()
                process.send_signal(signal.SIGTERM)
                assert process.wait(120) == 0
                assert "Other instances take over the runs" in process.stderr.read()
            finally:
                process.kill()
