"""Runs: the ledger of ticks, triggers and backfill times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tompion.model.rows import (
    HeldRun,
)
from tompion.model.run import FinishRow, RunChange, RunId, RunRow, StartRow
from tompion.store.driver_transaction import DriverTransaction


class RunTable(DriverTransaction):
    """Runs: the ledger of ticks, triggers and backfill times."""

    def run_insert(self, runs: Sequence[RunRow]) -> set[RunId]:
        """Add runs to the ledger; return those that were there already, which must not be launched."""
        inserted = self.many("run_insert", runs) if runs else 0
        return self._there_already([run.id for run in runs], inserted) if inserted < len(runs) else set()

    def run_insert_fast(self, starts: Sequence[StartRow]) -> set[RunId]:
        """Add runs of ticks that simply start; return those that were there already, which must not be launched."""
        inserted = self.many("run_insert_fast", starts) if starts else 0
        if inserted == len(starts):
            return set()
        return self._there_already([RunId(start[0], start[1]) for start in starts], inserted)

    def run_settle(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to runs in flight; return the runs whose fence still held."""
        return self._changed("run_settle", changes)

    def run_finish_fast(self, runs: Sequence[FinishRow]) -> set[RunId]:
        """End runs in flight that simply succeed; return the runs whose fence still held."""
        return self._changed("run_finish_fast", runs)

    def run_release_waiting(self, changes: Sequence[RunChange]) -> set[RunId]:
        """Write changes to waiting runs; return the runs that were still waiting."""
        return self._changed("run_release_waiting", changes)

    def run_mark_started(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Say that runs are executing; return those that are still ours."""
        return self._changed("run_mark_started", [(*run, now_ms) for run in held])

    def run_release_expired(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """Let anybody pick up runs whose owner's lease is over; return which they were."""
        return self._changed("run_release_expired", [(*run, now_ms) for run in held])

    def run_hand_back(self, held: Sequence[HeldRun], now_ms: int) -> set[RunId]:
        """End leases now, so that somebody else picks the runs up."""
        return self._changed("run_hand_back", [(*run, now_ms) for run in held])

    def run_check_held(self, held: Sequence[HeldRun]) -> dict[RunId, bool]:
        """Return which runs are still ours, and whether each is to be cancelled."""
        if not held:
            return {}
        return {RunId(*row[:3]): bool(row[3]) for row in self.many_rows("run_check_held", held)}

    def run_save_report(self, reports: Sequence[tuple[int, int, int, int, str]], now_ms: int) -> set[RunId]:
        """Keep what somebody elsewhere says of the end of runs, each with its fence; return those whose fence held."""
        return self._changed("run_save_report", [(*each, now_ms) for each in reports])

    def run_renew_remote(
        self, held: Sequence[HeldRun], now_ms: int, until_ms: int, progress: str | None
    ) -> list[RunRow]:
        """Note that runs are executed elsewhere, and when to worry; return those whose fence held."""
        return self._found("run_renew_remote", [(*run, now_ms, until_ms, progress) for run in held])

    def run_list_reported(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return runs that are executed elsewhere and have ended there, or have fallen silent."""
        return self._runs("run_list_reported", now_ms=now_ms, limit=limit)

    def run_reset_remote(self, held: Sequence[HeldRun]) -> set[RunId]:
        """Let runs that are executed elsewhere be anybody's again."""
        return self._changed("run_reset_remote", held)

    def run_claim(self, owner: int, now_ms: int, queues: Sequence[str], limit: int) -> list[RunRow]:
        """Take runs that nobody holds; their attempt counts one more."""
        return self._runs("run_claim", owner=owner, now_ms=now_ms, queues=list(queues), limit=limit)

    def run_claim_remote(  # noqa: PLR0913 - whose runs, for whom, until when
        self, namespace: str, worker: str, now_ms: int, until_ms: int, queues: Sequence[str], limit: int
    ) -> list[RunRow]:
        """Give functions that nobody holds to a worker that is no instance; their attempt counts one more."""
        whose = {"namespace": namespace, "worker": worker, "queues": list(queues)}
        return self._runs("run_claim_remote", now_ms=now_ms, until_ms=until_ms, limit=limit, **whose)

    def run_request_cancel(self, run: RunId, now_ms: int) -> RunRow | None:
        """Ask for the end of a run in flight, whoever executes it; return it, unless it is over."""
        found = self._runs(
            "run_request_cancel", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin, now_ms=now_ms
        )
        return found[0] if found else None

    def run_request_end(self, run: RunId, now_ms: int) -> None:
        """Let an engine tell the target of a run that is executed elsewhere to end it."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        self.rows("run_request_end", {**params, "now_ms": now_ms})

    def run_clear_due(self, runs: Iterable[RunId]) -> None:
        """Note that nobody has to look at runs any more that were terminated."""
        for run in runs:
            self.rows("run_clear_due", {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin})

    def run_mark_end_requested(self, held: Sequence[HeldRun], until_ms: int) -> None:
        """Note that the targets of runs have been asked to end them, and when to look again."""
        for key, nominal_s, origin, fence in held:
            params = {"key": key, "nominal_s": nominal_s, "origin": origin, "fence": fence, "until_ms": until_ms}
            self.rows("run_mark_end_requested", params)

    def run_drop(self, run: RunId, reason: str, now_ms: int) -> RunRow | None:
        """End a run that waits; return it, unless it does so no longer."""
        params = {"key": run.schedule_key, "nominal_s": run.nominal_s, "origin": run.origin}
        found = self._runs("run_drop", reason=reason, now_ms=now_ms, **params)
        return found[0] if found else None

    def queue_list_waiting(self, namespace: str, now_ms: int) -> list[tuple[str, int, int]]:
        """Return the queues in which runs wait for somebody to take them, how many, and since when."""
        return [
            (row[0], row[1], row[2])
            for row in self.rows("queue_list_waiting", {"namespace": namespace, "now_ms": now_ms})
        ]

    def queue_list_held(self, namespace: str) -> list[tuple[str, int, int]]:
        """Return the queues whose runs wait until it, or their workflow, goes on, how many, and since when."""
        return [(row[0], row[1], row[2]) for row in self.rows("queue_list_held", {"namespace": namespace})]

    def run_readopt(self, owner: int, held: Sequence[HeldRun]) -> list[RunRow]:
        """Begin anew with runs that are ours by the ledger; their attempt counts one more."""
        return self._found("run_readopt", [(*run, owner) for run in held])

    def run_list_in_flight(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Return the runs in flight of schedules, each with how many it has."""
        return self._found("run_list_in_flight", busy)

    def run_list_planned_due(self, now_ms: int, limit: int) -> list[RunRow]:
        """Return planned runs whose time has come, without locking anything."""
        return self._runs("run_list_planned_due", now_ms=now_ms, limit=limit)

    def run_list_planned(self, keys: Iterable[int], now_ms: int) -> list[RunRow]:
        """Return the planned runs of locked schedules whose time has come."""
        return self._runs("run_list_planned", keys=sorted(set(keys)), now_ms=now_ms)

    def run_list_buffered(self, keys: Iterable[int], limit: int) -> list[RunRow]:
        """Return the buffered runs of locked schedules in the order in which they may start, some of each."""
        return self._runs("run_list_buffered", keys=sorted(set(keys)), limit=limit)

    def run_list_waiting(self, key: int, limit: int) -> list[RunRow]:
        """Return the runs of a schedule that wait."""
        return self._runs("run_list_waiting", key=key, limit=limit)

    def run_supersede(self, which: Sequence[tuple[int, str | None]], now_ms: int) -> list[RunRow]:
        """Skip what waits, of schedules, under their own policy or that of requests; return what that was."""
        return self._found("run_supersede", [(*each, now_ms) for each in which])

    def run_drop_waiting(self, key: int, reason: str, now_ms: int) -> int:
        """Skip everything of a schedule that waits; return how much that was."""
        return len(self.rows("run_drop_waiting", {"key": key, "reason": reason, "now_ms": now_ms}))

    def run_give_up_unheld(self, busy: Sequence[tuple[int, int]], reason: str, now_ms: int) -> list[RunRow]:
        """End what is in flight and held by nobody, of schedules, each with how much it has in flight."""
        return self._found("run_give_up_unheld", [(*each, reason, now_ms) for each in busy])

    def run_cancel_in_flight(self, busy: Sequence[tuple[int, int]]) -> list[RunRow]:
        """Ask for the cancellation of everything in flight of schedules, each with how much that is."""
        return self._found("run_cancel_in_flight", busy)

    def run_terminate_in_flight(self, busy: Sequence[tuple[int, int]], now_ms: int) -> list[RunRow]:
        """End everything in flight by force, of schedules, each with how much that is."""
        return self._found("run_terminate_in_flight", [(*each, now_ms) for each in busy])

    def run_hold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Let due planned runs wait until their schedule is resumed."""
        self.rows("run_hold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def run_unhold_planned(self, keys: Iterable[int], now_ms: int) -> None:
        """Let planned runs that were held come due again."""
        self.rows("run_unhold_planned", {"keys": sorted(set(keys)), "now_ms": now_ms})

    def run_postpone_planned(self, keys: Iterable[int], now_ms: int, until_ms: int) -> None:
        """Let nobody look at due planned runs of schedules before a moment."""
        self.rows("run_postpone_planned", {"keys": sorted(set(keys)), "now_ms": now_ms, "until_ms": until_ms})

    def run_list_held_for_target(self, namespace: str, kind: str, target: str) -> list[int]:
        """Return the schedules whose runs wait for a paused workflow or queue."""
        return [
            row[0]
            for row in self.rows("run_list_held_for_target", {"namespace": namespace, "kind": kind, "target": target})
        ]

    def run_list_zombies(self, silent_since_ms: int, limit: int) -> list[RunRow]:
        """Return runs whose owner has been silent since a moment."""
        return self._runs("run_list_zombies", silent_since_ms=silent_since_ms, limit=limit)

    def run_list_page(
        self, key: int, before: tuple[int, int], limit: int, state: str | None = None, source: str | None = None
    ) -> list[RunRow]:
        """Return the runs of a schedule before a nominal time and origin, the newest first."""
        params = {"key": key, "before_s": before[0], "before_origin": before[1], "state": state, "source": source}
        return self._runs("run_list_page", limit=limit, **params)

    def run_list_started(self, key: int, limit: int, look_at: int) -> list[RunRow]:
        """Return the latest runs of a schedule that were started: so many ticks, and so many that were asked for."""
        params = {"key": key, "limit": limit, "look_at": look_at}
        return self._runs("run_list_started_ticks", **params) + self._runs("run_list_started_requests", **params)

    def run_list_recent(
        self, namespace: str, before_number: int, least_number: int, limit: int, state: str | None = None
    ) -> list[tuple[int, RunRow]]:
        """Return the runs of a namespace between two numbers, the newest first, each with its number."""
        params = {"before_number": before_number, "least_number": least_number, "state": state, "limit": limit}
        return _numbered(self.rows("run_list_recent", {"namespace": namespace, **params}))

    def run_list_latest_decided(
        self, namespace: str, since_ms: int, least_number: int, limit: int
    ) -> list[tuple[int, str, int, int | None]]:
        """Return when the newest runs of a namespace were decided, their states, fire times and starts."""
        params = {"namespace": namespace, "since_ms": since_ms, "least_number": least_number, "limit": limit}
        return [(row[0], row[1], row[2], row[3]) for row in self.rows("run_list_latest_decided", params)]

    def run_first_decided_from(self, least_number: int) -> int | None:
        """Return when the first run from a number on was decided."""
        found = self._one("run_first_decided_from", least_number=least_number)
        return None if found is None else int(found[0])

    def run_count_missed(self, namespace: str, since_ms: int, limit: int) -> list[tuple[str, int, int]]:
        """Return which schedules have missed ticks, how many, and when that was decided last."""
        rows = self.rows("run_count_missed", {"namespace": namespace, "since_ms": since_ms, "limit": limit})
        return [(row[0], int(row[1]), row[2]) for row in rows]

    def run_last_number(self) -> int:
        """Return the number of the newest run."""
        return int(self.rows("run_last_number", {})[0][0])

    def run_list_after(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the runs of all namespaces after a number, the oldest first, each with its number."""
        return _numbered(self.rows("run_list_after", {"after_number": after_number, "limit": limit}))

    def run_list_open_after(self, after_number: int, limit: int) -> list[tuple[int, RunRow]]:
        """Return the runs of all namespaces after a number that are not over, the newest first."""
        return _numbered(self.rows("run_list_open_after", {"after_number": after_number, "limit": limit}))

    def run_list_by_number(self, numbers: Iterable[int]) -> list[tuple[int, RunRow]]:
        """Return runs by their numbers."""
        return _numbered(self.rows("run_list_by_number", {"numbers": sorted(numbers)}))

    def run_get(self, run: RunId) -> RunRow | None:
        """Return one run."""
        found = self._runs("run_get", key=run.schedule_key, nominal_s=run.nominal_s, origin=run.origin)
        return found[0] if found else None

    def run_list_tick_states(self, key: int, ticks: Sequence[int]) -> dict[int, set[str]]:
        """Return the states of the runs of ticks: the schedule's own, and those of backfills."""
        found: dict[int, set[str]] = {}
        for nominal_s, state in (
            self.many_rows("run_list_tick_states", [(key, tick) for tick in ticks]) if ticks else ()
        ):
            found.setdefault(nominal_s, set()).add(state)
        return found

    def run_count_open(self, key: int) -> tuple[int, int]:
        """Count the runs of a schedule that are in flight, and that wait."""
        found = self._one("run_count_open", key=key)
        assert found is not None
        return found[0], found[1]

    def run_count_by_state(self, key: int) -> dict[str, int]:
        """Count the runs of a schedule by their states; ``unbegun`` were cancelled before anybody began with them."""
        return {row[0]: int(row[1]) for row in self.rows("run_count_by_state", {"key": key})}

    def run_expire(self, after_number: int, before_ms: int, limit: int) -> int | None:
        """Forget runs that ended before a moment, among so many rows; return where to go on, if that is needed."""
        found = self.rows("run_list_oldest", {"after_number": after_number, "limit": limit})
        if not found:
            return None
        last: int = found[-1][0]
        params = {"after_number": after_number, "until_number": last, "before_ms": before_ms}
        self.rows("run_expire", params)
        return last if len(found) == limit and found[-1][1] < before_ms else None

    def queue_count_depths(self, now_ms: int, most: int) -> list[tuple[str, int, int]]:
        """Return the queues in which runs wait for somebody to take them, how many, and since when."""
        return [(row[0], row[1], row[2]) for row in self.rows("queue_count_depths", {"now_ms": now_ms, "most": most})]

    def run_list_fire_times(self, runs: Iterable[RunId]) -> dict[RunId, int]:
        """Return when runs were to be launched."""
        wanted = sorted(set(runs))
        return {RunId._make(row[:3]): row[3] for row in self.many_rows("run_list_fire_times", wanted)} if wanted else {}

    def _there_already(self, runs: Sequence[RunId], inserted: int) -> set[RunId]:
        # The last column tells in which order the rows came: the newest are those that were just added.
        found = sorted(self.many_rows("run_list_existing", sorted(set(runs))), key=lambda row: row[3])
        return {RunId._make(row[:3]) for row in found[: len(found) - inserted]}

    def _runs(self, name: str, /, **params: Any) -> list[RunRow]:
        return [RunRow._make(row) for row in self.rows(name, params)]

    def _found(self, name: str, rows: Sequence[Sequence[Any]]) -> list[RunRow]:
        return [RunRow._make(row) for row in self.many_rows(name, rows)] if rows else []

    def _changed(self, name: str, rows: Sequence[Sequence[Any]]) -> set[RunId]:
        return self.changed(name, rows) if rows else set()


def _numbered(rows: list[tuple[Any, ...]]) -> list[tuple[int, RunRow]]:
    return [(row[0], RunRow._make(row[1:])) for row in rows]
