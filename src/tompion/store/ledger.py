"""The statements about dials and runs, which every tick needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tompion.model.rows import DueNow, HeldRun, SpecGroupRow
from tompion.model.run import FinishRow, RunChange, RunId, RunRow, StartRow
from tompion.model.schedule_state import DroppedRange, FastAdvanceRow, ScheduleState, StateTuple, SuccessCountRow
from tompion.store.sending import DriverTransaction

SMALL_NAMESPACE = 1_000
"""So many schedules of a namespace are looked at one by one; beyond that, what all namespaces do next is."""


class LedgerStatements(DriverTransaction):
    """Dials, runs and spans."""

    # --- dials ----------------------------------------------------------------------------------------------------

    def claim_due(self, after_ms: int, until_ms: int, limit: int) -> list[StateTuple]:
        """Lock dials that are due between two moments, the oldest first, passing over those that others hold."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return self.rows("claim_due", params)

    def coming_dials(self, after_ms: int, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return schedule and version of dials that will be due between two moments, without locking them."""
        params = {"after_ms": after_ms, "until_ms": until_ms, "limit": limit}
        return [(row[0], row[1]) for row in self.rows("coming_dials", params)]

    def coming_in_namespace(self, namespace: str, until_ms: int, limit: int) -> list[tuple[int, int]]:
        """Return the schedules of a namespace that are looked at until a moment, the first one first, and when."""
        params = {"namespace": namespace, "until_ms": until_ms, "limit": limit}
        size = self.rows("namespace_size", {"namespace": namespace, "limit": SMALL_NAMESPACE + 1})[0][0]
        name = "coming_in_namespace" if size > SMALL_NAMESPACE else "coming_in_small_namespace"
        return [(row[0], row[1]) for row in self.rows(name, params)]

    def next_fires(
        self, namespace: str, since_ms: int, until_ms: int, length_ms: int, most: int
    ) -> list[tuple[int, int]]:
        """Return how many schedules fire next in which stretch of time; what is overdue is in the first."""
        params = {"namespace": namespace, "since_ms": since_ms, "until_ms": until_ms, "length_ms": length_ms}
        return [(int(row[0]), int(row[1])) for row in self.rows("next_fires", {**params, "most": most})]

    def kinds_of_fires(self, namespace: str, until_ms: int, most: int, step: int, limit: int) -> list[SpecGroupRow]:
        """Return the specs of schedules that fire next, the most frequent first; those of fixed delays are none.

        Only every so many-th schedule is looked at, by its key.
        """
        params = {"namespace": namespace, "until_ms": until_ms, "most": most, "step": step, "limit": limit}
        return [SpecGroupRow._make(row) for row in self.rows("kinds_of_fires", params)]

    def lock_dials(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Lock dials by key, in the order of their keys, waiting for whoever holds them."""
        return {key: ScheduleState._make(row) for key, row in self.lock_dial_rows(keys).items()}

    def lock_dial_rows(self, keys: Iterable[int]) -> dict[int, StateTuple]:
        """Lock dials by key, and leave them as they were read."""
        return {row[0]: row for row in self.rows("lock_dials", {"keys": sorted(set(keys))})}

    def read_dials(self, keys: Iterable[int]) -> dict[int, ScheduleState]:
        """Read dials without locking them."""
        return {row[0]: ScheduleState._make(row) for row in self.rows("read_dials", {"keys": sorted(set(keys))})}

    def insert_dial(self, dial: ScheduleState) -> None:
        """Add the dial of a new schedule."""
        self.many("insert_dials", [dial])

    def save_dials(self, dials: Sequence[ScheduleState]) -> None:
        """Write dials that are locked by this transaction."""
        if dials:
            self.many("save_dials", dials)

    def step_dials(self, steps: Sequence[FastAdvanceRow]) -> None:
        """Move dials that are locked by this transaction past ticks that simply start."""
        if steps:
            self.many("step_dials", steps)

    def tally_dials(self, tallies: Sequence[SuccessCountRow]) -> None:
        """Count runs that simply succeed, on dials that are locked by this transaction."""
        if tallies:
            self.many("tally_dials", tallies)

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

    def finish_runs(self, runs: Sequence[FinishRow]) -> set[RunId]:
        """End runs in flight that simply succeed; return the runs whose fence still held."""
        return self._changed("finish_runs", runs)

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

    def report_runs(self, reports: Sequence[tuple[int, int, int, int, str]], now_ms: int) -> set[RunId]:
        """Keep what somebody elsewhere says of the end of runs, each with its fence; return those whose fence held."""
        return self._changed("report_runs", [(*each, now_ms) for each in reports])

    def renew_runs(self, held: Sequence[HeldRun], now_ms: int, until_ms: int, progress: str | None) -> list[RunRow]:
        """Note that runs are executed elsewhere, and when to worry; return those whose fence held."""
        return self._found("renew_runs", [(*run, now_ms, until_ms, progress) for run in held])

    def answered_runs(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return runs that are executed elsewhere and have ended there, or have fallen silent."""
        return self._runs("answered_runs", now_ms=now_ms, limit=limit)

    def relaunch_runs(self, held: Sequence[HeldRun]) -> set[RunId]:
        """Let runs that are executed elsewhere be anybody's again."""
        return self._changed("relaunch_runs", held)

    def claim_runs(self, owner: int, now_ms: int, queues: Sequence[str], limit: int) -> list[RunRow]:
        """Take runs that nobody holds; their attempt counts one more."""
        return self._runs("claim_runs", owner=owner, now_ms=now_ms, queues=list(queues), limit=limit)

    def take_runs(  # noqa: PLR0913 - whose runs, for whom, until when
        self, namespace: str, worker: str, now_ms: int, until_ms: int, queues: Sequence[str], limit: int
    ) -> list[RunRow]:
        """Give functions that nobody holds to a worker that is no instance; their attempt counts one more."""
        whose = {"namespace": namespace, "worker": worker, "queues": list(queues)}
        return self._runs("take_runs", now_ms=now_ms, until_ms=until_ms, limit=limit, **whose)

    def request_cancel(self, run: RunId, now_ms: int) -> RunRow | None:
        """Ask for the end of a run in flight, whoever executes it; return it, unless it is over."""
        found = self._runs(
            "request_cancel", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin, now_ms=now_ms
        )
        return found[0] if found else None

    def have_ended(self, run: RunId, now_ms: int) -> None:
        """Let an engine tell the target of a run that is executed elsewhere to end it."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        self.rows("have_ended", {**params, "now_ms": now_ms})

    def no_longer_due(self, runs: Iterable[RunId]) -> None:
        """Note that nobody has to look at runs any more that were terminated."""
        for run in runs:
            self.rows("no_longer_due", {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin})

    def asked_to_end(self, held: Sequence[HeldRun], until_ms: int) -> None:
        """Note that the targets of runs have been asked to end them, and when to look again."""
        for key, nominal_s, origin, fence in held:
            params = {"key": key, "nominal_s": nominal_s, "origin": origin, "fence": fence, "until_ms": until_ms}
            self.rows("asked_to_end", params)

    def drop_run(self, run: RunId, reason: str, now_ms: int) -> RunRow | None:
        """End a run that waits; return it, unless it does so no longer."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        found = self._runs("drop_run", reason=reason, now_ms=now_ms, **params)
        return found[0] if found else None

    def waiting_in_queues(self, namespace: str, now_ms: int) -> list[tuple[str, int, int]]:
        """Return the queues in which runs wait for somebody to take them, how many, and since when."""
        return [
            (row[0], row[1], row[2])
            for row in self.rows("waiting_in_queues", {"namespace": namespace, "now_ms": now_ms})
        ]

    def held_in_queues(self, namespace: str) -> list[tuple[str, int, int]]:
        """Return the queues whose runs wait until it, or their workflow, goes on, how many, and since when."""
        return [(row[0], row[1], row[2]) for row in self.rows("held_in_queues", {"namespace": namespace})]

    def adopt_runs(self, owner: int, held: Sequence[HeldRun]) -> list[RunRow]:
        """Begin anew with runs that are ours by the ledger; their attempt counts one more."""
        return self._found("adopt_runs", [(*run, owner) for run in held])

    def in_flight_of(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Return the runs in flight of schedules, each with how many it has."""
        return self._found("in_flight_of", busy)

    def all_in_flight(self) -> list[RunRow]:
        """Return everything in flight, as of one moment."""
        return self.in_flight_of(self.busy_dials())

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

    def supersede_runs(self, which: Sequence[tuple[int, str | None]], now_ms: int) -> list[RunRow]:
        """Skip what waits, of schedules, under their own policy or that of requests; return what that was."""
        return self._found("supersede_runs", [(*each, now_ms) for each in which])

    def drop_waiting(self, key: int, reason: str, now_ms: int) -> int:
        """Skip everything of a schedule that waits; return how much that was."""
        return len(self.rows("drop_waiting", {"key": key, "reason": reason, "now_ms": now_ms}))

    def give_up_runs(self, busy: Sequence[tuple[int, int]], reason: str, now_ms: int) -> list[RunRow]:
        """End what is in flight and held by nobody, of schedules, each with how much it has in flight."""
        return self._found("give_up_runs", [(*each, reason, now_ms) for each in busy])

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

    def put_off_planned(self, keys: Iterable[int], now_ms: int, until_ms: int) -> None:
        """Let nobody look at due planned runs of schedules before a moment."""
        self.rows("put_off_planned", {"keys": sorted(set(keys)), "now_ms": now_ms, "until_ms": until_ms})

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

    def started_runs(self, key: int, limit: int, look_at: int) -> list[RunRow]:
        """Return the latest runs of a schedule that were started: so many ticks, and so many that were asked for."""
        params = {"key": key, "limit": limit, "look_at": look_at}
        return self._runs("started_ticks", **params) + self._runs("started_requests", **params)

    def newest_runs(
        self, namespace: str, before_number: int, least_number: int, limit: int, state: str | None = None
    ) -> list[tuple[int, RunRow]]:
        """Return the runs of a namespace between two numbers, the newest first, each with its number."""
        params = {"before_number": before_number, "least_number": least_number, "state": state, "limit": limit}
        return _numbered(self.rows("newest_runs", {"namespace": namespace, **params}))

    def latest_decided(
        self, namespace: str, since_ms: int, least_number: int, limit: int
    ) -> list[tuple[int, str, int, int | None]]:
        """Return when the newest runs of a namespace were decided, their states, fire times and starts."""
        params = {"namespace": namespace, "since_ms": since_ms, "least_number": least_number, "limit": limit}
        return [(row[0], row[1], row[2], row[3]) for row in self.rows("latest_decided", params)]

    def decided_from(self, least_number: int) -> int | None:
        """Return when the first run from a number on was decided."""
        found = self._one("decided_from", least_number=least_number)
        return None if found is None else int(found[0])

    def latest_spans(self, namespace: str, since_ms: int, limit: int) -> list[tuple[int, int, str]]:
        """Return when ticks of a namespace were dropped together, how many, and why, the newest first."""
        params = {"namespace": namespace, "since_ms": since_ms, "limit": limit}
        return [(row[0], row[1], row[2]) for row in self.rows("latest_spans", params)]

    def missed_lately(self, namespace: str, since_ms: int, limit: int) -> list[tuple[str, int, int]]:
        """Return which schedules have missed ticks, how many, and when that was decided last."""
        rows = self.rows("missed_lately", {"namespace": namespace, "since_ms": since_ms, "limit": limit})
        return [(row[0], int(row[1]), row[2]) for row in rows]

    def last_run_number(self) -> int:
        """Return the number of the newest run."""
        return int(self.rows("last_run_number", {})[0][0])

    def runs_since(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the runs of all namespaces after a number, the oldest first, each with its number."""
        return _numbered(self.rows("runs_since", {"after_number": after_number, "limit": limit}))

    def open_runs_since(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the runs of all namespaces after a number that are not over, the newest first."""
        return _numbered(self.rows("open_runs_since", {"after_number": after_number, "limit": limit}))

    def runs_numbered(self, numbers: Iterable[int]) -> list[tuple[int, RunRow]]:
        """Return runs by their numbers."""
        return _numbered(self.rows("runs_numbered", {"numbers": sorted(numbers)}))

    def run_by_id(self, run: RunId) -> RunRow | None:
        """Return one run."""
        found = self._runs("run_by_id", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin)
        return found[0] if found else None

    def tick_states(self, key: int, ticks: Sequence[int]) -> dict[int, set[str]]:
        """Return the states of the runs of ticks: the schedule's own, and those of backfills."""
        found: dict[int, set[str]] = {}
        for nominal_s, state in self.many_rows("tick_states", [(key, tick) for tick in ticks]) if ticks else ():
            found.setdefault(nominal_s, set()).add(state)
        return found

    def count_open(self, key: int) -> tuple[int, int]:
        """Count the runs of a schedule that are in flight, and that wait."""
        found = self._one("count_open", key=key)
        assert found is not None
        return found[0], found[1]

    def count_states(self, key: int) -> dict[str, int]:
        """Count the runs of a schedule by their states; ``unbegun`` were cancelled before anybody began with them."""
        return {row[0]: int(row[1]) for row in self.rows("count_states", {"key": key})}

    def expire_runs(self, after_number: int, before_ms: int, limit: int) -> int | None:
        """Forget runs that ended before a moment, among so many rows; return where to go on, if that is needed."""
        found = self.rows("oldest_runs", {"after_number": after_number, "limit": limit})
        if not found:
            return None
        last: int = found[-1][0]
        params = {"after_number": after_number, "until_number": last, "before_ms": before_ms}
        self.rows("expire_runs", params)
        return last if len(found) == limit and found[-1][1] < before_ms else None

    def expire_spans(self, before_ms: int, limit: int) -> int:
        """Forget some spans that were decided before a moment; return how many."""
        return len(self.rows("expire_spans", {"before_ms": before_ms, "limit": limit}))

    def insert_spans(self, spans: Sequence[DroppedRange]) -> None:
        """Add spans to the ledger."""
        if spans:
            self.many("insert_spans", spans)

    def spans_of(self, key: int, after_s: int, until_s: int, limit: int) -> list[DroppedRange]:
        """Return the spans of a schedule that meet a range, the newest first."""
        params = {"key": key, "after_s": after_s, "until_s": until_s, "limit": limit}
        return [DroppedRange._make(row) for row in self.rows("spans_of", params)]

    def _runs(self, name: str, /, **params: Any) -> list[RunRow]:
        return [RunRow._make(row) for row in self.rows(name, params)]

    def _found(self, name: str, rows: Sequence[Sequence[Any]]) -> list[RunRow]:
        return [RunRow._make(row) for row in self.many_rows(name, rows)] if rows else []

    def _changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        return self.changed(name, rows) if rows else set()


def _numbered(rows: list[tuple[Any, ...]]) -> list[tuple[int, RunRow]]:
    return [(row[0], RunRow._make(row[1:])) for row in rows]
