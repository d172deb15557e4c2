"""The statements of a transaction: one method for each, typed, on top of the four things that a driver can do.

Every write names what it expects (key, state, fence); rows that are not as expected are not touched, and the caller
is told which were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foliot.model.backfill import BackfillRow
from foliot.model.dial import Dial, DialRow, Span, StepRow
from foliot.model.rows import (
    AuditRow,
    CalendarRow,
    DefinitionRow,
    DueNow,
    HeldRun,
    InstanceRow,
    RequestRow,
    ScheduleFilter,
    ScheduleRow,
    VersionRow,
    WorkflowRow,
)
from foliot.model.run import RunChange, RunId, RunRow, StartRow

Params = Mapping[str, Any]
FAR_S = 1 << 40
"""Later than any nominal time: where a list that is read backwards begins."""


class Statements(ABC):
    """The statements of the ``.sql`` files, by the same names."""

    # --- what a driver provides -----------------------------------------------------------------------------------

    @abstractmethod
    def now_ms(self) -> int:
        """Return the database's clock, in milliseconds since the epoch."""

    @abstractmethod
    def notify(self) -> None:
        """Wake every engine once this transaction has committed."""

    @abstractmethod
    def rows(self, name: str, params: Params) -> list[tuple[Any, ...]]:
        """Send one statement and return its rows."""

    @abstractmethod
    def many(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        """Send one statement for many rows and return how many it changed."""

    @abstractmethod
    def many_rows(self, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Send one statement for many rows and return what it returned for them."""

    def changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        """Send one guarded write for many runs, each row beginning with its id; return the runs that it changed."""
        return {RunId._make(row) for row in self.many_rows(name, rows)}

    def _one(self, name: str, /, **params: Any) -> tuple[Any, ...] | None:
        found = self.rows(name, params)
        return found[0] if found else None

    # --- dials ----------------------------------------------------------------------------------------------------

    def claim_due(self, after_ms: int, until_ms: int, limit: int) -> list[DialRow]:
        """Lock dials that are due between two moments, the oldest first, passing over those that others hold."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return self.rows("claim_due", params)

    def coming_dials(self, after_ms: int, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return schedule and version of dials that will be due between two moments, without locking them."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return [(row[0], row[1]) for row in self.rows("coming_dials", params)]

    def lock_dials(self, keys: Iterable[int]) -> dict[int, Dial]:
        """Lock dials by key, in the order of their keys, waiting for whoever holds them."""
        return {row[0]: Dial._make(row) for row in self.rows("lock_dials", {"keys": sorted(set(keys))})}

    def read_dials(self, keys: Iterable[int]) -> dict[int, Dial]:
        """Read dials without locking them."""
        return {row[0]: Dial._make(row) for row in self.rows("read_dials", {"keys": sorted(set(keys))})}

    def insert_dial(self, dial: Dial) -> None:
        """Add the dial of a new schedule."""
        self.many("insert_dials", [dial])

    def save_dials(self, dials: Sequence[Dial]) -> None:
        """Write dials that are locked by this transaction."""
        if dials:
            self.many("save_dials", dials)

    def step_dials(self, steps: Sequence[StepRow]) -> None:
        """Move dials that are locked by this transaction past ticks that simply start."""
        if steps:
            self.many("step_dials", steps)

    def delete_dial(self, key: int) -> None:
        """Remove a dial."""
        self.rows("delete_dial", {"key": key})

    def busy_dials(self) -> list[tuple[int, int]]:
        """Return all schedules that have runs in flight, each with how many."""
        return [(row[0], row[1]) for row in self.rows("busy_dials", {})]

    def due_now(self, now_ms: int, edge_ms: int) -> DueNow:
        """Return which kinds of work are due (missed ticks are those before ``edge_ms``), and when the next is."""
        found = self._one("due_now", now_ms=now_ms, edge_ms=edge_ms)
        assert found is not None
        on_time, catch_up, planned, unleased, backfills = map(bool, found[:5])
        return DueNow(on_time, catch_up, planned, unleased, backfills, found[5])

    # --- runs -----------------------------------------------------------------------------------------------------

    def insert_runs(self, runs: Sequence[RunRow]) -> set[RunId]:
        """Add runs to the ledger; return those that were there already, which must not be launched."""
        inserted = self.many("insert_runs", runs) if runs else 0
        return self._there_already([run.id for run in runs], inserted) if inserted < len(runs) else set()

    def insert_starts(self, starts: Sequence[StartRow]) -> set[RunId]:
        """Add runs of ticks that simply start; return those that were there already, which must not be launched."""
        inserted = self.many("insert_starts", starts) if starts else 0
        if inserted == len(starts):
            return set()
        return self._there_already([RunId(start[0], start[1]) for start in starts], inserted)

    def _there_already(self, runs: Sequence[RunId], inserted: int) -> set[RunId]:
        # The last column tells in which order the rows came: the newest are those that were just added.
        found = sorted(self.many_rows("existing_runs", sorted(set(runs))), key=lambda row: row[3])
        return {RunId._make(row[:3]) for row in found[: len(found) - inserted]}

    def settle_runs(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to runs in flight; return the runs whose fence still held."""
        return self._changed("settle_runs", changes)

    def release_runs(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to waiting runs; return the runs that were still waiting."""
        return self._changed("release_runs", changes)

    def mark_started(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Say that runs are executing; return those that are still ours."""
        return self._changed("mark_started", [(*run, now_ms) for run in held])

    def expose_runs(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Let anybody pick up runs whose owner's lease is over; return which they were."""
        return self._changed("expose_runs", [(*run, now_ms) for run in held])

    def hand_back(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """End leases now, so that somebody else picks the runs up."""
        return self._changed("hand_back", [(*run, now_ms) for run in held])

    def check_runs(self, held: Sequence[HeldRun]) -> dict[RunId, bool]:
        """Return which runs are still ours, and whether each is to be cancelled."""
        if not held:
            return {}
        return {RunId(*row[:3]): bool(row[3]) for row in self.many_rows("check_runs", held)}

    def claim_runs(self, owner: int, now_ms: int, queues: Sequence[str], limit: int) -> list[RunRow]:
        """Take runs that nobody holds; their attempt counts one more."""
        return self._runs("claim_runs", owner=owner, now_ms=now_ms, queues=list(queues), limit=limit)

    def adopt_runs(self, owner: int, held: Sequence[HeldRun]) -> list[RunRow]:
        """Begin anew with runs that are ours by the ledger; their attempt counts one more."""
        return self._found("adopt_runs", [(*run, owner) for run in held])

    def in_flight_of(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Return the runs in flight of schedules, each with how many it has."""
        return self._found("in_flight_of", busy)

    def due_planned(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return planned runs whose time has come, without locking anything."""
        return self._runs("due_planned", now_ms=now_ms, limit=limit)

    def planned_of(self, keys: Iterable[int], now_ms: int) -> list[RunRow]:
        """Return the planned runs of locked schedules whose time has come."""
        return self._runs("planned_of", keys=sorted(set(keys)), now_ms=now_ms)

    def waiting_of(self, keys: Iterable[int], limit: int) -> list[RunRow]:
        """Return the buffered runs of locked schedules in the order in which they may start, some of each."""
        return self._runs("waiting_of", keys=sorted(set(keys)), limit=limit)

    def queued_of(self, key: int, limit: int) -> list[RunRow]:
        """Return the runs of a schedule that wait."""
        return self._runs("queued_of", key=key, limit=limit)

    def supersede_runs(self, keys: Iterable[int], now_ms: int) -> list[int]:
        """Skip what waits under the schedules' own policy; return the schedule of each run."""
        return [row[0] for row in self.rows("supersede_runs", {"keys": sorted(set(keys)), "now_ms": now_ms})]

    def drop_waiting(self, key: int, reason: str, now_ms: int) -> int:
        """Skip everything of a schedule that waits; return how much that was."""
        return len(self.rows("drop_waiting", {"key": key, "reason": reason, "now_ms": now_ms}))

    def cancel_runs(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Ask for the cancellation of everything in flight of schedules, each with how much that is."""
        return self._found("cancel_runs", busy)

    def terminate_runs(self, busy: Sequence[tuple[int, int]], now_ms: int) -> list[RunRow]:
        """End everything in flight by force, of schedules, each with how much that is."""
        return self._found("terminate_runs", [(*each, now_ms) for each in busy])

    def hold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Let due planned runs wait until their schedule is resumed."""
        self.rows("hold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def unhold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Let planned runs that were held come due again."""
        self.rows("unhold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def held_for_target(self, namespace: str, kind: str, target: str) -> list[int]:
        """Return the schedules whose runs wait for a paused workflow or queue."""
        return [
            row[0] for row in self.rows("held_for_target", {"namespace": namespace, "kind": kind, "target": target})
        ]

    def zombie_runs(self, silent_since_ms: int, limit: int) -> list[RunRow]:
        """Return runs whose owner has been silent since a moment."""
        return self._runs("zombie_runs", silent_since_ms=silent_since_ms, limit=limit)

    def runs_page(
        self, key: int, before: tuple[int, int], limit: int, state: str | None = None, source: str | None = None
    ) -> list[RunRow]:
        """Return the runs of a schedule before a nominal time and origin, the newest first."""
        params = {"key": key, "before_s": before[0], "before_origin": before[1], "state": state, "source": source}
        return self._runs("runs_page", limit=limit, **params)

    def run_by_id(self, run: RunId) -> RunRow | None:
        """Return one run."""
        found = self._runs("run_by_id", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin)
        return found[0] if found else None

    def ticks_of(self, key: int, after_s: int, until_s: int, limit: int) -> list[RunRow]:
        """Return what became of a schedule's own ticks in a range, in order."""
        return self._runs("ticks_of", key=key, after_s=after_s, until_s=until_s, limit=limit)

    def count_open(self, key: int) -> tuple[int, int]:
        """Count the runs of a schedule that are in flight, and that wait."""
        found = self._one("count_open", key=key)
        assert found is not None
        return found[0], found[1]

    def expire_runs(self, before_ms: int, limit: int) -> None:
        """Forget runs that ended before a moment."""
        self.rows("expire_runs", {"before_ms": before_ms, "limit": limit})

    def insert_spans(self, spans: Sequence[Span]) -> None:
        """Add spans to the ledger."""
        if spans:
            self.many("insert_spans", spans)

    def spans_of(self, key: int, after_s: int, until_s: int, limit: int) -> list[Span]:
        """Return the spans of a schedule that meet a range, the newest first."""
        params = {"key": key, "after_s": after_s, "until_s": until_s, "limit": limit}
        return [Span._make(row) for row in self.rows("spans_of", params)]

    def _runs(self, name: str, /, **params: Any) -> list[RunRow]:
        return [RunRow._make(row) for row in self.rows(name, params)]

    def _found(self, name: str, rows: Sequence[Sequence[Any]]) -> list[RunRow]:
        return [RunRow._make(row) for row in self.many_rows(name, rows)] if rows else []

    def _changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        return self.changed(name, rows) if rows else set()

    # --- schedules ------------------------------------------------------------------------------------------------

    def schedule_by_id(self, namespace: str, schedule_id: str) -> ScheduleRow | None:
        """Return one schedule."""
        found = self._one("schedule_by_id", namespace=namespace, schedule_id=schedule_id)
        return None if found is None else ScheduleRow._make(found)

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
        params = {"namespace": namespace, "after_id": after_id, "limit": limit, **wanted._asdict()}
        return [ScheduleRow._make(row) for row in self.rows("schedules_page", params)]

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

    def definitions(self, pairs: Sequence[tuple[int, int]]) -> list[DefinitionRow]:
        """Return versions by schedule and number, as an engine needs them."""
        found = self.rows("definitions", {"pairs": [list(pair) for pair in pairs]})
        return [DefinitionRow._make(row) for row in found]

    def purgeable(self, before_s: int, before_ms: int, limit: int) -> list[int]:
        """Return closed schedules that may be forgotten."""
        params = {"before_s": before_s, "before_ms": before_ms, "limit": limit}
        return [row[0] for row in self.rows("purgeable", params)]

    def purge(self, key: int) -> None:
        """Forget everything about a schedule but its audit."""
        for name in ("purge_runs", "purge_spans", "purge_backfills", "purge_versions", "forget_calendar_uses"):
            self.rows(name, {"key": key})
        self.rows("delete_dial", {"key": key})
        self.rows("delete_schedule", {"key": key})

    def planned_zones(self) -> list[str]:
        """Return the zone tables that schedules were planned with, each once."""
        return [row[0] for row in self.rows("planned_zones", {})]

    def schedules_in_zone(self, zones: str, limit: int) -> list[int]:
        """Return some schedules that were planned with the same zone tables."""
        return [row[0] for row in self.rows("schedules_in_zone", {"zones": zones, "limit": limit})]

    # --- the smaller tables ---------------------------------------------------------------------------------------

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

    def insert_audit(self, row: AuditRow) -> None:
        """Add an audit row; its number is given by the store."""
        self.rows("insert_audit", row._asdict())

    def audit_page(self, namespace: str, schedule_id: str, before_number: int, limit: int) -> list[AuditRow]:
        """Return audit rows of a schedule, the newest first."""
        params = {"namespace": namespace, "schedule_id": schedule_id, "before_number": before_number, "limit": limit}
        return [AuditRow._make(row) for row in self.rows("audit_page", params)]

    def request(self, namespace: str, request_id: str) -> RequestRow | None:
        """Return what a request id was answered."""
        found = self._one("request_by_id", namespace=namespace, request_id=request_id)
        return None if found is None else RequestRow._make(found)

    def insert_request(self, namespace: str, request_id: str, row: RequestRow, now_ms: int) -> None:
        """Remember the answer to a request id."""
        params = {"namespace": namespace, "request_id": request_id, "created_ms": now_ms}
        self.rows("insert_request", {**params, **row._asdict()})

    def expire_requests(self, before_ms: int) -> None:
        """Forget answers that were given before a moment."""
        self.rows("expire_requests", {"before_ms": before_ms})

    def insert_instance(self, name: str, release: str, now_ms: int, lease_until_ms: int) -> int:
        """Register an instance and return its number."""
        found = self._one("insert_instance", name=name, release=release, now_ms=now_ms, lease_until_ms=lease_until_ms)
        assert found is not None
        return int(found[0])

    def beat(self, instance_id: int, now_ms: int, skew_ms: int, lease_until_ms: int) -> bool:
        """Say that an instance is alive, and prolong its lease; return whether it still had one."""
        params = {"now_ms": now_ms, "skew_ms": skew_ms, "lease_until_ms": lease_until_ms}
        return self._one("beat", instance_id=instance_id, **params) is not None

    def hold_lease(self, instance_id: int) -> bool:
        """Return whether an instance has its lease still; nobody can take it away before this transaction is over."""
        return self._one("hold_lease", instance_id=instance_id) is not None

    def lapsed_instances(self, now_ms: int) -> list[int]:
        """Return, and lock, the instances whose lease is over."""
        return [row[0] for row in self.rows("lapsed_instances", {"now_ms": now_ms})]

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

    def instances(self, limit: int) -> list[InstanceRow]:
        """Return instances, the newest first."""
        return [InstanceRow._make(row) for row in self.rows("instances_page", {"limit": limit})]

    def expire_instances(self, before_ms: int) -> None:
        """Forget instances that have been silent since a moment."""
        self.rows("expire_instances", {"before_ms": before_ms})
