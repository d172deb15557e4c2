"""Who tells a story: a store with a clock that is moved by hand, an engine whose steps are called, and a door."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from tests.differential.generator import Step
from tests.support.operations import BEGIN, Bench, held_of
from tests.support.service import Direct, runner_of, serving
from tompion.client import Client
from tompion.config.settings import Settings
from tompion.contract.methods import SyncMethods
from tompion.errors import TompionError
from tompion.model.codec import to_plain
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
"""Everything that is due is decided at once: the reference knows no passes."""
PASSES = 400
_NUMBERED = re.compile(r"\b\d+-1[78]\d{8}-\d+\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b")
_OFFSETS = {"until_in": "until", "hint_in": "at"}
_PAGE = "next_page"


class Teller:
    """One side: asked step by step, it says what came of each."""

    def __init__(self, store: Store, clock: ManualClock, door: SyncMethods, settings: Settings = SETTINGS) -> None:
        self.clock = clock
        self.bench = Bench(store, clock, settings)
        self.worker = self.bench.worker()
        self._door = door
        self._names: dict[str, str] = {}

    def tell(self, step: Step) -> str:
        """Take a step; what came of it, with names for what is only a number."""
        return self._unnumbered(json.dumps(self._plain(self.take(step)), sort_keys=True, default=str))

    def take(self, step: Step) -> Any:
        """Take a step; what was answered, or raised."""
        steps: dict[str, Callable[..., Any]] = {
            "advance": self._advance,
            "tick": self._tick,
            "settle": self._settle,
        }
        own = steps.get(step.name)
        try:
            return self._ask(step) if own is None else own(**step.arguments)
        except TompionError as error:
            return f"{type(error).__name__}: {error}"

    def look(self) -> str:
        """Everything that there is to see of every schedule."""
        names = [each.schedule_id for each in self._door.list_schedules().items]
        names += [each.schedule_id for each in self._door.list_schedules(state="closed").items]
        seen = [
            self.tell(Step(what, {"schedule_id": name})) for name in names for what in ("get", "runs", "dropped_ranges")
        ]
        return "\n".join(seen)

    # --- engines ------------------------------------------------------------------------------------------------------

    def _advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _tick(self) -> list[Any]:
        """Everything that is due, until nothing is, in the order of an engine: ticks first, and backfills last."""
        worker, before = self.worker, len(self.worker.launched)
        for _ in range(PASSES):
            worker.beat()
            if worker.on_time().claimed:
                continue
            steps = (worker.rescue(), worker.planned(), worker.catch_up())
            if not any(step.claimed for step in steps) and not worker.backfill().claimed:
                break
        return sorted(_launch_of(*each) for each in worker.launched[before:])

    def _settle(self, state: str) -> Any:
        """The first run here ends; one that was to be ended is."""
        worker = self.worker
        found = self.bench.read(lambda t: t.run_check_held([held_of(row) for row, _ in worker.launched]))
        worker.launched = [each for each in worker.launched if each[0].id in found]  # others were ended by force
        if not worker.launched:
            return None
        row, compiled = min(worker.launched, key=lambda each: (each[1].schedule_id, each[0].nominal_s, each[0].origin))
        worker.launched.remove((row, compiled))
        ending = RunState.CANCELLED if found[row.id] else RunState(state)
        settled = worker.settle(ending, row, error="planned" if ending is RunState.FAILED else None)
        return [_launch_of(row, compiled), sorted(_launch_of(*each) for each in settled.launches), settled.stale]

    # --- people -------------------------------------------------------------------------------------------------------

    def _ask(self, step: Step) -> Any:
        given, now = dict(step.arguments), self.clock.now()
        if "end_ago" in given:
            given["start"], given["end"] = now - given.pop("start_ago"), now - given.pop("end_ago")
        for name, meant in _OFFSETS.items():
            if name in given:
                given[meant] = now + given.pop(name)
        if "at_in" in given:
            given["at"] = [int(now) // 60 * 60 + offset for offset in given.pop("at_in")]
        if step.name == "preview":
            given["cron"] = "*/7 * * * *"
        if "nth" in given:
            given.pop("nth")
            return self._ask_of_run(step.name, given)
        return getattr(self._door, step.name)(**given)

    def _ask_of_run(self, name: str, given: dict[str, Any]) -> Any:
        schedule_id = given.pop("schedule_id")
        if name == "cancel_backfill":
            found = self._door.backfills(schedule_id)
            return self._door.cancel_backfill(found[0].backfill_id, **given) if found else None
        runs = self._door.runs(schedule_id).items
        return getattr(self._door, name)(runs[0].run_id, **given) if runs else None

    # --- answers ------------------------------------------------------------------------------------------------------

    def _plain(self, answer: Any) -> Any:
        plain = to_plain(answer)
        if isinstance(plain, dict) and "items" in plain:
            plain.pop(_PAGE)
        return plain

    def _unnumbered(self, text: str) -> str:
        named = _NUMBERED.sub(lambda found: self._names.setdefault(found[0], f"<{len(self._names)}>"), text)
        return re.sub(r'"(backfill_id|instance_id|number)": (\d+)', self._named, named)

    def _named(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found[0], f'"{found[1]}": <{len(self._names)}>')


def gist(answer: Any) -> Any:
    """What the reference knows of an answer, too."""
    if isinstance(answer, str):
        return answer.partition(":")[0]
    if isinstance(answer, Schedule):
        coming = None if answer.next_run_at is None else int(answer.next_run_at.timestamp())
        return [str(answer.state), answer.in_flight, answer.waiting, coming]
    if isinstance(answer, Run):
        return [str(answer.state), answer.reason]
    if isinstance(answer, tuple) and answer and isinstance(answer[0], Backfill):
        return [each.total for each in answer]
    return answer


def history(teller: Teller, names: Iterator[str] | tuple[str, ...]) -> dict[str, list[Any]]:
    """What became of every tick, for the reference to compare with."""
    door, told = teller._door, {}
    for name in names:
        try:
            runs, dropped_ranges = door.runs(name, limit=1_000).items, door.dropped_ranges(name, limit=1_000)
        except TompionError:
            continue
        rows = [[int(run.scheduled_for.timestamp()), run.source, str(run.state), run.reason] for run in runs]
        lost: Counter[str] = Counter()
        for dropped_range in dropped_ranges:
            lost[dropped_range.reason] += dropped_range.ticks
        told[name] = [sorted(rows, key=repr), sorted(map(list, lost.items()))]
    return told


def _launch_of(row: RunRow, compiled: CompiledSchedule) -> list[Any]:
    return [compiled.schedule_id, row.nominal_s, str(row.source), row.attempt]


@contextmanager
def on_sqlite(settings: Settings = SETTINGS) -> Iterator[Teller]:
    """A store in memory, asked directly."""
    clock = ManualClock(BEGIN)
    store = SqliteStore(clock=clock, inline=True)
    try:
        yield Teller(store, clock, Direct(runner_of(store, settings)), settings)
    finally:
        store.close()


@contextmanager
def over_rest() -> Iterator[Teller]:
    """A store in memory, behind a server on a port of this machine."""
    clock = ManualClock(BEGIN)
    with ExitStack() as stack:
        store = SqliteStore(clock=clock)
        stack.callback(store.close)
        client = Client(stack.enter_context(serving(runner_of(store, SETTINGS))))
        stack.callback(client.close)
        yield Teller(store, clock, client)


class OnPostgres:
    """A database that is emptied for each story."""

    def __init__(self, url: str) -> None:
        self._clock = ManualClock(BEGIN)
        self._store = PostgresStore(url, clock=self._clock, pool_size=2)
        self._emptying = ""

    def close(self) -> None:
        self._store.close()

    @contextmanager
    def __call__(self) -> Iterator[Teller]:
        self._clock.set(BEGIN)
        self._store.write(self._empty).result()
        yield Teller(self._store, self._clock, Direct(runner_of(self._store, SETTINGS)))

    def _empty(self, transaction: Any) -> None:
        cursor = transaction._cursor
        if not self._emptying:
            found = cursor.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'tompion_schema'"
            )
            tables = ", ".join(row[0] for row in found.fetchall())
            self._emptying = f"TRUNCATE {tables} RESTART IDENTITY"
        cursor.execute("SET LOCAL session_replication_role = replica")  # or the audit would refuse it
        cursor.execute(self._emptying)
        cursor.execute("ALTER SEQUENCE origin_numbers RESTART")
