"""Timelines of what policies do: a story is rehearsed, and what really happened is drawn.

Each story is a schedule, how long its runs take, and what happens meanwhile, in a few words::

    Story("skip", cron="*/5 * * * *", takes="7m", fields={"overlap_policy": "skip"}, steps="22m")

``steps`` are separated by commas: a duration lets time pass, ``down 20m`` lets it pass while nobody is there;
``pause``, ``resume``, ``trigger``, ``skip``, ``pause target``, ``resume target`` and
``backfill 11:30-11:45 only=missing`` ask for what they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tompion import Settings, Spec, SyncTompion
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
class Story:
    """What is rehearsed and drawn."""

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
    """A stretch of time with something to say about it."""

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


class Stage:
    """A story while it is told."""

    def __init__(self, story: Story, rehearsal: Rehearsal) -> None:
        self.story = story
        self.rehearsal = rehearsal
        self.begin = rehearsal.now
        self.bands: list[Band] = []
        self._open: dict[str, datetime] = {}

    def play(self) -> None:
        """Let everything happen."""
        for step in self.story.steps.split(", "):
            self._step(*step.split())
        for label in list(self._open):
            self._close(label)
        paused_at = self.rehearsal.get(self.story.ids[0]).paused_at
        if paused_at is not None and not self.bands:
            self.bands.append(Band("paused", paused_at, self.rehearsal.now))

    def _step(self, verb: str, *words: str) -> None:
        job, rehearsal = self.story.ids[0], self.rehearsal
        if verb == "down":
            start = rehearsal.now
            rehearsal.outage(words[0])
            self.bands.append(Band("down", start, rehearsal.now))
        elif verb == "pause" and words:
            self._open["target paused"] = rehearsal.now
            rehearsal.pause_target(workflow_id=job)
        elif verb == "resume" and words:
            self._close("target paused")
            rehearsal.resume_target(workflow_id=job)
        elif verb == "pause":
            self._open["paused"] = rehearsal.now
            rehearsal.pause(job)
        elif verb == "resume":
            self._close("paused")
            rehearsal.resume(job)
        elif verb == "trigger":
            rehearsal.trigger(job)
        elif verb == "skip":
            rehearsal.skip(job)
        elif verb == "backfill":
            first, _, last = words[0].partition("-")
            options: Any = dict(word.split("=") for word in words[1:])
            rehearsal.backfill(job, f"{DAY}T{first}:00Z", f"{DAY}T{last}:00Z", **options)
        else:
            rehearsal.advance(verb)

    def _close(self, label: str) -> None:
        self.bands.append(Band(label, self._open.pop(label), self.rehearsal.now))


def draw(story: Story) -> str:
    """Rehearse a story, and return its picture."""
    app = SyncTompion("sqlite://")

    attempts: list[Attempt] = []

    async def job(run: RunContext) -> None:
        begun = rehearsal.now
        try:
            await asyncio.sleep(parse_duration(story.takes, field="takes"))
            if f"{run.scheduled_for:%H:%M}" in story.fails_at:
                raise ValueError("no luck")
        finally:
            attempts.append(Attempt(run.run_id, run.attempt, begun, rehearsal.now))

    if not story.workflow:
        for name in story.ids:
            app.schedule(story.cron, schedule_id=name, **story.fields)(job)
    chosen: dict[str, Any] = {**QUIET, **story.settings}
    settings = Settings(**chosen)
    seconds = float(parse_duration(story.takes, field="takes"))
    target = RecordingExecutor(lambda: 0.0, lambda _: (seconds, Completed(result="1")))
    at = f"{DAY}T{story.begin}:00Z"
    with Rehearsal(app, at=at, settings=settings, executors={"http": target}) as rehearsal:
        if story.workflow:
            rehearsal.put_workflow("job", {"executor": "http", "triggers": [{"cron": story.cron, **story.fields}]})
        stage = Stage(story, rehearsal)
        stage.play()
        for name in story.ids:
            assert rehearsal.verify(name).ok, "a picture of a ledger that is not whole"
        return "\n".join(line.rstrip() for line in (_heading(story), "", *_Canvas(stage, attempts).lines()))


def _heading(story: Story) -> str:
    said = [f'cron="{story.cron}"', *(f"{name}={_written(value)}" for name, value in story.fields.items())]
    said += [f"{name}={value}" for name, value in story.settings.items()]
    failing = "".join(f"; that of {tick} fails" for tick in sorted(story.fails_at))
    return f"{', '.join(said)}\na run takes {story.takes}{failing}"


def _written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


class _Canvas:
    """Columns of time: one line for the clock, the ticks, each run and each span."""

    def __init__(self, stage: Stage, attempts: list[Attempt]) -> None:
        self._stage = stage
        self._attempts = attempts
        self._story = stage.story
        self._begin = stage.begin
        self._end = stage.rehearsal.now
        self._column = timedelta(seconds=parse_duration(stage.story.column, field="column"))
        self._width = self._at(self._end) + 2

    def lines(self) -> list[str]:
        drawn = [self._clock(), self._ticks()]
        drawn += [self._band(band) for band in self._stage.bands]
        rows: list[tuple[datetime, datetime, str]] = []
        rehearsal = self._stage.rehearsal
        for name in self._story.ids:
            rows += [(run.scheduled_for, run.decided_at, self._run(run)) for run in rehearsal.all_runs(name)]
            rows += [
                (self._dropped(dropped_range)[0], dropped_range.decided_at, self._span(dropped_range))
                for dropped_range in rehearsal.dropped_ranges(name)
            ]
        drawn += [line for _, _, line in sorted(rows)]
        state = rehearsal.get(self._story.ids[0]).state
        return drawn if state == "active" else [*drawn, "", f"the schedule is {state}"]

    def _at(self, moment: datetime) -> int:
        return int((moment - self._begin) / self._column)

    def _line(self, label: str, cells: dict[int, str], text: str = "") -> str:
        row = "".join(cells.get(column, " ") for column in range(self._width))
        return f"{label:<{LABEL}}{row} {text}"

    def _clock(self) -> str:
        every = self._story.label_every
        labels = [f"{self._begin + column * self._column:%H:%M}" for column in range(0, self._width, every)]
        return " " * LABEL + "".join(f"{label:<{every}}" for label in labels)

    def _ticks(self) -> str:
        found = Spec(cron=self._story.cron).between(self._begin, self._end)
        return self._line("ticks", {self._at(tick): TICK for tick in found})

    def _band(self, band: Band) -> str:
        return self._line(band.label, dict.fromkeys(range(self._at(band.start), self._at(band.end)), ABSENT))

    def _run(self, run: Run) -> str:
        cells = {}
        ended = run.finished_at or self._end
        started = run.started_at or ended
        for column in range(self._at(run.decided_at), self._at(started)):
            cells[column] = WAITS
        if run.started_at is not None:
            for column in range(self._at(started), self._at(ended)):
                cells[column] = RUNS
        for earlier in self._attempts:
            if earlier.run_id == run.run_id and earlier.attempt < run.attempt:
                cells |= dict.fromkeys(range(self._at(earlier.start), self._at(earlier.end)), RUNS)
                cells[self._at(earlier.end)] = BREAKS
        if run.finished_at is not None:
            cells[self._at(ended)] = {"SUCCESS": ENDS, "SKIPPED": SKIPS}.get(run.state, BREAKS)
        return self._line(self._label(run), cells, " ".join(filter(None, [run.state, run.reason])))

    def _label(self, run: Run) -> str:
        if len(self._story.ids) > 1:
            return run.schedule_id
        return f"{run.scheduled_for:%H:%M}" + ("" if run.source == "schedule" else f" {run.source}")

    def _dropped(self, dropped_range: DroppedTicks) -> list[datetime]:
        return Spec(cron=self._story.cron).between(dropped_range.after + timedelta(seconds=1), dropped_range.until)

    def _span(self, dropped_range: DroppedTicks) -> str:
        found = self._dropped(dropped_range)
        assert len(found) >= dropped_range.ticks
        return self._line(
            "dropped", {self._at(tick): DROPS for tick in found}, f"{dropped_range.ticks} × {dropped_range.reason}"
        )
