"""Looks at the database after every commit and remembers what no later look could tell."""

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


class Look(NamedTuple):
    """The database at one commit."""

    now_ms: int
    states: dict[int, ScheduleState]
    runs: dict[tuple[int, int, int], RunRow]
    tokens: dict[int, int]
    leases: dict[int, int]


class Observer:
    """Compares each commit with the one before it."""

    def __init__(self, store: SqliteStore, now_ms: Any, settings: Settings) -> None:
        """Take the real store, and what the instances obey."""
        self._connection = store._writer
        self._now_ms = now_ms
        self._settings = settings
        self._policies: dict[tuple[int, int], Policy] = {}
        self.violations: list[str] = []
        self.commits = 0
        self.changes = -1
        self.clock_stepped = False
        self.finals: dict[tuple[int, int, int], RunRow] = {}
        self._closed: dict[int, int] = {}
        self.met: set[tuple[tuple[int, int, int], str | None]] = set()
        self._rows: tuple[Rows, ...] = ()
        self.last = Look(0, {}, {}, {}, {})
        self.last = self._look(self._read())

    def committed(self) -> None:
        """Look, if anything has changed; most commits are heartbeats, which only move leases."""
        changes = self._connection.total_changes
        if changes == self.changes:
            return
        self.changes = changes
        self.commits += 1
        rows = self._read()
        if rows == self._rows:
            self.last = self.last._replace(now_ms=self._now_ms(), leases=self._leases())
            return
        look = self._look(rows)
        self._counters(look)
        self._monotone(look)
        self._runs(look)
        started = self._started(look)
        for schedule_key, runs in started.items():
            self._check_starts(look, schedule_key, runs)
        self._endings(look, started)
        for schedule_key in look.states:
            self._adaptive(look, schedule_key)
        self.last = look

    def _read(self) -> tuple[Rows, ...]:
        """Dials, tokens and open runs, as they are stored."""
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

    def _look(self, rows: tuple[Rows, ...]) -> Look:
        """Open runs, and those that were open at the last look."""
        self._rows = rows
        states, tokens, open_runs = rows
        runs = {(row[0], row[1], row[2]): RunRow._make(row) for row in open_runs}
        for key in runs.keys() & self.finals.keys():
            self._say("final states are sticky", f"{key} ended in {self.finals[key].state} and is open again")
        for key, before in self.last.runs.items():
            if key not in runs and before.state not in FINAL:
                found = self._connection.execute(
                    f"SELECT {_RUN} FROM schedule_runs WHERE schedule_key = ? AND nominal_s = ? AND origin = ?", key
                ).fetchone()
                if found is not None:
                    runs[key] = self.finals[key] = RunRow._make(found)
        stored = {row[0]: ScheduleState._make(row) for row in states}
        self._closed |= {key: state.version for key, state in stored.items() if state.closed}
        return Look(self._now_ms(), stored, runs, dict(tokens), self._leases())

    def _say(self, rule: str, text: str) -> None:
        self.violations.append(f"{rule}: {text}")

    def _counters(self, look: Look) -> None:
        in_flight: dict[int, int] = {}
        waiting: dict[int, int] = {}
        for run in look.runs.values():
            if run.state in IN_FLIGHT:
                in_flight[run.schedule_key] = in_flight.get(run.schedule_key, 0) + 1
            elif run.state == "BUFFERED":
                waiting[run.schedule_key] = waiting.get(run.schedule_key, 0) + 1
        for key, state in look.states.items():
            counted = (in_flight.get(key, 0), waiting.get(key, 0))
            if (state.in_flight, state.waiting) != counted:
                self._say("counters", f"schedule {key}: dial {state.in_flight, state.waiting}, ledger {counted}")
            if state.waiting > self._settings.max_buffer + 1:
                self._say("buffer bounded", f"schedule {key}: {state.waiting} wait")

    def _monotone(self, look: Look) -> None:
        for key, state in look.states.items():
            before = self.last.states.get(key)
            if before is not None and state.cursor_s < before.cursor_s:
                self._say("cursor monotone", f"schedule {key}: {before.cursor_s} → {state.cursor_s}")
            stood = before is not None and state.paused and before.paused and state.version == before.version
            untouched = self.last.tokens.get(key) == look.tokens.get(key)
            if before is not None and stood and untouched and state.cursor_s != before.cursor_s:
                self._say("cursor stands still while paused", f"schedule {key}")
        for key, token in look.tokens.items():
            before_token = self.last.tokens.get(key)
            if before_token is not None and not before_token <= token <= before_token + 1:
                self._say("token monotone", f"schedule {key}: {before_token} → {token}")
            schedule_states = (self.last.states.get(key), look.states.get(key))
            states = {(state.paused, state.closed, state.version) for state in schedule_states if state is not None}
            if before_token == token and len(states) > 1:
                self._say("token monotone", f"schedule {key}: changed without a new token")

    def _runs(self, look: Look) -> None:
        for key, before in self.last.runs.items():
            run = look.runs.get(key)
            if run is None and before.state in FINAL:
                continue
            if run is None:
                nobodys = before.owner is None or before.due_ms is not None
                purged = nobodys and before.schedule_key not in look.states
                if before.state in IN_FLIGHT and not purged:
                    self._say("open runs are kept", f"{key} vanished")
                continue
            if run.attempt < before.attempt:
                self._say("fence monotone", f"{key}: {before.attempt} → {run.attempt}")
            if run.attempt > before.attempt and before.state in IN_FLIGHT:
                lease_ms = self.last.leases.get(before.owner or 0, 0)
                if before.due_ms is None and lease_ms > look.now_ms and run.owner != before.owner:
                    self._say("leases are respected", f"{key} was taken {lease_ms} > {look.now_ms}")
            was, state = self.last.states.get(run.schedule_key), look.states.get(run.schedule_key)
            if run.state in IN_FLIGHT and run.owner is None and state and state.closed and was and not was.closed:
                self._say("nothing after a delete", f"{key} waits for somebody although its schedule was deleted")
            if before.state in IN_FLIGHT and run.state in FINAL and run.attempt != before.attempt:
                self._say("stale writes are rejected", f"{key} ended under attempt {run.attempt}, not {before.attempt}")

    def _gave_way(self, before: RunRow, run: RunRow, look: Look) -> bool:
        """Whether a run that nobody held has ended for a reason: a delete, or a later run that wants its slot.

        One that was picked up for a schedule that is deleted is not begun again, even if that is made anew meanwhile.
        """
        if run.reason == "deleted":
            return run.schedule_key not in look.states or run.version <= self._closed.get(run.schedule_key, 0)
        if before.owner is not None and before.due_ms is None:
            return False
        return run.reason == "superseded" and any(
            other.schedule_key == run.schedule_key and self._came(key, other) for key, other in look.runs.items()
        )

    def _came(self, key: tuple[int, int, int], run: RunRow) -> bool:
        """Whether a run waits, or has its slot, and did not at the last look."""
        before = self.last.runs.get(key)
        kinds = IN_FLIGHT if run.state in IN_FLIGHT else ("BUFFERED",)
        return run.state in kinds and (before is None or before.state not in kinds)

    def _endings(self, look: Look, started: dict[int, list[RunRow]]) -> None:
        for key, before in self.last.runs.items():
            run = look.runs.get(key)
            if run is None or run.state not in FINAL or before.state in FINAL:
                continue
            if run.reason == "zombie" and not self._silent(before, look):
                self._say("zombies are silent", f"{key} was anybody's since {before.due_ms}, and now is {look.now_ms}")
            if run.state == "CANCELLED" and not before.cancel_requested and not self._gave_way(before, run, look):
                self._say("cancelled on request", f"{key} was cancelled and nobody wanted that")
            if run.state == "TERMINATED" and run.schedule_key not in started:
                self._say("terminated for another", f"{key} has ended by force, and nothing has started")
            state = look.states.get(run.schedule_key)
            if run.reason == "limit_reached" and state is not None and state.remaining != 0:
                self._say("limit", f"{key} was dropped with {state.remaining} actions remaining")

    def _silent(self, before: RunRow, look: Look) -> bool:
        silent_ms = look.now_ms - self._settings.zombie_after_ms
        return before.owner is not None and before.due_ms is not None and before.due_ms <= silent_ms

    def _started(self, look: Look) -> dict[int, list[RunRow]]:
        """Return the runs that have started since the last look, by schedule; remember what is met."""
        started: dict[int, list[RunRow]] = {}
        for key, run in look.runs.items():
            before = self.last.runs.get(key)
            if before is None or (before.state, before.reason) != (run.state, run.reason):
                self.met |= {(key, run.state), (key, run.reason)}
            if run.state in IN_FLIGHT and (before is None or before.state not in IN_FLIGHT):
                started.setdefault(run.schedule_key, []).append(run)
        return started

    def _check_starts(self, look: Look, key: int, runs: list[RunRow]) -> None:
        state, before = look.states.get(key), self.last.states.get(key)
        if state is None:
            self._say("nothing after purge", f"schedule {key}")
            return
        policy = self._policy(key, state.version)
        for run in runs:
            automatic = run.source in AUTOMATIC_SOURCES
            if automatic and state.paused and before is not None and before.paused:
                self._say("nothing starts while paused", f"{run.id}")
            if state.closed and before is not None and before.closed:
                self._say("nothing starts once deleted", f"{run.id}")
            if run.fire_ms > look.now_ms and not self.clock_stepped:
                self._say("nothing early", f"{run.id} started {run.fire_ms - look.now_ms} ms before its time")
            rested_ms = look.now_ms - ((before and before.last_start_ms) or 0)
            if automatic and policy.adaptive and rested_ms < policy.min_interval_ms and not self.clock_stepped:
                self._say("not sooner than the shortest", f"{run.id} started after {rested_ms} ms")
            if automatic and before is not None and before.remaining == 0 and state.remaining == 0:
                self._say("limit", f"{run.id} started with no actions remaining")
        free = [run for run in runs if (run.overlap or policy.overlap_policy) == "allow"]
        if len(free) < len(runs) and state.in_flight > policy.max_concurrent + len(free):
            self._say("overlap", f"schedule {key}: {state.in_flight} in flight under {policy.overlap_policy}")

    def _adaptive(self, look: Look, key: int) -> None:
        """The bounds of adaptive schedules hold for whatever is planned, and no hint is lost, or used twice."""
        state, before = look.states[key], self.last.states.get(key)
        policy = self._policy(key, state.version)
        if before is None or not policy.adaptive:
            return
        self._hints(look, before, state)
        nominal = state.next_nominal_s
        if nominal is None or self.clock_stepped or (nominal, state.version) == (before.next_nominal_s, before.version):
            return
        if (nominal + 1) * 1000 <= (state.last_start_ms or 0) + policy.min_interval_ms:
            self._say("not sooner than the shortest", f"schedule {key}: {nominal} after {state.last_start_ms}")
        if (nominal + 1) * 1000 <= look.now_ms and before.skips is None:
            self._say("not planned for the past", f"schedule {key}: {nominal} at {look.now_ms}")
        idle_ms = max(state.last_start_ms or 0, state.last_end_ms or 0, (state.cursor_s + 1) * 1000)
        latest_ms = max(idle_ms + (policy.max_interval_ms or nominal * 1000), look.now_ms)
        if nominal * 1000 > latest_ms:
            self._say("not later than the longest", f"schedule {key}: {nominal} after {idle_ms}")

    def _hints(self, look: Look, before: ScheduleState, state: ScheduleState) -> None:
        """Nobody but a person takes a live hint back; a one-shot is used up by the first run that is not before it."""
        key = state.schedule_key
        if self.clock_stepped or self.last.tokens.get(key) != look.tokens.get(key):
            return
        was, now = read_hints(before.hints).live_at(look.now_ms), read_hints(state.hints)
        moved = state.cursor_s > before.cursor_s
        used = moved and was.once is not None and was.once.value // 1000 <= state.cursor_s
        if was.interval is not None and now.interval != was.interval:
            self._say("no hint is lost", f"schedule {key}: {was.interval} became {now.interval}")
        if was.once is not None and now.once != (None if used else was.once):
            self._say("a one-shot hint is used once", f"schedule {key}: {was.once} became {now.once}")

    def _policy(self, key: int, version: int) -> Policy:
        if (key, version) not in self._policies:
            text = self._connection.execute(
                "SELECT policy FROM schedule_versions WHERE schedule_key = ? AND version = ?", (key, version)
            ).fetchone()[0]
            self._policies[key, version] = stored_policy(text)
        return self._policies[key, version]
