"""Real servers for the tests, started as child processes, and a proxy that causes network faults.

`postgres` runs a PostgreSQL that belongs to the tests alone. `proxy` stands between a client and such a server and
cuts, refuses, delays or swallows the traffic.
"""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Pick a free port below those that systems hand out for outgoing connections.

    A server that restarts needs its port again, and so does a proxy that has refused for a while. A port from the range
    of outgoing connections, which is what binding to port 0 yields, might meanwhile belong to any other client.
    """
    dice = (
        random.SystemRandom()
    )  # tests seed the global generator, and two workers with the same seed would compete for a port
    while True:
        port = dice.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
