"""The tables of planted defects in docs/explanation/planted-defects.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.interleavings.defects import INTERLEAVING_DEFECTS
from tests.simulation.defects import DEFECTS
from tests.simulation.expected_detections import EXPECTED_DETECTIONS

SIMULATION_HEAD = "| defect | what it does | detected by the rule | first seed |\n|---|---|---|---|\n"
INTERLEAVINGS_HEAD = "| defect | what it does |\n|---|---|\n"


def simulation_rows() -> list[str]:
    """Return a row for each defect of the simulation: the rule that detects it, and the first seed."""
    rows = []
    for defect in DEFECTS:
        rule, seed = EXPECTED_DETECTIONS[defect.name]
        rows.append(f"| `{defect.name}` | {_description(defect.plant)} | {rule} | {seed} |\n")
    return rows


def interleaving_rows() -> list[str]:
    """Return a row for each defect of the interleavings."""
    return [f"| `{defect.name}` | {_description(defect.plant)} |\n" for defect in INTERLEAVING_DEFECTS]


def _description(plant: Callable[..., Any]) -> str:
    return (plant.__doc__ or "").strip().splitlines()[0].removesuffix(".")
