"""Scenarios of the simulation, compared with the models by TLC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from models.checking import Report, run_tlc
from tests.models.backfill_trace import backfill_module
from tests.models.overlap_trace import overlap_module
from tests.models.recorder import Recording
from tests.models.tla_text import Module, fire_module, lease_module
from tests.simulation.scenario import SETTINGS
from tompion.plan.backfill import RECHECK_MS

EVERY_COMMIT = ("FirstStepIsCorrect", "EveryCommitIsAStep")


class Replayed(NamedTuple):
    """The verdict of TLC, the number of traces, and the number of relevant and of compared commits."""

    report: Report
    traces: int
    steps: int
    of: int


def replay_fire(recordings: Iterable[Recording]) -> Replayed:
    """Compare states, runs of ticks and dropped ranges with the planner's model."""
    constants = {
        "Ticks": "<- TraceTicks", "FireAt": "<- TraceFires", "Policies": "<- TracePolicies", "Specs": "<- TraceSpecs",
        "Grace": f"= {SETTINGS.misfire_grace_ms}", "MaxCatchup": f"= {SETTINGS.max_catchup_per_tick}",
        "MaxSpread": f"= {SETTINGS.max_buffer}", "MaxDroppedTicks": f"= {SETTINGS.max_dropped_range_ticks}",
        "Lookahead": f"= {SETTINGS.lookahead_ms}", "TickLength": f"= {SETTINGS.tick_ms}", "Second": "= 1000",
        "Guards": '= {"pause", "cursor"}', "MaxDelay": f"= {SETTINGS.misfire_grace_ms}",
    }  # fmt: skip
    return _replay("FireTrace", constants, fire_module(recordings), "DecidedInTheEnd")


def replay_lease(recordings: Iterable[Recording]) -> Replayed:
    """Compare owners, attempts and ends of runs with the model of leases."""
    return _replay("LeaseTrace", {"Guards": '= {"fence", "state", "attempt"}'}, lease_module(recordings))


def replay_overlap(recordings: Iterable[Recording]) -> Replayed:
    """Compare starts, waits, skips and releases with the model of overlap and buffer."""
    constants = {"MaxBuffer": f"= {SETTINGS.max_buffer}", "Guards": '= {"slot", "bound", "fifo"}'}
    return _replay("OverlapTrace", constants, overlap_module(recordings))


def replay_backfill(recordings: Iterable[Recording]) -> Replayed:
    """Compare rows of backfills and their runs with the model of backfills."""
    constants = {
        "MaxBuffer": f"= {SETTINGS.max_buffer}", "Size": f"= {SETTINGS.backfills_per_iteration}",
        "Recheck": f"= {RECHECK_MS}", "Guards": '= {"slot", "bound", "fifo", "slotCheck", "cursor"}',
    }  # fmt: skip
    return _replay("BackfillTrace", constants, backfill_module(recordings))


def _replay(name: str, constants: dict[str, str], traces: Module, *more: str) -> Replayed:
    lines = ["SPECIFICATION TraceSpec", "CONSTANTS", *(f"    {key} {value}" for key, value in constants.items())]
    lines += [f"INVARIANT {invariant}" for invariant in (*EVERY_COMMIT, *more)]
    report = run_tlc(name, "\n".join(lines) + "\n", {"Traces": traces.text})
    return Replayed(report, traces.traces, traces.steps, traces.of)


REPLAYS: dict[str, Callable[[Sequence[Recording]], Replayed]] = {
    "Fire": replay_fire,
    "Lease": replay_lease,
    "Overlap": replay_overlap,
    "Backfill": replay_backfill,
}
