"""Sides: a store with a manual clock, an engine whose steps are called, and an interface."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any

from tests.differential.generator import Step
from tests.support.operations import BEGIN, Bench, held_of
from tests.support.service import Direct, runner_of, serve_runner
from tompion.client import Client
from tompion.config.settings import Settings
from tompion.contract.sync_methods import SyncMethods
from tompion.encoding.codec import to_plain
from tompion.errors import TompionError
from tompion.model.run import RunRow, RunState
from tompion.model.schedule import Backfill, Run, Schedule
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

SETTINGS = replace(
    Settings(),
    max_buffer=3,
    lookahead_ms=20_000,
    backfills_per_iteration=3,
    max_catchup_per_tick=3,
    max_dropped_range_ticks=7,
)
PLAIN_SETTINGS = replace(SETTINGS, max_catchup_per_tick=10_000, max_dropped_range_ticks=100_000)
"""Everything that is due is decided in one pass, because the reference has no passes."""
MAX_PASSES = 400
_NUMBERED = re.compile(r"\b\d+-1[78]\d{8}-\d+\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b")
_OFFSETS = {"until_in": "until", "hint_in": "at"}
_PAGE = "next_page"
METHODS = {
    "upsert": "put",
    "skip": "schedules.skip",
    "unskip": "schedules.unskip",
    "hint": "schedules.hint",
    "hints": "schedules.hints",
    "clear_hints": "schedules.clear_hints",
    "reset_failures": "schedules.reset_failures",
    "restore": "schedules.restore",
    "versions": "schedules.versions",
    "history": "schedules.history",
    "verify": "schedules.verify",
    "backfills": "schedules.backfills",
    "dropped_ranges": "schedules.dropped_ranges",
    "list_schedules": "schedules.list",
    "pause_target": "queues.pause",
    "resume_target": "queues.resume",
    "runs": "runs.list",
    "recent_runs": "runs.recent",
    "cancel_run": "runs.cancel",
    "terminate_run": "runs.terminate",
    "retry_run": "runs.retry",
}
"""Steps whose method has another name."""


class Side:
    """Runs a scenario step by step."""

    def __init__(self, store: Store, clock: ManualClock, interface: SyncMethods, settings: Settings = SETTINGS) -> None:
        self.clock = clock
        self.bench = Bench(store, clock, settings)
        self.worker = self.bench.worker()
        self.interface = interface
        self._names: dict[str, str] = {}

    def perform_text(self, step: Step) -> str:
        """Perform a step and return its result as text, with placeholders for ids."""
        return self._with_placeholders(json.dumps(self._plain(self.perform(step)), sort_keys=True, default=str))

    def perform(self, step: Step) -> Any:
        """Perform a step and return its result or error."""
        steps: dict[str, Callable[..., Any]] = {
            "advance": self._advance,
            "tick": self._tick,
            "settle": self._settle,
        }
        own = steps.get(step.name)
        try:
            return self._request(step) if own is None else own(**step.arguments)
        except TompionError as error:
            return f"{type(error).__name__}: {error}"

    def snapshot(self) -> str:
        """Return the state, runs and dropped ranges of every schedule as text."""
        names = [schedule.schedule_id for schedule in self.interface.schedules.list().items]
        names += [schedule.schedule_id for schedule in self.interface.schedules.list(status="closed").items]
        texts = [
            self.perform_text(Step(read, {"schedule_id": name}))
            for name in names
            for read in ("get", "runs", "dropped_ranges")
        ]
        return "\n".join(texts)

    # --- engines ------------------------------------------------------------------------------------------------------

    def _advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _tick(self) -> list[Any]:
        """Run the steps of an engine until nothing is due: ticks first, backfills last."""
        worker, before = self.worker, len(self.worker.launched)
        for _ in range(MAX_PASSES):
            worker.beat()
            if worker.on_time().claimed:
                continue
            steps = (worker.rescue(), worker.planned(), worker.catch_up())
            if not any(step.claimed for step in steps) and not worker.backfill().claimed:
                break
        return sorted(_launch_of(*launch) for launch in worker.launched[before:])

    def _settle(self, state: str) -> Any:
        """End the first run. One with a requested cancellation is cancelled."""
        worker = self.worker
        held = self.bench.read(lambda t: t.run_check_held([held_of(row) for row, _ in worker.launched]))
        worker.launched = [launch for launch in worker.launched if launch[0].id in held]  # others were terminated
        if not worker.launched:
            return None
        row, compiled = min(
            worker.launched, key=lambda launch: (launch[1].schedule_id, launch[0].nominal_s, launch[0].origin)
        )
        worker.launched.remove((row, compiled))
        ending = RunState.CANCELLED if held[row.id] else RunState(state)
        settled = worker.settle(ending, row, error="planned" if ending is RunState.FAILED else None)
        return [_launch_of(row, compiled), sorted(_launch_of(*launch) for launch in settled.launches), settled.stale]

    # --- requests -----------------------------------------------------------------------------------------------------

    def _request(self, step: Step) -> Any:
        arguments, now = dict(step.arguments), self.clock.now()
        if "end_ago" in arguments:
            arguments["start"], arguments["end"] = now - arguments.pop("start_ago"), now - arguments.pop("end_ago")
        for name, field in _OFFSETS.items():
            if name in arguments:
                arguments[field] = now + arguments.pop(name)
        if "at_in" in arguments:
            arguments["at"] = [int(now) // 60 * 60 + offset for offset in arguments.pop("at_in")]
        if step.name == "preview":
            arguments["cron"] = "*/7 * * * *"
        if "nth" in arguments:
            arguments.pop("nth")
            return self._request_for_first(step.name, arguments)
        return attrgetter(METHODS.get(step.name, step.name))(self.interface)(**arguments)

    def _request_for_first(self, name: str, arguments: dict[str, Any]) -> Any:
        schedule_id = arguments.pop("schedule_id")
        if name == "cancel_backfill":
            backfills = self.interface.schedules.backfills(schedule_id)
            return (
                self.interface.schedules.cancel_backfill(backfills[0].backfill_id, **arguments) if backfills else None
            )
        runs = self.interface.runs.list(schedule_id).items
        return attrgetter(METHODS[name])(self.interface)(runs[0].run_id, **arguments) if runs else None

    # --- results ------------------------------------------------------------------------------------------------------

    def _plain(self, answer: Any) -> Any:
        plain = to_plain(answer)
        if isinstance(plain, dict) and "items" in plain:
            plain.pop(_PAGE)
        return plain

    def _with_placeholders(self, text: str) -> str:
        named = _NUMBERED.sub(lambda match: self._names.setdefault(match[0], f"<{len(self._names)}>"), text)
        return re.sub(r'"(backfill_id|instance_id|number)": (\d+)', self._placeholder, named)

    def _placeholder(self, match: re.Match[str]) -> str:
        return self._names.setdefault(match[0], f'"{match[1]}": <{len(self._names)}>')


def reference_view(answer: Any) -> Any:
    """Return the part of a result that the reference has too."""
    if isinstance(answer, str):
        return answer.partition(":")[0]
    if isinstance(answer, Schedule):
        next_tick = None if answer.next_run_at is None else int(answer.next_run_at.timestamp())
        return [str(answer.status), answer.in_flight, answer.waiting, next_tick]
    if isinstance(answer, Run):
        return [str(answer.status), answer.reason]
    if isinstance(answer, tuple) and answer and isinstance(answer[0], Backfill):
        return [backfill.total for backfill in answer]
    return answer


def history(side: Side, names: Iterator[str] | tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the outcome of every tick, to compare with the reference."""
    interface, histories = side.interface, {}
    for name in names:
        try:
            runs, dropped_ranges = (
                interface.runs.list(name, limit=1_000).items,
                interface.schedules.dropped_ranges(name, limit=1_000),
            )
        except TompionError:
            continue
        rows = [[int(run.run_at.timestamp()), run.source, str(run.status), run.reason] for run in runs]
        lost: Counter[str] = Counter()
        for dropped_range in dropped_ranges:
            lost[dropped_range.reason] += dropped_range.ticks
        histories[name] = [sorted(rows, key=repr), sorted(map(list, lost.items()))]
    return histories


def _launch_of(row: RunRow, compiled: CompiledSchedule) -> list[Any]:
    return [compiled.schedule_id, row.nominal_s, str(row.source), row.attempt]


@contextmanager
def on_sqlite(settings: Settings = SETTINGS) -> Iterator[Side]:
    """A store in memory, called directly."""
    clock = ManualClock(BEGIN)
    store = SqliteStore(clock=clock, inline=True)
    try:
        yield Side(store, clock, Direct(runner_of(store, settings)), settings)
    finally:
        store.close()


@contextmanager
def over_rest() -> Iterator[Side]:
    """A store in memory behind a server."""
    clock = ManualClock(BEGIN)
    with ExitStack() as stack:
        store = SqliteStore(clock=clock)
        stack.callback(store.close)
        client = Client(stack.enter_context(serve_runner(runner_of(store, SETTINGS))))
        stack.callback(client.close)
        yield Side(store, clock, client)


class OnPostgres:
    """A database that is emptied for each scenario."""

    def __init__(self, url: str) -> None:
        self._clock = ManualClock(BEGIN)
        self._store = PostgresStore(url, clock=self._clock, pool_size=2)
        self._truncate_sql = ""

    def close(self) -> None:
        self._store.close()

    @contextmanager
    def __call__(self) -> Iterator[Side]:
        self._clock.set(BEGIN)
        self._store.write(self._truncate).result()
        yield Side(self._store, self._clock, Direct(runner_of(self._store, SETTINGS)))

    def _truncate(self, transaction: Any) -> None:
        cursor = transaction._cursor
        if not self._truncate_sql:
            rows = cursor.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'tompion_schema'"
            )
            tables = ", ".join(row[0] for row in rows.fetchall())
            self._truncate_sql = f"TRUNCATE {tables} RESTART IDENTITY"
        cursor.execute("SET LOCAL session_replication_role = replica")  # or the audit would refuse it
        cursor.execute(self._truncate_sql)
        cursor.execute("ALTER SEQUENCE origin_numbers RESTART")
