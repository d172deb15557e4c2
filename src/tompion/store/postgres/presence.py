"""Finds instances whose process has ended: their session has released its lock.

The server ends the session of a process that ends in any way, and the lock with it. A lock that is free proves nothing
by itself: the server may be another one after a failover, or the instance may have none. So it counts only if it was
held before on the same server, or if the process that the name of the instance gives is gone from this host.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from tompion.model.rows import LeaseRow

LOCK = "SELECT pg_advisory_lock('instances_lease'::regclass::oid::integer, %s::integer)"
UNLOCK = "SELECT pg_advisory_unlock('instances_lease'::regclass::oid::integer, %s::integer)"


class Absence:
    """The locks that were held before, by server and instance."""

    def __init__(self) -> None:
        self._seen: set[tuple[int | None, int]] = set()

    def update(self, leases: Iterable[LeaseRow]) -> dict[int, int]:
        """Return the instances that are absent, each with its last heartbeat."""
        leases = list(leases)
        locked = {(lease.server_id, lease.instance_id) for lease in leases if lease.is_locked}
        valid = {(lease.server_id, lease.instance_id) for lease in leases}
        self._seen = (self._seen & valid) | locked
        return {
            lease.instance_id: lease.heartbeat_ms
            for lease in leases
            if not lease.is_locked
            and ((lease.server_id, lease.instance_id) in self._seen or is_gone_process(lease.name))
        }


def is_gone_process(name: str) -> bool:
    """Return whether an instance name, ``host:pid``, is of a process of this host that has ended.

    A container is restarted with the same host name and process id. An earlier instance of that name has ended, too.
    """
    host, _, number = name.rpartition(":")
    if host != socket.gethostname() or not number.isdecimal():
        return False
    if int(number) == os.getpid():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
