"""Timelines of policies: a scenario runs in a rehearsal, and the outcome is drawn.

A scenario has a schedule, the duration of its runs and a list of steps::

    Scenario("skip", cron="*/5 * * * *", takes="7m", fields={"overlap_policy": "skip"}, steps="22m")

``steps`` are separated by commas. A duration lets time pass, and ``down 20m`` lets it pass without an engine.
``pause``, ``resume``, ``trigger``, ``skip``, ``pause target``, ``resume target`` and ``backfill 11:30-11:45
only=missing`` are requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tompion import Settings, Spec, Tompion
from tompion.config.settings import DAY_MS
from tompion.executors.base import Completed, RunContext
from tompion.model.schedule import DroppedTicks, Run
from tompion.spec.duration import parse_duration
from tompion.testing import Rehearsal
from tompion.testing.executor import RecordingExecutor

LABEL = 15
WAITS, RUNS, ENDS, BREAKS, SKIPS, DROPS, TICK, ABSENT = ". = > ! x - | ~".split()
QUIET = {
    "tick_ms": DAY_MS,
    "heartbeat_ms": DAY_MS,
    "lock_ttl_ms": 3 * DAY_MS,
    "sweep_ms": DAY_MS,
    "settle_gather_ms": 0,
}
DAY = "2026-01-05"


@dataclass(frozen=True)
class Scenario:
    """A scenario to rehearse and draw."""

    name: str
    cron: str
    steps: str
    takes: str = "1m"
    fields: Mapping[str, Any] = field(default_factory=dict)
    begin: str = "12:00"
    column: str = "1m"
    label_every: int = 10
    ids: tuple[str, ...] = ("job",)
    fails_at: frozenset[str] = frozenset()
    settings: Mapping[str, int] = field(default_factory=dict)
    workflow: bool = False


@dataclass(frozen=True)
class Band:
    """A labelled period."""

    label: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Attempt:
    """One call of the function that a schedule runs."""

    run_id: str
    attempt: int
    start: datetime
    end: datetime


class Player:
    """Plays the steps of a scenario in a rehearsal."""

    def __init__(self, scenario: Scenario, rehearsal: Rehearsal) -> None:
        self.scenario = scenario
        self.rehearsal = rehearsal
        self.begin = rehearsal.now
        self.bands: list[Band] = []
        self._open: dict[str, datetime] = {}

    def play(self) -> None:
        """Play all steps."""
        for step in self.scenario.steps.split(", "):
            self._step(*step.split())
        for label in list(self._open):
            self._close(label)
        paused_at = self.rehearsal.get(self.scenario.ids[0]).paused_at
        if paused_at is not None and not self.bands:
            self.bands.append(Band("paused", paused_at, self.rehearsal.now))

    def _step(self, verb: str, *words: str) -> None:
        job, rehearsal = self.scenario.ids[0], self.rehearsal
        if verb == "down":
            start = rehearsal.now
            rehearsal.outage(words[0])
            self.bands.append(Band("down", start, rehearsal.now))
        elif verb == "pause" and words:
            self._open["target paused"] = rehearsal.now
            rehearsal.workflows.pause(job)
        elif verb == "resume" and words:
            self._close("target paused")
            rehearsal.workflows.resume(job)
        elif verb == "pause":
            self._open["paused"] = rehearsal.now
            rehearsal.pause(job)
        elif verb == "resume":
            self._close("paused")
            rehearsal.resume(job)
        elif verb == "trigger":
            rehearsal.trigger(job)
        elif verb == "skip":
            rehearsal.schedules.skip(job)
        elif verb == "backfill":
            first, _, last = words[0].partition("-")
            options: Any = dict(word.split("=") for word in words[1:])
            rehearsal.backfill(job, f"{DAY}T{first}:00Z", f"{DAY}T{last}:00Z", **options)
        else:
            rehearsal.advance(verb)

    def _close(self, label: str) -> None:
        self.bands.append(Band(label, self._open.pop(label), self.rehearsal.now))


def draw(scenario: Scenario) -> str:
    """Rehearse a scenario and return its diagram."""
    app = Tompion("sqlite://")

    attempts: list[Attempt] = []

    async def job(run: RunContext) -> None:
        begun = rehearsal.now
        try:
            await asyncio.sleep(parse_duration(scenario.takes, field="takes"))
            if f"{run.run_at:%H:%M}" in scenario.fails_at:
                raise ValueError("planned failure")
        finally:
            attempts.append(Attempt(run.run_id, run.attempt, begun, rehearsal.now))

    if not scenario.workflow:
        for name in scenario.ids:
            app.schedule(scenario.cron, schedule_id=name, **scenario.fields)(job)
    limits: dict[str, Any] = {**QUIET, **scenario.settings}
    settings = Settings(**limits)
    seconds = float(parse_duration(scenario.takes, field="takes"))
    target = RecordingExecutor(lambda: 0.0, lambda _: (seconds, Completed(result="1")))
    at = f"{DAY}T{scenario.begin}:00Z"
    with Rehearsal(app, at=at, settings=settings, executors={"http": target}) as rehearsal:
        if scenario.workflow:
            rehearsal.workflows.put(
                "job", {"executor": "http", "triggers": [{"cron": scenario.cron, **scenario.fields}]}
            )
        player = Player(scenario, rehearsal)
        player.play()
        for name in scenario.ids:
            assert rehearsal.schedules.verify(name).ok, "the ledger does not verify"
        return "\n".join(line.rstrip() for line in (_heading(scenario), "", *_Canvas(player, attempts).lines()))


def _heading(scenario: Scenario) -> str:
    parts = [f'cron="{scenario.cron}"', *(f"{name}={_written(value)}" for name, value in scenario.fields.items())]
    parts += [f"{name}={value}" for name, value in scenario.settings.items()]
    failing = "".join(f"; that of {tick} fails" for tick in sorted(scenario.fails_at))
    return f"{', '.join(parts)}\na run takes {scenario.takes}{failing}"


def _written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


class _Canvas:
    """Draws one line for the clock, the ticks, each run and each dropped range."""

    def __init__(self, player: Player, attempts: list[Attempt]) -> None:
        self._player = player
        self._attempts = attempts
        self._scenario = player.scenario
        self._begin = player.begin
        self._end = player.rehearsal.now
        self._column = timedelta(seconds=parse_duration(player.scenario.column, field="column"))
        self._width = self._at(self._end) + 2

    def lines(self) -> list[str]:
        drawn = [self._clock(), self._ticks()]
        drawn += [self._band(band) for band in self._player.bands]
        rows: list[tuple[datetime, datetime, str]] = []
        rehearsal = self._player.rehearsal
        for name in self._scenario.ids:
            rows += [(run.run_at, run.created_at, self._run(run)) for run in rehearsal.all_runs(name)]
            rows += [
                (self._dropped_ticks(dropped_range)[0], dropped_range.decided_at, self._dropped_line(dropped_range))
                for dropped_range in rehearsal.schedules.dropped_ranges(name)
            ]
        drawn += [line for _, _, line in sorted(rows)]
        state = rehearsal.get(self._scenario.ids[0]).status
        return drawn if state == "active" else [*drawn, "", f"the schedule is {state}"]

    def _at(self, moment: datetime) -> int:
        return int((moment - self._begin) / self._column)

    def _line(self, label: str, cells: dict[int, str], text: str = "") -> str:
        row = "".join(cells.get(column, " ") for column in range(self._width))
        return f"{label:<{LABEL}}{row} {text}"

    def _clock(self) -> str:
        every = self._scenario.label_every
        labels = [f"{self._begin + column * self._column:%H:%M}" for column in range(0, self._width, every)]
        return " " * LABEL + "".join(f"{label:<{every}}" for label in labels)

    def _ticks(self) -> str:
        ticks = Spec(cron=self._scenario.cron).between(self._begin, self._end)
        return self._line("ticks", {self._at(tick): TICK for tick in ticks})

    def _band(self, band: Band) -> str:
        return self._line(band.label, dict.fromkeys(range(self._at(band.start), self._at(band.end)), ABSENT))

    def _run(self, run: Run) -> str:
        cells = {}
        ended = run.finished_at or self._end
        started = run.started_at or ended
        for column in range(self._at(run.created_at), self._at(started)):
            cells[column] = WAITS
        if run.started_at is not None:
            for column in range(self._at(started), self._at(ended)):
                cells[column] = RUNS
        for earlier in self._attempts:
            if earlier.run_id == run.run_id and earlier.attempt < run.attempt:
                cells |= dict.fromkeys(range(self._at(earlier.start), self._at(earlier.end)), RUNS)
                cells[self._at(earlier.end)] = BREAKS
        if run.finished_at is not None:
            cells[self._at(ended)] = {"SUCCESS": ENDS, "SKIPPED": SKIPS}.get(run.status, BREAKS)
        return self._line(self._label(run), cells, " ".join(filter(None, [run.status, run.reason])))

    def _label(self, run: Run) -> str:
        if len(self._scenario.ids) > 1:
            return run.schedule_id
        return f"{run.run_at:%H:%M}" + ("" if run.source == "schedule" else f" {run.source}")

    def _dropped_ticks(self, dropped_range: DroppedTicks) -> list[datetime]:
        return Spec(cron=self._scenario.cron).between(dropped_range.after + timedelta(seconds=1), dropped_range.until)

    def _dropped_line(self, dropped_range: DroppedTicks) -> str:
        ticks = self._dropped_ticks(dropped_range)
        assert len(ticks) >= dropped_range.ticks
        return self._line(
            "dropped", {self._at(tick): DROPS for tick in ticks}, f"{dropped_range.ticks} × {dropped_range.reason}"
        )
