"""Instances, their leases, and remote workers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tompion.model.rows import (
    InstanceRow,
)
from tompion.store.driver_transaction import DriverTransaction


class InstanceTable(DriverTransaction):
    """Instances, their leases, and remote workers."""

    def instance_insert(  # noqa: PLR0913 - what an instance is
        self,
        name: str,
        release: str,
        now_ms: int,
        lease_until_ms: int | None,
        queues: Iterable[str] = (),
        namespace: str | None = None,
    ) -> int:
        """Register an instance, or a worker of a namespace that has no lease, and return its number."""
        served = json.dumps(sorted(queues))
        params: dict[str, Any] = {"release": release, "queues": served, "now_ms": now_ms}
        params |= {"lease_until_ms": lease_until_ms, "namespace": namespace}
        found = self._one("instance_insert", name=name, **params)
        assert found is not None
        return int(found[0])

    def lease_renew(self, instance_id: int, now_ms: int, skew_ms: int, lease_until_ms: int) -> bool:
        """Say that an instance is alive, and prolong its lease; return whether it still had one."""
        params = {"now_ms": now_ms, "skew_ms": skew_ms, "lease_until_ms": lease_until_ms}
        return self._one("lease_renew", instance_id=instance_id, **params) is not None

    def worker_touch(self, namespace: str, instance_id: int, now_ms: int, queues: Iterable[str]) -> str | None:
        """Note that a worker of a namespace lives; return its name, if it is one."""
        params = {"instance_id": instance_id, "now_ms": now_ms, "queues": json.dumps(sorted(queues))}
        found = self._one("worker_touch", namespace=namespace, **params)
        return None if found is None else str(found[0])

    def worker_remove(self, namespace: str, instance_id: int, now_ms: int) -> None:
        """Note that a worker of a namespace has gone."""
        self.rows("worker_remove", {"namespace": namespace, "instance_id": instance_id, "now_ms": now_ms})

    def queue_list_served(self, namespace: str, since_ms: int) -> Counter[str]:
        """Return which queues of a namespace somebody serves who was heard of since a moment, and how many do."""
        served: Counter[str] = Counter()
        for queues, live in self.rows("queue_list_served", {"namespace": namespace, "since_ms": since_ms}):
            served.update(dict.fromkeys(json.loads(queues), live))
        return served

    def lease_hold(self, instance_id: int) -> bool:
        """Return whether an instance has its lease still; nobody can take it away before this transaction is over."""
        self.rows("lease_share", {"instance_id": instance_id})
        return self._one("lease_hold", instance_id=instance_id) is not None

    def lease_expire(self, now_ms: int, but: int) -> set[int]:
        """Return instances whose lease is over, and which take no runs just now or until this transaction is over."""
        lapsed = [row[0] for row in self.rows("lease_list_expired", {"now_ms": now_ms}) if row[0] != but]
        seized = {each for each in lapsed if self._one("lease_expire_one", instance_id=each) is not None}
        if not seized:
            return seized
        return seized & {row[0] for row in self.rows("lease_list_expired", {"now_ms": now_ms})}  # or it has come back

    def lease_end(self, instances: Iterable[int]) -> None:
        """Say that instances hold nothing any more."""
        self.rows("lease_end", {"instances": sorted(instances)})

    def instance_stop(self, instance_id: int, now_ms: int, lease_until_ms: int | None) -> None:
        """Say that an instance has stopped, and whether it may still hold something."""
        params = {"now_ms": now_ms, "lease_until_ms": lease_until_ms}
        self.rows("instance_stop", {"instance_id": instance_id, **params})

    def instance_count_live(self, since_ms: int) -> int:
        """Count the instances that have been heard of since a moment."""
        found = self._one("instance_count_live", since_ms=since_ms)
        return 0 if found is None else int(found[0])

    def instance_list(self, namespace: str, limit: int) -> list[InstanceRow]:
        """Return engines, and the workers of a namespace, the newest first."""
        params = {"namespace": namespace, "limit": limit}
        return [InstanceRow._make(row) for row in self.rows("instance_list_page", params)]

    def instance_expire(self, before_ms: int) -> None:
        """Forget instances that have been silent since a moment."""
        self.rows("instance_expire", {"before_ms": before_ms})
