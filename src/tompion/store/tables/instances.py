"""Instances, their leases, and remote workers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from tompion.model.rows import InstanceRow, LeaseRow
from tompion.store.driver_transaction import DriverTransaction


class InstanceTable(DriverTransaction):
    """Instances, their leases, and remote workers."""

    def instance_insert(  # noqa: PLR0913 - one parameter per column
        self,
        name: str,
        release: str,
        now_ms: int,
        lease_until_ms: int | None,
        queues: Iterable[str] = (),
        namespace: str | None = None,
        tzdata: str = "",
    ) -> int:
        """Register an instance, or a remote worker of a namespace, which has no lease. Return its id."""
        row = self._one(
            "instance_insert",
            name=name,
            release=release,
            queues=json.dumps(sorted(queues)),
            now_ms=now_ms,
            lease_until_ms=lease_until_ms,
            namespace=namespace,
            tzdata=tzdata,
        )
        assert row is not None
        return int(row[0])

    def lease_renew(self, instance_id: int, now_ms: int, skew_ms: int, lease_until_ms: int) -> bool:
        """Record a heartbeat, extend the lease, and return whether the instance still had one."""
        params = {"now_ms": now_ms, "skew_ms": skew_ms, "lease_until_ms": lease_until_ms}
        return self._one("lease_renew", instance_id=instance_id, **params) is not None

    def worker_touch(self, namespace: str, instance_id: int, now_ms: int, queues: Iterable[str]) -> str | None:
        """Record a heartbeat of a remote worker and return its name, or ``None`` if there is no such worker."""
        params = {"instance_id": instance_id, "now_ms": now_ms, "queues": json.dumps(sorted(queues))}
        row = self._one("worker_touch", namespace=namespace, **params)
        return None if row is None else str(row[0])

    def worker_remove(self, namespace: str, instance_id: int, now_ms: int) -> None:
        """Deregister a remote worker."""
        self.rows("worker_remove", {"namespace": namespace, "instance_id": instance_id, "now_ms": now_ms})

    def queue_list_served(self, namespace: str, since_ms: int) -> Counter[str]:
        """Return the queues that live instances and workers serve in a namespace, with the number of each."""
        served: Counter[str] = Counter()
        for queues, live in self.rows("queue_list_served", {"namespace": namespace, "since_ms": since_ms}):
            served.update(dict.fromkeys(json.loads(queues), live))
        return served

    def lease_hold(self, instance_id: int) -> bool:
        """Return whether an instance still has its lease. No other instance can expire it in this transaction."""
        self.rows("lease_share", {"instance_id": instance_id})
        return self._one("lease_hold", instance_id=instance_id) is not None

    def lease_expire(self, now_ms: int, own_id: int) -> set[int]:
        """Return the instances, except ``own_id``, whose lease has expired.

        None of them can claim runs until this transaction ends.
        """
        expired = [row[0] for row in self.rows("lease_list_expired", {"now_ms": now_ms}) if row[0] != own_id]
        locked = {
            instance_id for instance_id in expired if self._one("lease_expire_one", instance_id=instance_id) is not None
        }
        if not locked:
            return locked
        return locked & {
            row[0] for row in self.rows("lease_list_expired", {"now_ms": now_ms})
        }  # a heartbeat may have renewed one meanwhile

    def lease_list_valid(self, now_ms: int, own_id: int) -> list[LeaseRow]:
        """Return the valid leases of other instances."""
        rows = self.rows("lease_list_valid", {"now_ms": now_ms, "own_id": own_id})
        return [LeaseRow._make(row) for row in rows]

    def lease_cut(self, instance_id: int, heartbeat_ms: int, now_ms: int) -> str | None:
        """End a lease now if there was no heartbeat since a time. Return the name of the instance if it is so."""
        row = self._one("lease_cut", instance_id=instance_id, heartbeat_ms=heartbeat_ms, now_ms=now_ms)
        return None if row is None else str(row[0])

    def lease_end(self, instances: Iterable[int]) -> None:
        """Clear the leases of instances that hold no runs any more."""
        self.rows("lease_end", {"instances": sorted(instances)})

    def instance_stop(self, instance_id: int, now_ms: int, lease_until_ms: int | None) -> None:
        """Record that an instance has stopped. It keeps a lease while it may still hold runs."""
        params = {"now_ms": now_ms, "lease_until_ms": lease_until_ms}
        self.rows("instance_stop", {"instance_id": instance_id, **params})

    def instance_count_live(self, since_ms: int) -> int:
        """Count the instances with a heartbeat since a time."""
        row = self._one("instance_count_live", since_ms=since_ms)
        return 0 if row is None else int(row[0])

    def instance_has_newer_tables(self, now_ms: int, tzdata: str) -> bool:
        """Return whether an instance with a lease has a newer release of the time zone data."""
        row = self._one("instance_has_newer_tables", now_ms=now_ms, tzdata=tzdata)
        return row is not None and bool(row[0])

    def instance_list(self, namespace: str, limit: int) -> list[InstanceRow]:
        """Return engines, and the workers of a namespace, newest first."""
        params = {"namespace": namespace, "limit": limit}
        return [InstanceRow._make(row) for row in self.rows("instance_list", params)]

    def instance_expire(self, before_ms: int) -> None:
        """Delete instances without a heartbeat since a time."""
        self.rows("instance_expire", {"before_ms": before_ms})
