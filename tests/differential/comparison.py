"""Two sides tell the same story: the first difference, and the shortest story that still shows one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.differential.generator import NAMES, Story
from tests.differential.reference import Reference
from tests.differential.sides import Teller, gist, history

Opening = Callable[[], AbstractContextManager[Teller]]
LOOK_EVERY = 6


class Difference(NamedTuple):
    """Where two sides part."""

    step: int
    what: str
    here: str
    there: str

    def __str__(self) -> str:
        return f"step {self.step}, {self.what}:\n  {self.here}\n  {self.there}"


Judge = Callable[[Story], Difference | None]


def alike(here: Opening, there: Opening) -> Judge:
    """Compare every answer of two sides, and now and then everything there is to see."""

    def judge(story: Story) -> Difference | None:
        with here() as one, there() as other:
            for number, step in enumerate(story):
                answers = one.tell(step), other.tell(step)
                if answers[0] != answers[1]:
                    return Difference(number, f"{step}", *answers)
                if number % LOOK_EVERY == LOOK_EVERY - 1 or number == len(story) - 1:
                    looks = one.look(), other.look()
                    if looks[0] != looks[1]:
                        return Difference(number, "to be seen", *_first(*looks))
        return None

    return judge


def by_heart(here: Opening) -> Judge:
    """Compare a side with the reference: the gist of its answers, and what became of every tick."""

    def judge(story: Story) -> Difference | None:
        with here() as teller:
            reference = Reference(int(teller.clock.now() * 1000))
            for number, step in enumerate(story):
                answers = gist(teller.take(step)), reference.take(step)
                if step.name not in ("advance", "tick", "settle") and answers[0] != answers[1]:
                    return Difference(number, f"{step}", *map(repr, answers))
                told = history(teller, NAMES), _known(reference)
                if told[0] != told[1]:
                    return Difference(number, f"ledger after {step}", *_first_row(*told))
        return None

    return judge


def shortened(story: Story, judge: Judge) -> Story:
    """The story without every step that does not matter for there being a difference."""
    found = judge(story)
    assert found is not None
    story = story[: found.step + 1]
    size = len(story) // 2
    while size:
        at = 0
        while at < len(story):
            shorter = story[:at] + story[at + size :]
            if judge(shorter) is None:
                at += size
            else:
                story = shorter
        size //= 2
    return story


def _known(reference: Reference) -> dict[str, list[Any]]:
    """What became of every tick, by heart."""
    told = {}
    for name, one in reference.all.items():
        rows = [[run["nominal"], run["source"], run["state"], run["reason"]] for run in one["runs"]]
        lost = [[reason, count] for reason, count in one["dropped_ranges"].items() if count]
        told[name] = [sorted(rows, key=repr), sorted(lost)]
    return told


def _first(here: str, there: str) -> tuple[str, str]:
    pairs = zip(here.splitlines(), there.splitlines(), strict=False)
    return next((pair for pair in pairs if pair[0] != pair[1]), (here, there))


def _first_row(here: dict[str, Any], there: dict[str, Any]) -> tuple[str, str]:
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            ours, theirs = ({repr(row) for part in side.get(name, []) for row in part} for side in (here, there))
            return f"{name} {sorted(ours - theirs)}", f"{name} {sorted(theirs - ours)}"
    raise AssertionError("they are equal")
