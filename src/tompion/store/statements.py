"""The statements of a transaction: one method for each, typed, on top of what a driver can do.

Every write names what it expects (key, state, fence); rows that are not as expected are not touched, and the caller
is told which were.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tompion.model.backfill import BackfillRow
from tompion.model.rows import (
    CalendarRow,
    DefinitionRow,
    InstanceRow,
    KeyRow,
    RequestRow,
    ScheduleFilter,
    ScheduleRow,
    UnhealthyScheduleRow,
    VersionRow,
    WorkflowRow,
)
from tompion.model.schedule_state import ScheduleState
from tompion.store.ledger import LedgerStatements
from tompion.store.outbox import OutboxStatements
from tompion.store.trail import TrailStatements

FAR_S = 1 << 40
"""Later than any nominal time: where a list that is read backwards begins."""
RARE_STATES, FEW = ("paused", "closed"), 2_000
"""States that few schedules are in, usually: so few are read and put in order, and not sought among the others."""
_SCHEDULE = len(ScheduleRow._fields)
_DIAL = _SCHEDULE + len(ScheduleState._fields)
_SPECIAL, _ESCAPED = re.compile(r"[\\%_]"), r"\\\g<0>"
"""What means something else in a pattern of LIKE, and how it means itself."""


def _sought(wanted: ScheduleFilter) -> dict[str, Any]:
    """What a statement that filters is told."""
    pattern = None if wanted.text is None else f"%{_SPECIAL.sub(_ESCAPED, wanted.text)}%"
    return {"pattern": pattern, **wanted._asdict()}


class Statements(LedgerStatements, OutboxStatements, TrailStatements):
    """The statements of the ``.sql`` files, by the same names."""

    # --- schedules ------------------------------------------------------------------------------------------------

    def schedule_by_id(self, namespace: str, schedule_id: str) -> ScheduleRow | None:
        """Return one schedule."""
        found = self._one("schedule_by_id", namespace=namespace, schedule_id=schedule_id)
        return None if found is None else ScheduleRow._make(found)

    def whole_schedules(
        self, namespace: str, ids: Iterable[str]
    ) -> dict[str, tuple[ScheduleRow, ScheduleState | None, VersionRow | None]]:
        """Return schedules with their dials and the versions in force, of which a damaged one may have neither."""
        found = {}
        for each in self.rows("whole_schedules", {"namespace": namespace, "ids": sorted(set(ids))}):
            row, dial, version = ScheduleRow._make(each[:_SCHEDULE]), each[_SCHEDULE:_DIAL], each[_DIAL:]
            found[row.schedule_id] = (
                row,
                None if dial[0] is None else ScheduleState._make(dial),
                None if version[0] is None else VersionRow._make(version),
            )
        return found

    def schedules_by_key(self, keys: Iterable[int]) -> dict[int, ScheduleRow]:
        """Return schedules by key."""
        return {row[0]: ScheduleRow._make(row) for row in self.rows("schedules_by_key", {"keys": sorted(set(keys))})}

    def insert_schedule(self, row: ScheduleRow) -> int:
        """Add a schedule and return its key."""
        found = self._one("insert_schedule", **row._asdict())
        assert found is not None
        return int(found[0])

    def save_schedule(self, row: ScheduleRow) -> None:
        """Write a schedule whose dial is locked by this transaction."""
        self.rows("save_schedule", row._asdict())

    def schedules_page(self, namespace: str, after_id: str, limit: int, wanted: ScheduleFilter) -> list[ScheduleRow]:
        """Return schedules of a namespace in the order of their ids."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit, **_sought(wanted)}
        rare = wanted.state in RARE_STATES and self.count_in_state(namespace, str(wanted.state), FEW + 1) <= FEW
        name = "schedules_page_of_few" if rare else "schedules_page"
        return [ScheduleRow._make(row) for row in self.rows(name, params)]

    def count_matching(self, namespace: str, wanted: ScheduleFilter, most: int) -> int:
        """Return how many schedules pages of the same filter show; no more than so many are looked at."""
        params = {"namespace": namespace, "most": most, **_sought(wanted)}
        if wanted.state in ("active", "exhausted"):
            return int(self.rows("count_matching_dials", params)[0][0])
        states = ["active", "paused"] if wanted.state is None else [wanted.state]
        return int(self.rows("count_matching", {**params, "states": states})[0][0])

    def sharers(self, namespace: str, version: VersionRow, after_id: str, limit: int) -> list[tuple[str, int]]:
        """Return the active schedules with the spec of a version and its calendars, and their tokens."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit}
        rows = self.rows("sharers", {**params, "spec": version.spec, "calendars": version.calendars})
        return [(row[0], int(row[1])) for row in rows]

    def tally_schedules(self, namespace: str, most: int) -> list[tuple[str, int, int, int]]:
        """Return how many schedules of a namespace are in each state, and how many of their runs are open and wait."""
        rows = self.rows("tally_schedules", {"namespace": namespace, "most": most})
        return [(row[0], int(row[1]), int(row[2] or 0), int(row[3] or 0)) for row in rows]

    def count_degraded(self, namespace: str) -> int:
        """Return how many schedules of a namespace have a zone that is not known any more."""
        return int(self.rows("count_degraded", {"namespace": namespace})[0][0])

    def count_in_state(self, namespace: str, state: str, most: int) -> int:
        """Return how many schedules of a namespace are active, but no more than so many."""
        return int(self.rows("count_in_state", {"namespace": namespace, "state": state, "most": most})[0][0])

    def count_kept(self, namespace: str, most: int) -> int:
        """Return how many schedules of a namespace are active or paused, but no more than so many."""
        return int(self.rows("count_kept", {"namespace": namespace, "most": most})[0][0])

    def troubled(self, namespace: str, edges: dict[str, int], most: int, limit: int) -> list[UnhealthyScheduleRow]:
        """Return the schedules that fail, wait, run or rest for longer than they should."""
        params = {"namespace": namespace, **edges, "most": most, "limit": limit}
        return [UnhealthyScheduleRow._make(row) for row in self.rows("troubled", params)]

    def decided_ahead(self, namespace: str, edge_ms: int, most: int) -> tuple[int, int | None]:
        """Return of how many schedules something was decided after a moment, and when that was last."""
        found = self.rows("decided_ahead", {"namespace": namespace, "edge_ms": edge_ms, "most": most})[0]
        return int(found[0]), found[1]

    def lock_name(self, kind: str, namespace: str, name: str) -> None:
        """Let nobody else write something of this name before this transaction is over, whether or not it is there."""
        self.rows("lock_name", {"name": json.dumps([kind, namespace, name])})

    def insert_version(self, row: VersionRow) -> None:
        """Add a version."""
        self.rows("insert_version", row._asdict())

    def end_version(self, key: int, version: int, until_s: int) -> None:
        """Say up to which tick a version decides."""
        self.rows("end_version", {"key": key, "version": version, "until_s": until_s})

    def versions_of(self, key: int, limit: int) -> list[VersionRow]:
        """Return the versions of a schedule, the newest first."""
        return [VersionRow._make(row) for row in self.rows("versions_of", {"key": key, "limit": limit})]

    def version_by_number(self, key: int, version: int) -> VersionRow | None:
        """Return one version."""
        found = self._one("version_by_number", key=key, version=version)
        return None if found is None else VersionRow._make(found)

    def versions_in_force(self, keys: Iterable[int]) -> dict[int, VersionRow]:
        """Return the newest version of each schedule."""
        found = self.rows("versions_in_force", {"keys": sorted(set(keys))})
        return {row[0]: VersionRow._make(row) for row in found}

    def definitions(self, pairs: Sequence[tuple[int, int]]) -> list[DefinitionRow]:
        """Return versions by schedule and number, as an engine needs them."""
        found = self.rows("definitions", {"pairs": [list(pair) for pair in pairs]})
        return [DefinitionRow._make(row) for row in found]

    def purgeable(self, before_s: int, before_ms: int, limit: int) -> list[int]:
        """Return closed schedules that may be forgotten."""
        params = {"before_s": before_s, "before_ms": before_ms, "limit": limit}
        return [row[0] for row in self.rows("purgeable", params)]

    def purge(self, key: int, limit: int) -> int:
        """Forget everything about a schedule but its audit, or only so many runs and spans; return how many.

        As many as the limit mean that there may be more, and that the schedule is still there.
        """
        gone = len(self.rows("purge_runs", {"key": key, "limit": limit}))
        gone += len(self.rows("purge_spans", {"key": key, "limit": limit - gone})) if gone < limit else 0
        if gone < limit:
            for name in ("purge_backfills", "purge_versions", "forget_calendar_uses", "delete_dial", "delete_schedule"):
                self.rows(name, {"key": key})
        return gone

    def planned_zones(self) -> list[str]:
        """Return the zone tables that schedules were planned with, each once."""
        return [row[0] for row in self.rows("planned_zones", {})]

    def schedules_in_zone(self, zones: str, limit: int) -> list[int]:
        """Return some schedules that were planned with the same zone tables."""
        return [row[0] for row in self.rows("schedules_in_zone", {"zones": zones, "limit": limit})]

    # --- numbers for those who watch ------------------------------------------------------------------------------

    def standing(self, now_ms: int, most: int) -> tuple[int, int, int, int]:
        """Return how many schedules are due, runs wait, schedules are paused and degraded; nobody counts beyond that.

        ``most`` is where counting ends: on a million schedules a number of everything would take a look at everything.
        """
        found = self._one("standing", now_ms=now_ms, most=most)
        assert found is not None
        return found[0], found[1], found[2], found[3]

    def queue_depths(self, now_ms: int, most: int) -> list[tuple[str, int, int]]:
        """Return the queues in which runs wait for somebody to take them, how many, and since when."""
        return [(row[0], row[1], row[2]) for row in self.rows("queue_depths", {"now_ms": now_ms, "most": most})]

    # --- the smaller tables ---------------------------------------------------------------------------------------

    def secret(self, name: str, fresh: str) -> str:
        """Return a secret that all instances share; ``fresh`` is what it is if nobody has set it yet."""
        found = self._one("secret", name=name)
        if found is None:
            self.rows("insert_secret", {"name": name, "value": fresh})
            found = self._one("secret", name=name)
        assert found is not None
        return str(found[0])

    def search_attributes(self, namespace: str) -> dict[str, str]:
        """Return the registered search attributes of a namespace, by name, and what each holds."""
        return {str(name): str(kind) for name, kind in self.rows("search_attributes", {"namespace": namespace})}

    def insert_search_attribute(self, namespace: str, name: str, kind: str) -> None:
        """Register a search attribute, unless it is there."""
        self.rows("insert_search_attribute", {"namespace": namespace, "name": name, "kind": kind})

    def insert_key(self, row: KeyRow) -> None:
        """Add an API key."""
        self.rows("insert_key", row._asdict())

    def key_by_id(self, key_id: str) -> KeyRow | None:
        """Return an API key."""
        found = self._one("key_by_id", key_id=key_id)
        return None if found is None else KeyRow._make(found)

    def keys_page(self, namespace: str, after: str, limit: int) -> list[KeyRow]:
        """Return the API keys of a namespace, by id."""
        params = {"namespace": namespace, "after": after, "limit": limit}
        return [KeyRow._make(row) for row in self.rows("keys_page", params)]

    def revoke_key(self, namespace: str, key_id: str, now_ms: int) -> bool:
        """Let an API key be worth nothing from now on; return whether there is one."""
        return self._one("revoke_key", namespace=namespace, key_id=key_id, now_ms=now_ms) is not None

    def next_number(self) -> int:
        """Return a number that was never returned before."""
        found = self._one("next_number")
        assert found is not None
        return int(found[0])

    def insert_backfill(self, row: BackfillRow) -> None:
        """Add a backfill."""
        self.many("insert_backfill", [row])

    def save_backfill(self, row: BackfillRow) -> None:
        """Write the progress of a running backfill."""
        self.rows("save_backfill", row._asdict())

    def put_off_backfill(self, backfill_id: int, until_ms: int) -> None:
        """Let nobody look at an unfinished backfill before a moment."""
        self.rows("put_off_backfill", {"backfill_id": backfill_id, "until_ms": until_ms})

    def due_backfills(self, now_ms: int, limit: int) -> list[BackfillRow]:
        """Return running backfills that may go on; the dial of their schedule is what is locked."""
        return [BackfillRow._make(row) for row in self.rows("due_backfills", {"now_ms": now_ms, "limit": limit})]

    def backfill_by_id(self, backfill_id: int) -> BackfillRow | None:
        """Return one backfill."""
        found = self._one("backfill_by_id", backfill_id=backfill_id)
        return None if found is None else BackfillRow._make(found)

    def backfills_of(self, key: int, limit: int, *, unfinished: bool = False) -> list[BackfillRow]:
        """Return the backfills of a schedule, the newest first."""
        params = {"key": key, "limit": limit, "unfinished": unfinished}
        return [BackfillRow._make(row) for row in self.rows("backfills_of", params)]

    def wake_backfills(self, keys: Iterable[int], now_ms: int) -> None:
        """Let the backfills of schedules look for a free slot at once."""
        self.rows("wake_backfills", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def calendar(self, namespace: str, name: str, version: int | None = None) -> CalendarRow | None:
        """Return a version of a calendar, the newest by default."""
        params = {"namespace": namespace, "name": name}
        found = (
            self._one("calendar_newest", **params)
            if version is None
            else self._one("calendar_version", version=version, **params)
        )
        return None if found is None else CalendarRow._make(found)

    def insert_calendar(self, row: CalendarRow) -> None:
        """Add a version of a calendar."""
        self.rows("insert_calendar", row._asdict())

    def calendars_page(self, namespace: str, after_name: str, limit: int) -> list[CalendarRow]:
        """Return the newest version of each calendar, by name."""
        params = {"namespace": namespace, "after_name": after_name, "limit": limit}
        return [CalendarRow._make(row) for row in self.rows("calendars_page", params)]

    def users_of_calendar(self, namespace: str, name: str, limit: int) -> list[int]:
        """Return the schedules that exclude a calendar."""
        params = {"namespace": namespace, "name": name, "limit": limit}
        return [row[0] for row in self.rows("users_of_calendar", params)]

    def save_calendar_uses(self, key: int, namespace: str, names: Sequence[str]) -> None:
        """Say which calendars a schedule excludes."""
        self.rows("forget_calendar_uses", {"key": key})
        if names:
            self.many("insert_calendar_uses", [(namespace, name, key) for name in names])

    def workflow(self, namespace: str, workflow_id: str, version: int | None = None) -> WorkflowRow | None:
        """Return a version of a workflow document, the newest by default."""
        params = {"namespace": namespace, "workflow_id": workflow_id}
        found = (
            self._one("workflow_newest", **params)
            if version is None
            else self._one("workflow_version", version=version, **params)
        )
        return None if found is None else WorkflowRow._make(found)

    def newest_workflows(self, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the newest versions of workflows, by namespace and id."""
        return {(row[0], row[1]): row[2] for row in self.many_rows("newest_workflows", names)} if names else {}

    def workflows_page(self, namespace: str, after_id: str, limit: int) -> list[WorkflowRow]:
        """Return the newest version of each workflow of a namespace, by id."""
        params = {"namespace": namespace, "after_id": after_id, "limit": limit}
        return [WorkflowRow._make(row) for row in self.rows("workflows_page", params)]

    def insert_workflow(self, row: WorkflowRow) -> None:
        """Add a version of a workflow document."""
        self.rows("insert_workflow", row._asdict())

    def paused_targets(self) -> set[tuple[str, str, str]]:
        """Return what is paused by itself: namespace, kind, name."""
        return {(row[0], row[1], row[2]) for row in self.rows("paused_targets", {})}

    def pause_target(self, **params: Any) -> None:
        """Pause a workflow or a queue."""
        self.rows("pause_target", params)

    def resume_target(self, namespace: str, kind: str, target: str) -> bool:
        """Resume a workflow or a queue; return whether it was paused."""
        return self._one("resume_target", namespace=namespace, kind=kind, target=target) is not None

    def request(self, namespace: str, request_id: str) -> RequestRow | None:
        """Return what a request id was answered."""
        found = self._one("request_by_id", namespace=namespace, request_id=request_id)
        return None if found is None else RequestRow._make(found)

    def insert_request(self, namespace: str, request_id: str, row: RequestRow, now_ms: int) -> None:
        """Remember the answer to a request id."""
        params = {"namespace": namespace, "request_id": request_id, "created_ms": now_ms}
        self.rows("insert_request", {**params, **row._asdict()})

    def expire_requests(self, before_ms: int, limit: int) -> int:
        """Forget some answers that were given before a moment; return how many."""
        return len(self.rows("expire_requests", {"before_ms": before_ms, "limit": limit}))

    def insert_instance(  # noqa: PLR0913 - what an instance is
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
        found = self._one("insert_instance", name=name, **params)
        assert found is not None
        return int(found[0])

    def beat(self, instance_id: int, now_ms: int, skew_ms: int, lease_until_ms: int) -> bool:
        """Say that an instance is alive, and prolong its lease; return whether it still had one."""
        params = {"now_ms": now_ms, "skew_ms": skew_ms, "lease_until_ms": lease_until_ms}
        return self._one("beat", instance_id=instance_id, **params) is not None

    def hear_of_worker(self, namespace: str, instance_id: int, now_ms: int, queues: Iterable[str]) -> str | None:
        """Note that a worker of a namespace lives; return its name, if it is one."""
        params = {"instance_id": instance_id, "now_ms": now_ms, "queues": json.dumps(sorted(queues))}
        found = self._one("hear_of_worker", namespace=namespace, **params)
        return None if found is None else str(found[0])

    def dismiss_worker(self, namespace: str, instance_id: int, now_ms: int) -> None:
        """Note that a worker of a namespace has gone."""
        self.rows("dismiss_worker", {"namespace": namespace, "instance_id": instance_id, "now_ms": now_ms})

    def served_queues(self, namespace: str, since_ms: int) -> Counter[str]:
        """Return which queues of a namespace somebody serves who was heard of since a moment, and how many do."""
        served: Counter[str] = Counter()
        for queues, live in self.rows("served_queues", {"namespace": namespace, "since_ms": since_ms}):
            served.update(dict.fromkeys(json.loads(queues), live))
        return served

    def hold_lease(self, instance_id: int) -> bool:
        """Return whether an instance has its lease still; nobody can take it away before this transaction is over."""
        self.rows("share_lease", {"instance_id": instance_id})
        return self._one("hold_lease", instance_id=instance_id) is not None

    def seize_leases(self, now_ms: int, but: int) -> set[int]:
        """Return instances whose lease is over, and which take no runs just now or until this transaction is over."""
        lapsed = [row[0] for row in self.rows("lapsed_instances", {"now_ms": now_ms}) if row[0] != but]
        seized = {each for each in lapsed if self._one("seize_lease", instance_id=each) is not None}
        if not seized:
            return seized
        return seized & {row[0] for row in self.rows("lapsed_instances", {"now_ms": now_ms})}  # or it has come back

    def end_leases(self, instances: Iterable[int]) -> None:
        """Say that instances hold nothing any more."""
        self.rows("end_leases", {"instances": sorted(instances)})

    def stop_instance(self, instance_id: int, now_ms: int, lease_until_ms: int | None) -> None:
        """Say that an instance has stopped, and whether it may still hold something."""
        params = {"now_ms": now_ms, "lease_until_ms": lease_until_ms}
        self.rows("stop_instance", {"instance_id": instance_id, **params})

    def live_instances(self, since_ms: int) -> int:
        """Count the instances that have been heard of since a moment."""
        found = self._one("live_instances", since_ms=since_ms)
        return 0 if found is None else int(found[0])

    def instances(self, namespace: str, limit: int) -> list[InstanceRow]:
        """Return engines, and the workers of a namespace, the newest first."""
        params = {"namespace": namespace, "limit": limit}
        return [InstanceRow._make(row) for row in self.rows("instances_page", params)]

    def expire_instances(self, before_ms: int) -> None:
        """Forget instances that have been silent since a moment."""
        self.rows("expire_instances", {"before_ms": before_ms})
