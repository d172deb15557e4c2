"""The schedules of a trial, and their ticks by plain arithmetic: the proof must not use the engine that it judges."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple


class Plan(NamedTuple):
    """One schedule: how to create it, and what is known about its ticks."""

    schedule_id: str
    fields: dict[str, Any]
    overlap: str
    pausable: bool = False
    edited: bool = False
    resumed_with_skip: bool = False

    @property
    def strict(self) -> bool:
        """Whether each of its ticks must be a run of its own: nothing but an edit or a resume may drop any."""
        return not self.edited and not self.resumed_with_skip


class Beat(NamedTuple):
    """The ticks of a spec: every ``step`` seconds, shifted by ``offset``."""

    step: int
    offset: int = 0

    def between(self, after_s: int, until_s: int) -> range:
        """Return the ticks after one instant, up to and including another."""
        first = after_s + 1 + (self.offset - after_s - 1) % self.step
        return range(first, until_s + 1, self.step)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the spec, with the alternative fields emptied."""
        if self.offset:
            return {"cron": [], "intervals": [{"every": self.step, "offset": self.offset}]}
        return {"cron": "* * * * * *" if self.step == 1 else f"*/{self.step} * * * * *", "intervals": []}


def beat_of(spec: dict[str, Any]) -> Beat:
    """Return the beat of a spec as it is stored. Knows the few forms that :meth:`Beat.fields` writes."""
    if spec.get("intervals"):
        (interval,) = spec["intervals"]
        return Beat(_seconds(interval["every"]), _seconds(interval.get("offset", 0)))
    (cron,) = [spec["cron"]] if isinstance(spec["cron"], str) else spec["cron"]
    second = cron.split()[0]
    return Beat(1 if second == "*" else int(second.removeprefix("*/")))


def _seconds(value: int | str) -> int:
    return int(str(value).removesuffix("s"))


def plans_of(dice: Random, end_s: int) -> list[Plan]:
    """Return some forty schedules that end at an instant. Nothing lawful drops a tick of most of them."""
    return [plan._replace(fields={**plan.fields, "end_at": at(end_s)}) for plan in _plans(dice)]


def at(second: int) -> str:
    """Return an instant as a spec has it."""
    return datetime.fromtimestamp(second, UTC).isoformat()


def _plans(dice: Random) -> Iterator[Plan]:
    for number in range(12):
        yield _plan(f"every-second-{number}", Beat(1), "allow", dice.randint(0, 300), pausable=number < 2)
    for number in range(4):
        yield _plan(f"in-threads-{number}", Beat(2), "allow", dice.randint(50, 900), in_thread=True)
    for number in range(3):
        yield _plan(f"interval-{number}", Beat(3, number % 2 + 1), "allow", dice.randint(50, 500))
    for number in range(2):  # longer than a lease, so that it must be renewed
        yield _plan(f"long-{number}", Beat(5), "allow", dice.randint(2_500, 3_500))
    for number in range(4):
        yield _plan(f"skip-{number}", Beat(1), "skip", dice.randint(300, 1_400), pausable=number == 0)
    for number in range(4):  # short enough to make up for what a pause or a dead worker has held up
        yield _plan(f"queue-{number}", Beat(2), "queue", dice.randint(100, 500), pausable=number == 0)
    for number in range(3):  # one tick after another finds the run before it still in flight
        ms = dice.randint(700, 1_600)
        yield _plan(f"cancel-{number}", Beat(1), "cancel_other", ms, pausable=number == 0, in_thread=number == 2)
        yield _plan(f"terminate-{number}", Beat(1), "terminate_other", ms, pausable=number == 0, in_thread=number == 2)
    edited = _plan("edited", Beat(1), "allow", 100)
    yield edited._replace(edited=True)
    resumed = _plan("resumed-with-skip", Beat(1), "allow", 100, pausable=True)
    yield resumed._replace(resumed_with_skip=True, fields={**resumed.fields, "on_resume": "skip"})


def _plan(
    schedule_id: str, beat: Beat, overlap: str, ms: int, *, pausable: bool = False, in_thread: bool = False
) -> Plan:
    fields = {
        **beat.fields(),
        "function": f"tests.chaos.recorder:{'stubbornly' if in_thread else 'gently'}",
        "payload": {"ms": ms},
        "overlap_policy": overlap,
        "catchup_policy": "fire_immediately",
    }
    return Plan(schedule_id, fields, overlap, pausable)
