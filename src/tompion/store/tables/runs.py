"""Runs: the ledger of ticks, triggers and backfill times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tompion.model.rows import HeldRun
from tompion.model.run import FinishRow, RunChange, RunId, RunRow, StartRow
from tompion.store.driver_transaction import DriverTransaction


class RunTable(DriverTransaction):
    """Runs: the ledger of ticks, triggers and backfill times."""

    def run_insert(self, runs: Sequence[RunRow]) -> set[RunId]:
        """Add runs to the ledger. Return those that existed already, which must not be launched."""
        inserted = self.execute_many("run_insert", runs) if runs else 0
        return self._existing([run.id for run in runs], inserted) if inserted < len(runs) else set()

    def run_insert_fast(self, starts: Sequence[StartRow]) -> set[RunId]:
        """Add runs of ticks that start on time. Return those that existed already, which must not be launched."""
        inserted = self.execute_many("run_insert_fast", starts) if starts else 0
        if inserted == len(starts):
            return set()
        return self._existing([RunId(start[0], start[1]) for start in starts], inserted)

    def run_settle(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to runs in flight. Return the runs whose fence still matched."""
        return self._changed("run_settle", changes)

    def run_finish_fast(self, runs: Sequence[FinishRow]) -> set[RunId]:
        """Complete runs that succeeded without a result. Return the runs whose fence still matched."""
        return self._changed("run_finish_fast", runs)

    def run_release_waiting(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to waiting runs. Return the runs that were still waiting."""
        return self._changed("run_release_waiting", changes)

    def run_mark_started(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Mark runs as started. Return those whose fence still matched."""
        return self._changed("run_mark_started", [(*run, now_ms) for run in held])

    def run_release_expired(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Make runs claimable whose owner's lease has expired. Return those that changed."""
        return self._changed("run_release_expired", [(*run, now_ms) for run in held])

    def run_hand_back(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Release runs, so that another instance claims them."""
        return self._changed("run_hand_back", [(*run, now_ms) for run in held])

    def run_check_held(self, held: Sequence[HeldRun]) -> dict[RunId, bool]:
        """Return the runs whose fence still matches, each with whether its cancellation was requested."""
        if not held:
            return {}
        return {RunId(*row[:3]): bool(row[3]) for row in self.execute_many_returning("run_check_held", held)}

    def run_save_report(self, reports: Sequence[tuple[int, int, int, int, str]], now_ms: int) -> set[RunId]:
        """Store outcomes that were reported from outside. Return the runs whose fence still matched."""
        return self._changed("run_save_report", [(*report, now_ms) for report in reports])

    def run_renew_remote(
        self, held: Sequence[HeldRun], now_ms: int, until_ms: int, progress: str | None
    ) -> list[RunRow]:
        """Record heartbeats of runs on remote workers. Return the runs whose fence still matched."""
        return self._many_runs("run_renew_remote", [(*run, now_ms, until_ms, progress) for run in held])

    def run_list_reported(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return runs on remote workers that were reported as finished or had no heartbeat in time."""
        return self._runs("run_list_reported", now_ms=now_ms, limit=limit)

    def run_reset_remote(self, held: Sequence[HeldRun]) -> set[RunId]:
        """Make runs of silent remote workers claimable again."""
        return self._changed("run_reset_remote", held)

    def run_request_cancel(self, run: RunId, now_ms: int) -> RunRow | None:
        """Request the cancellation of a run in flight and return it, or ``None`` if it has ended."""
        runs = self._runs(
            "run_request_cancel", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin, now_ms=now_ms
        )
        return runs[0] if runs else None

    def run_request_end(self, run: RunId, now_ms: int) -> None:
        """Make a run on a remote target due, so that an engine requests its end there."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        self.rows("run_request_end", {**params, "now_ms": now_ms})

    def run_clear_due(self, runs: Iterable[RunId]) -> None:
        """Clear the due time of terminated runs."""
        for run in runs:
            self.rows("run_clear_due", {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin})

    def run_mark_end_requested(self, held: Sequence[HeldRun], until_ms: int) -> None:
        """Record that the targets of runs were requested to end them, and when to check again."""
        for key, nominal_s, origin, fence in held:
            params = {"key": key, "nominal_s": nominal_s, "origin": origin, "fence": fence, "until_ms": until_ms}
            self.rows("run_mark_end_requested", params)

    def run_drop(self, run: RunId, reason: str, now_ms: int) -> RunRow | None:
        """Cancel a waiting run and return it, or ``None`` if it no longer waits."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        runs = self._runs("run_drop", reason=reason, now_ms=now_ms, **params)
        return runs[0] if runs else None

    def queue_list_waiting(self, namespace: str, now_ms: int) -> list[tuple[str, int, int]]:
        """Return the queues of a namespace with unclaimed runs: name, number, and since when."""
        return [
            (row[0], row[1], row[2])
            for row in self.rows("queue_list_waiting", {"namespace": namespace, "now_ms": now_ms})
        ]

    def queue_list_held(self, namespace: str) -> list[tuple[str, int, int]]:
        """Return the queues whose runs wait for a paused queue or workflow: name, number, and since when."""
        return [(row[0], row[1], row[2]) for row in self.rows("queue_list_held", {"namespace": namespace})]

    def run_readopt(self, owner: int, held: Sequence[HeldRun]) -> list[RunRow]:
        """Start a new attempt of runs that this instance owns according to the ledger."""
        return self._many_runs("run_readopt", [(*run, owner) for run in held])

    def run_list_in_flight(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Return the runs in flight of schedules. Each schedule comes with its number of them."""
        return self._many_runs("run_list_in_flight", busy)

    def run_list_planned_due(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return planned runs that are due, without locking."""
        return self._runs("run_list_planned_due", now_ms=now_ms, limit=limit)

    def run_list_planned(self, keys: Iterable[int], now_ms: int) -> list[RunRow]:
        """Return the planned runs of locked schedules that are due."""
        return self._runs("run_list_planned", keys=sorted(set(keys)), now_ms=now_ms)

    def run_list_buffered(self, keys: Iterable[int], limit: int) -> list[RunRow]:
        """Return the buffered runs of locked schedules in start order, up to ``limit`` of each schedule."""
        return self._runs("run_list_buffered", keys=sorted(set(keys)), limit=limit)

    def run_list_waiting(self, key: int, limit: int) -> list[RunRow]:
        """Return the waiting runs of a schedule."""
        return self._runs("run_list_waiting", key=key, limit=limit)

    def run_supersede(self, waiting: Sequence[tuple[int, str | None]], now_ms: int) -> list[RunRow]:
        """Skip buffered runs of schedules with a given overlap policy (``None`` for ticks) and return them."""
        return self._many_runs("run_supersede", [(*schedule, now_ms) for schedule in waiting])

    def run_drop_waiting(self, key: int, reason: str, now_ms: int) -> int:
        """Skip all waiting runs of a schedule and return how many."""
        return len(self.rows("run_drop_waiting", {"key": key, "reason": reason, "now_ms": now_ms}))

    def run_give_up_unheld(self, busy: Sequence[tuple[int, int]], reason: str, now_ms: int) -> list[RunRow]:
        """Cancel the runs in flight of schedules that no live instance holds and return them."""
        return self._many_runs("run_give_up_unheld", [(*schedule, reason, now_ms) for schedule in busy])

    def run_cancel_in_flight(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Request the cancellation of all runs in flight of schedules and return them."""
        return self._many_runs("run_cancel_in_flight", busy)

    def run_terminate_in_flight(self, busy: Sequence[tuple[int, int]], now_ms: int) -> list[RunRow]:
        """Terminate all runs in flight of schedules and return them."""
        return self._many_runs("run_terminate_in_flight", [(*schedule, now_ms) for schedule in busy])

    def run_hold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Hold due planned runs until their schedule is resumed."""
        self.rows("run_hold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def run_unhold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Make planned runs that were held due again."""
        self.rows("run_unhold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def run_postpone_planned(self, keys: Iterable[int], now_ms: int, until_ms: int) -> None:
        """Make due planned runs of schedules due at a later time."""
        self.rows("run_postpone_planned", {"keys": sorted(set(keys)), "now_ms": now_ms, "until_ms": until_ms})

    def run_list_held_for_target(self, namespace: str, kind: str, target: str) -> list[int]:
        """Return the schedules whose runs wait for a paused workflow or queue."""
        return [
            row[0]
            for row in self.rows("run_list_held_for_target", {"namespace": namespace, "kind": kind, "target": target})
        ]

    def run_list_zombies(self, silent_since_ms: int, limit: int) -> list[RunRow]:
        """Return runs whose owner has sent no heartbeat since a time."""
        return self._runs("run_list_zombies", silent_since_ms=silent_since_ms, limit=limit)

    def run_list_page(
        self, key: int, before: tuple[int, int], limit: int, state: str | None = None, source: str | None = None
    ) -> list[RunRow]:
        """Return the runs of a schedule before a nominal time and origin, newest first."""
        params = {"key": key, "before_s": before[0], "before_origin": before[1], "state": state, "source": source}
        return self._runs("run_list_page", limit=limit, **params)

    def run_list_started(self, key: int, limit: int, look_at: int) -> list[RunRow]:
        """Return the latest started runs of a schedule: up to ``limit`` ticks and up to ``limit`` requests."""
        params = {"key": key, "limit": limit, "look_at": look_at}
        return self._runs("run_list_started_ticks", **params) + self._runs("run_list_started_requests", **params)

    def run_list_recent(
        self, namespace: str, before_number: int, least_number: int, limit: int, state: str | None = None
    ) -> list[tuple[int, RunRow]]:
        """Return the runs of a namespace between two numbers, newest first, each with its number."""
        params = {"before_number": before_number, "least_number": least_number, "state": state, "limit": limit}
        return _with_numbers(self.rows("run_list_recent", {"namespace": namespace, **params}))

    def run_list_latest_decided(
        self, namespace: str, since_ms: int, least_number: int, limit: int
    ) -> list[tuple[int, str, int, int | None]]:
        """Return decision time, state, fire time and start of the newest runs of a namespace."""
        params = {"namespace": namespace, "since_ms": since_ms, "least_number": least_number, "limit": limit}
        return [(row[0], row[1], row[2], row[3]) for row in self.rows("run_list_latest_decided", params)]

    def run_first_decided_from(self, least_number: int) -> int | None:
        """Return the decision time of the first run from a number on."""
        row = self._one("run_first_decided_from", least_number=least_number)
        return None if row is None else int(row[0])

    def run_count_missed(self, namespace: str, since_ms: int, limit: int) -> list[tuple[str, int, int]]:
        """Return the schedules that missed ticks, the number of ticks, and the time of the last decision."""
        rows = self.rows("run_count_missed", {"namespace": namespace, "since_ms": since_ms, "limit": limit})
        return [(row[0], int(row[1]), row[2]) for row in rows]

    def run_last_number(self) -> int:
        """Return the number of the newest run."""
        return int(self.rows("run_last_number", {})[0][0])

    def run_list_after(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the runs of all namespaces after a number, oldest first, each with its number."""
        return _with_numbers(self.rows("run_list_after", {"after_number": after_number, "limit": limit}))

    def run_list_open_after(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the open runs of all namespaces after a number, newest first."""
        return _with_numbers(self.rows("run_list_open_after", {"after_number": after_number, "limit": limit}))

    def run_list_by_number(self, numbers: Iterable[int]) -> list[tuple[int, RunRow]]:
        """Return runs by their numbers."""
        return _with_numbers(self.rows("run_list_by_number", {"numbers": sorted(numbers)}))

    def run_get(self, run: RunId) -> RunRow | None:
        """Return one run."""
        runs = self._runs("run_get", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin)
        return runs[0] if runs else None

    def run_list_tick_states(self, key: int, ticks: Sequence[int]) -> dict[int, set[str]]:
        """Return the states of ticks: of the schedule's own runs and of backfill runs."""
        states: dict[int, set[str]] = {}
        for nominal_s, state in (
            self.execute_many_returning("run_list_tick_states", [(key, tick) for tick in ticks]) if ticks else ()
        ):
            states.setdefault(nominal_s, set()).add(state)
        return states

    def run_count_open(self, key: int) -> tuple[int, int]:
        """Count the runs of a schedule that are in flight and that wait."""
        row = self._one("run_count_open", key=key)
        assert row is not None
        return row[0], row[1]

    def run_count_by_state(self, key: int) -> dict[str, int]:
        """Count the runs of a schedule by state. ``unbegun`` counts cancelled runs that never started."""
        return {row[0]: int(row[1]) for row in self.rows("run_count_by_state", {"key": key})}

    def run_expire(self, after_number: int, before_ms: int, limit: int) -> int | None:
        """Delete runs that ended before a time among the next ``limit`` rows. Return where to continue, if needed."""
        rows = self.rows("run_list_oldest", {"after_number": after_number, "limit": limit})
        if not rows:
            return None
        last: int = rows[-1][0]
        params = {"after_number": after_number, "until_number": last, "before_ms": before_ms}
        self.rows("run_expire", params)
        return last if len(rows) == limit and rows[-1][1] < before_ms else None

    def queue_count_depths(self, now_ms: int, max_rows: int) -> list[tuple[str, int, int]]:
        """Return the queues of all namespaces with unclaimed runs: name, number, and since when."""
        return [
            (row[0], row[1], row[2])
            for row in self.rows("queue_count_depths", {"now_ms": now_ms, "max_rows": max_rows})
        ]

    def run_list_fire_times(self, runs: Iterable[RunId]) -> dict[RunId, int]:
        """Return the fire times of runs."""
        wanted = sorted(set(runs))
        return (
            {RunId._make(row[:3]): row[3] for row in self.execute_many_returning("run_list_fire_times", wanted)}
            if wanted
            else {}
        )

    def _existing(self, runs: Sequence[RunId], inserted: int) -> set[RunId]:
        # The last column sorts the rows in insertion order, so the rows that this call inserted come last.
        rows = sorted(self.execute_many_returning("run_list_existing", sorted(set(runs))), key=lambda row: row[3])
        return {RunId._make(row[:3]) for row in rows[: len(rows) - inserted]}

    def _runs(self, name: str, /, **params: Any) -> list[RunRow]:
        return [RunRow._make(row) for row in self.rows(name, params)]

    def _many_runs(self, name: str, rows: Sequence[Sequence[Any]]) -> list[RunRow]:
        return [RunRow._make(row) for row in self.execute_many_returning(name, rows)] if rows else []

    def _changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        return self.change_runs(name, rows) if rows else set()


def _with_numbers(rows: list[tuple[Any, ...]]) -> list[tuple[int, RunRow]]:
    return [(row[0], RunRow._make(row[1:])) for row in rows]
