"""Comparison of two sides: the first difference, and the shortest scenario that shows one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.differential.generator import NAMES, Scenario
from tests.differential.reference import Reference
from tests.differential.sides import Side, history, reference_view

OpenSide = Callable[[], AbstractContextManager[Side]]
SNAPSHOT_INTERVAL = 6


class Difference(NamedTuple):
    """The first difference between two sides."""

    step: int
    what: str
    here: str
    there: str

    def __str__(self) -> str:
        return f"step {self.step}, {self.what}:\n  {self.here}\n  {self.there}"


Comparison = Callable[[Scenario], Difference | None]


def compare_sides(here: OpenSide, there: OpenSide) -> Comparison:
    """Compare every result of two sides, and a snapshot of all schedules every few steps."""

    def compare(scenario: Scenario) -> Difference | None:
        with here() as one, there() as other:
            for number, step in enumerate(scenario):
                answers = one.perform_text(step), other.perform_text(step)
                if answers[0] != answers[1]:
                    return Difference(number, f"{step}", *answers)
                if number % SNAPSHOT_INTERVAL == SNAPSHOT_INTERVAL - 1 or number == len(scenario) - 1:
                    snapshots = one.snapshot(), other.snapshot()
                    if snapshots[0] != snapshots[1]:
                        return Difference(number, "snapshot", *_first(*snapshots))
        return None

    return compare


def compare_with_reference(here: OpenSide) -> Comparison:
    """Compare the results and the ledger of a side with the reference."""

    def compare(scenario: Scenario) -> Difference | None:
        with here() as side:
            reference = Reference(int(side.clock.now() * 1000))
            for number, step in enumerate(scenario):
                answers = reference_view(side.perform(step)), reference.perform(step)
                if step.name not in ("advance", "tick", "settle") and answers[0] != answers[1]:
                    return Difference(number, f"{step}", *map(repr, answers))
                ledgers = history(side, NAMES), _reference_history(reference)
                if ledgers[0] != ledgers[1]:
                    return Difference(number, f"ledger after {step}", *_first_row(*ledgers))
        return None

    return compare


def minimise(scenario: Scenario, compare: Comparison) -> Scenario:
    """Return the scenario without the steps that the difference does not need."""
    difference = compare(scenario)
    assert difference is not None
    scenario = scenario[: difference.step + 1]
    size = len(scenario) // 2
    while size:
        at = 0
        while at < len(scenario):
            shorter = scenario[:at] + scenario[at + size :]
            if compare(shorter) is None:
                at += size
            else:
                scenario = shorter
        size //= 2
    return scenario


def _reference_history(reference: Reference) -> dict[str, list[Any]]:
    """Return the outcome of every tick in the reference."""
    histories = {}
    for name, one in reference.all.items():
        rows = [[run["nominal"], run["source"], run["state"], run["reason"]] for run in one["runs"]]
        lost = [[reason, count] for reason, count in one["dropped"].items() if count]
        histories[name] = [sorted(rows, key=repr), sorted(lost)]
    return histories


def _first(here: str, there: str) -> tuple[str, str]:
    pairs = zip(here.splitlines(), there.splitlines(), strict=False)
    return next((pair for pair in pairs if pair[0] != pair[1]), (here, there))


def _first_row(here: dict[str, Any], there: dict[str, Any]) -> tuple[str, str]:
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            ours, theirs = ({repr(row) for part in side.get(name, []) for row in part} for side in (here, there))
            return f"{name} {sorted(ours - theirs)}", f"{name} {sorted(theirs - ours)}"
    raise AssertionError("they are equal")
