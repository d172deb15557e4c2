"""Five hundred scenarios and every planted defect, in each run of the suite."""

from __future__ import annotations

import inspect
import re
from collections import Counter

import pytest

from tests.simulation import observer
from tests.simulation.__main__ import detect
from tests.simulation.checkers import CHECKERS
from tests.simulation.defects import DEFECTS, Defect
from tests.simulation.expected_detections import EXPECTED_DETECTIONS
from tests.simulation.scenario import LAUNCHED, run_scenario
from tompion.testing.faults import Fault

SEEDS = 500
PER_TEST = 10
REGRESSION_SEEDS = (10_000_360, 10_004_057, 10_006_506, 30_012_771, 30_016_340)
"""Seeds with a violation that a long search found. The defects behind them are fixed."""

EXPECTED = (
    *(fault.value for fault in Fault if fault is not Fault.NONE),
    "kill", "graceful_stop", "clock_step", "crashing_run",
    "overlap", "superseded", "buffer_full", "min_interval", "retry", "catch_up", "cancel_requested", "shadow",
    "skip_requested", "target_paused", "target_unreachable", "launch_failed", "limit_reached", "worker_lost", "zombie",
    "SUCCESS", "no result", "FAILED", "CANCELLED", "TERMINATED", "TIMED_OUT",
    "source:schedule", "source:trigger", "source:backfill", "source:hint",
    "dropped:missed", "dropped:coalesced", "dropped:outside_window",
    "dropped:edited", "dropped:deleted", "dropped:resumed",
)  # fmt: skip


@pytest.mark.parametrize("first", range(0, SEEDS, PER_TEST))
def test_no_scenario_violates_a_rule(first: int) -> None:
    broken = {
        seed: verdict.violations[:3]
        for seed in range(first, first + PER_TEST)
        if (verdict := run_scenario(seed)).violations
    }
    assert not broken, f"run one again with: python -m tests.simulation --seed {next(iter(broken))}\n{broken}"


@pytest.mark.parametrize("seed", REGRESSION_SEEDS)
def test_a_seed_that_once_violated_a_rule_passes(seed: int) -> None:
    assert not run_scenario(seed).violations


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_detected(defect: Defect) -> None:
    assert detect(defect) is not None


def test_every_rule_is_broken_by_a_planted_defect() -> None:
    """A rule that no defect violates proves nothing, and a violation of another rule is no evidence for this one."""
    observed = re.findall(r'_report\(\s*"([^"]+)"', inspect.getsource(observer))
    rules = {LAUNCHED, *observed, *(checker.__name__.replace("_", " ") for checker in CHECKERS)}
    assert {detection.rule for detection in EXPECTED_DETECTIONS.values()} == rules
    assert EXPECTED_DETECTIONS.keys() == {defect.name for defect in DEFECTS}


def test_a_seed_gives_the_same_scenario_twice() -> None:
    for seed in (3, 14, 15):
        assert run_scenario(seed).digest == run_scenario(seed).digest


def test_scenarios_reach_every_kind_of_fault_and_decision() -> None:
    """A search that never reaches a case proves nothing about it."""
    reached: Counter[str] = Counter()
    for seed in range(1_000, 1_060):
        verdict = run_scenario(seed)
        reached.update(verdict.faults)
        reached.update(verdict.reached)
    assert [name for name in EXPECTED if not reached[name]] == []
