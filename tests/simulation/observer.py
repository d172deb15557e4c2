"""Checks of the database after every commit, for rules that the final ledger cannot show."""

from __future__ import annotations

from typing import Any, NamedTuple

from tompion.config.settings import Settings
from tompion.model.hint import read_hints
from tompion.model.policy import Policy
from tompion.model.run import AUTOMATIC_SOURCES, FINAL, IN_FLIGHT, RunRow
from tompion.model.schedule_state import ScheduleState
from tompion.plan.stored_definition import stored_policy
from tompion.store.sqlite.driver import SqliteStore

_RUN = ", ".join(RunRow._fields)
Rows = list[Any]


class Snapshot(NamedTuple):
    """The database at one commit."""

    now_ms: int
    states: dict[int, ScheduleState]
    runs: dict[tuple[int, int, int], RunRow]
    tokens: dict[int, int]
    leases: dict[int, int]


class Observer:
    """Compares the database after each commit with the snapshot before it."""

    def __init__(self, store: SqliteStore, now_ms: Any, settings: Settings) -> None:
        self._connection = store._writer
        self._now_ms = now_ms
        self._settings = settings
        self._policies: dict[tuple[int, int], Policy] = {}
        self._has_notified = False
        store.subscribe(self._notified)
        self.violations: list[str] = []
        self.commits = 0
        self.changes = -1
        self.clock_stepped = False
        self.present: set[int] = set()
        self.finals: dict[tuple[int, int, int], RunRow] = {}
        self._closed: dict[int, int] = {}
        self.states_and_reasons: set[tuple[tuple[int, int, int], str | None]] = set()
        self._rows: tuple[Rows, ...] = ()
        self.last = Snapshot(0, {}, {}, {}, {})
        self.last = self._snapshot(self._read())

    def _notified(self) -> None:
        self._has_notified = True

    def committed(self) -> None:
        """Check the commit. Skip it if no row has changed, because most commits are heartbeats."""
        changes = self._connection.total_changes
        if changes != self.changes:
            self._check_commit(changes)
        self._has_notified = False

    def _check_commit(self, changes: int) -> None:
        self.changes = changes
        self.commits += 1
        rows = self._read()
        self._check_leases()
        if rows == self._rows:
            self.last = self.last._replace(now_ms=self._now_ms(), leases=self._leases())
            return
        snapshot = self._snapshot(rows)
        self._check_counters(snapshot)
        self._check_monotone(snapshot)
        self._check_runs(snapshot)
        started = self._started(snapshot)
        for schedule_key, runs in started.items():
            self._check_starts(snapshot, schedule_key, runs)
        self._check_endings(snapshot, started)
        for schedule_key in snapshot.states:
            self._check_adaptive(snapshot, schedule_key)
        self.last = snapshot

    def _read(self) -> tuple[Rows, ...]:
        """Return the rows of the schedule states, tokens and open runs."""
        execute = self._connection.execute
        return (
            execute("SELECT * FROM schedule_state").fetchall(),
            execute("SELECT schedule_key, token FROM schedules").fetchall(),
            execute(f"SELECT {_RUN} FROM schedule_runs WHERE finished_ms IS NULL").fetchall(),
        )

    def _leases(self) -> dict[int, int]:
        return dict(
            self._connection.execute(
                "SELECT instance_id, lease_until_ms FROM instances WHERE lease_until_ms IS NOT NULL"
            )
        )

    def _snapshot(self, rows: tuple[Rows, ...]) -> Snapshot:
        """Return a snapshot with the open runs and the runs that were open in the last snapshot."""
        self._rows = rows
        states, tokens, open_runs = rows
        runs = {(row[0], row[1], row[2]): RunRow._make(row) for row in open_runs}
        for key in runs.keys() & self.finals.keys():
            self._report("final states are sticky", f"{key} ended in {self.finals[key].state} and is open again")
        for key, before in self.last.runs.items():
            if key not in runs and before.state not in FINAL:
                row = self._connection.execute(
                    f"SELECT {_RUN} FROM schedule_runs WHERE schedule_key = ? AND nominal_s = ? AND origin = ?", key
                ).fetchone()
                if row is not None:
                    runs[key] = self.finals[key] = RunRow._make(row)
        stored = {row[0]: ScheduleState._make(row) for row in states}
        self._closed |= {key: state.version for key, state in stored.items() if state.closed}
        return Snapshot(self._now_ms(), stored, runs, dict(tokens), self._leases())

    def _report(self, rule: str, text: str) -> None:
        self.violations.append(f"{rule}: {text}")

    def _check_counters(self, snapshot: Snapshot) -> None:
        in_flight: dict[int, int] = {}
        waiting: dict[int, int] = {}
        for run in snapshot.runs.values():
            if run.state in IN_FLIGHT:
                in_flight[run.schedule_key] = in_flight.get(run.schedule_key, 0) + 1
            elif run.state == "BUFFERED":
                waiting[run.schedule_key] = waiting.get(run.schedule_key, 0) + 1
        for key, state in snapshot.states.items():
            counted = (in_flight.get(key, 0), waiting.get(key, 0))
            if (state.in_flight, state.waiting) != counted:
                self._report("counters", f"schedule {key}: state {state.in_flight, state.waiting}, ledger {counted}")
            if state.waiting > self._settings.max_buffer + 1:
                self._report("buffer bounded", f"schedule {key}: {state.waiting} wait")

    def _check_monotone(self, snapshot: Snapshot) -> None:
        for key, state in snapshot.states.items():
            before = self.last.states.get(key)
            if before is not None and state.cursor_s < before.cursor_s:
                self._report("cursor monotone", f"schedule {key}: {before.cursor_s} → {state.cursor_s}")
            stays_paused = before is not None and state.paused and before.paused and state.version == before.version
            same_token = self.last.tokens.get(key) == snapshot.tokens.get(key)
            if before is not None and stays_paused and same_token and state.cursor_s != before.cursor_s:
                self._report("cursor stands still while paused", f"schedule {key}")
        for key, token in snapshot.tokens.items():
            before_token = self.last.tokens.get(key)
            if before_token is not None and not before_token <= token <= before_token + 1:
                self._report("token monotone", f"schedule {key}: {before_token} → {token}")
            schedule_states = (self.last.states.get(key), snapshot.states.get(key))
            states = {(state.paused, state.closed, state.version) for state in schedule_states if state is not None}
            if before_token == token and len(states) > 1:
                self._report("token monotone", f"schedule {key}: changed without a new token")

    def _check_runs(self, snapshot: Snapshot) -> None:
        for key, before in self.last.runs.items():
            run = snapshot.runs.get(key)
            if run is None and before.state in FINAL:
                continue
            if run is None:
                unheld = before.owner is None or before.due_ms is not None
                purged = unheld and before.schedule_key not in snapshot.states
                if before.state in IN_FLIGHT and not purged:
                    self._report("open runs are kept", f"{key} vanished")
                continue
            if run.attempt < before.attempt:
                self._report("fence monotone", f"{key}: {before.attempt} → {run.attempt}")
            if run.attempt > before.attempt and before.state in IN_FLIGHT:
                lease_ms = self.last.leases.get(before.owner or 0, 0)
                if before.due_ms is None and lease_ms > snapshot.now_ms and run.owner != before.owner:
                    self._report("leases are respected", f"{key} was taken {lease_ms} > {snapshot.now_ms}")
            if run.attempt > before.attempt and _is_held_suspect(run):
                self._check_suspect(snapshot, run)
            old_state, state = self.last.states.get(run.schedule_key), snapshot.states.get(run.schedule_key)
            deleted = state and state.closed and old_state and not old_state.closed
            if run.state in IN_FLIGHT and run.owner is None and deleted:
                self._report("nothing after a delete", f"{key} waits for a worker although its schedule was deleted")
            if before.state in IN_FLIGHT and run.state in FINAL and run.attempt != before.attempt:
                self._report(
                    "stale writes are rejected", f"{key} ended under attempt {run.attempt}, not {before.attempt}"
                )

    def _check_leases(self) -> None:
        """A process that is alive keeps a valid lease, however slow it is, unless it stops."""
        if self.clock_stepped:
            return
        stopped = self._connection.execute("SELECT instance_id FROM instances WHERE stopped_ms IS NOT NULL").fetchall()
        leases, now_ms = self._leases(), self._now_ms()
        for number in self.present - {row[0] for row in stopped}:
            before_ms = self.last.leases.get(number, 0)
            if before_ms > now_ms and leases.get(number, 0) < before_ms:
                self._report("live instances keep their leases", f"{number}: {before_ms} → {leases.get(number)}")

    def check_taken_over(self, number: int) -> None:
        """Check that no run in flight is left to an instance whose process has ended."""
        left = [run.id for run in self.last.runs.values() if run.state in IN_FLIGHT and run.owner == number]
        left = [run for run in left if self.last.runs[run].due_ms is None]
        if left:
            self._report("runs of a dead process are taken over", f"{left} of instance {number}")

    def check_launch(self, run: RunRow, attempt: int) -> None:
        """Check that no other instance has begun a later attempt. A clock that is set forward ends leases early."""
        if run.attempt > attempt and not self.clock_stepped:
            self._report("launches hold their lease", f"{run.id} as attempt {attempt}, after {run.attempt} began")

    def _check_suspect(self, snapshot: Snapshot, claimed: RunRow) -> None:
        """An instance that claims a run which may have killed its workers holds no other such run."""
        others = [run.id for run in snapshot.runs.values() if run.owner == claimed.owner and _is_held_suspect(run)]
        if len(others) > 1:
            self._report("suspects run alone", f"instance {claimed.owner} holds {others}")

    def _is_cancelled_for_a_reason(self, before: RunRow, run: RunRow, snapshot: Snapshot) -> bool:
        """Return whether a run without a worker was cancelled by a delete, or by a later run that takes its slot.

        A run that was claimed for a deleted schedule does not start, even if the schedule was created again meanwhile.
        """
        if run.reason == "deleted":
            return run.schedule_key not in snapshot.states or run.version <= self._closed.get(run.schedule_key, 0)
        if before.owner is not None and before.due_ms is None:
            return False
        return run.reason == "superseded" and any(
            other.schedule_key == run.schedule_key and self._is_new(key, other) for key, other in snapshot.runs.items()
        )

    def _is_new(self, key: tuple[int, int, int], run: RunRow) -> bool:
        """Return whether a run waits or has a slot, and did not in the last snapshot."""
        before = self.last.runs.get(key)
        kinds = IN_FLIGHT if run.state in IN_FLIGHT else ("BUFFERED",)
        return run.state in kinds and (before is None or before.state not in kinds)

    def _check_endings(self, snapshot: Snapshot, started: dict[int, list[RunRow]]) -> None:
        for key, before in self.last.runs.items():
            run = snapshot.runs.get(key)
            if run is None or run.state not in FINAL or before.state in FINAL:
                continue
            if run.reason == "zombie" and not self._was_silent(before, snapshot):
                self._report(
                    "zombies are silent", f"{key} could be claimed since {before.due_ms}, and now is {snapshot.now_ms}"
                )
            if (
                run.state == "CANCELLED"
                and not before.cancel_requested
                and not self._is_cancelled_for_a_reason(before, run, snapshot)
            ):
                self._report("cancelled on request", f"{key} was cancelled without a request")
            if run.state == "TERMINATED" and run.schedule_key not in started:
                self._report("terminated for another", f"{key} was terminated, and no run has started")
            state = snapshot.states.get(run.schedule_key)
            if before.state in IN_FLIGHT and state is not None:
                self._check_wake_up(self.last.states.get(run.schedule_key), state)
            if run.reason == "limit_reached" and state is not None and state.remaining != 0:
                self._report("limit", f"{key} was dropped with {state.remaining} actions remaining")

    def _check_wake_up(self, before: ScheduleState | None, state: ScheduleState) -> None:
        """Check that engines learn of a next tick that the end of a run has set. No engine waits for it yet."""
        has_new_tick = (
            before is not None
            and before.next_nominal_s is None
            and before.cursor_s == state.cursor_s
            and state.next_fire_ms is not None
        )
        if has_new_tick and not self._has_notified:
            self._report(
                "engines are notified", f"schedule {state.schedule_key}: its next fire is {state.next_fire_ms}"
            )

    def _was_silent(self, before: RunRow, snapshot: Snapshot) -> bool:
        silent_since_ms = snapshot.now_ms - self._settings.zombie_after_ms
        return before.owner is not None and before.due_ms is not None and before.due_ms <= silent_since_ms

    def _started(self, snapshot: Snapshot) -> dict[int, list[RunRow]]:
        """Return the runs that have started since the last snapshot, by schedule. Record new states and reasons."""
        started: dict[int, list[RunRow]] = {}
        for key, run in snapshot.runs.items():
            before = self.last.runs.get(key)
            if before is None or (before.state, before.reason) != (run.state, run.reason):
                self.states_and_reasons |= {(key, run.state), (key, run.reason)}
            if run.state in IN_FLIGHT and (before is None or before.state not in IN_FLIGHT):
                started.setdefault(run.schedule_key, []).append(run)
        return started

    def _check_starts(self, snapshot: Snapshot, key: int, runs: list[RunRow]) -> None:
        state, before = snapshot.states.get(key), self.last.states.get(key)
        if state is None:
            self._report("nothing after purge", f"schedule {key}")
            return
        policy = self._policy(key, state.version)
        for run in runs:
            automatic = run.source in AUTOMATIC_SOURCES
            if automatic and state.paused and before is not None and before.paused:
                self._report("nothing starts while paused", f"{run.id}")
            if state.closed and before is not None and before.closed:
                self._report("nothing starts once deleted", f"{run.id}")
            if run.fire_ms > snapshot.now_ms and not self.clock_stepped:
                self._report("nothing early", f"{run.id} started {run.fire_ms - snapshot.now_ms} ms before its time")
            interval_ms = snapshot.now_ms - ((before and before.last_start_ms) or 0)
            if automatic and policy.adaptive and interval_ms < policy.min_interval_ms and not self.clock_stepped:
                self._report("not sooner than the shortest", f"{run.id} started after {interval_ms} ms")
            if automatic and before is not None and before.remaining == 0 and state.remaining == 0:
                self._report("limit", f"{run.id} started with no actions remaining")
        free = [run for run in runs if (run.overlap or policy.overlap_policy) == "allow"]
        if len(free) < len(runs) and state.in_flight > policy.max_concurrent + len(free):
            self._report("overlap", f"schedule {key}: {state.in_flight} in flight under {policy.overlap_policy}")

    def _check_adaptive(self, snapshot: Snapshot, key: int) -> None:
        """Check the interval limits of the planned run, and that no hint is lost or used twice."""
        state, before = snapshot.states[key], self.last.states.get(key)
        policy = self._policy(key, state.version)
        if before is None or not policy.adaptive:
            return
        self._check_hints(snapshot, before, state)
        nominal = state.next_nominal_s
        if nominal is None or self.clock_stepped or (nominal, state.version) == (before.next_nominal_s, before.version):
            return
        if (nominal + 1) * 1000 <= (state.last_start_ms or 0) + policy.min_interval_ms:
            self._report("not sooner than the shortest", f"schedule {key}: {nominal} after {state.last_start_ms}")
        if (nominal + 1) * 1000 <= snapshot.now_ms and before.skips is None:
            self._report("not planned for the past", f"schedule {key}: {nominal} at {snapshot.now_ms}")
        idle_ms = max(state.last_start_ms or 0, state.last_end_ms or 0, (state.cursor_s + 1) * 1000)
        latest_ms = max(idle_ms + (policy.max_interval_ms or nominal * 1000), snapshot.now_ms)
        if nominal * 1000 > latest_ms:
            self._report("not later than the longest", f"schedule {key}: {nominal} after {idle_ms}")

    def _check_hints(self, snapshot: Snapshot, before: ScheduleState, state: ScheduleState) -> None:
        """Only a request removes a live hint. The first run at or after a one-shot hint uses it up."""
        key = state.schedule_key
        if self.clock_stepped or self.last.tokens.get(key) != snapshot.tokens.get(key):
            return
        old, new = read_hints(before.hints).live_at(snapshot.now_ms), read_hints(state.hints)
        advanced = state.cursor_s > before.cursor_s
        used = advanced and old.once is not None and old.once.value // 1000 <= state.cursor_s
        if old.interval is not None and new.interval != old.interval:
            self._report("no hint is lost", f"schedule {key}: {old.interval} became {new.interval}")
        if old.once is not None and new.once != (None if used else old.once):
            self._report("a one-shot hint is used once", f"schedule {key}: {old.once} became {new.once}")

    def _policy(self, key: int, version: int) -> Policy:
        if (key, version) not in self._policies:
            text = self._connection.execute(
                "SELECT policy FROM schedule_versions WHERE schedule_key = ? AND version = ?", (key, version)
            ).fetchone()[0]
            self._policies[key, version] = stored_policy(text)
        return self._policies[key, version]


def _is_held_suspect(run: RunRow) -> bool:
    """Return whether an instance holds a run that has lost two workers before."""
    return run.state in IN_FLIGHT and run.owner is not None and run.due_ms is None and run.pickups >= 2
