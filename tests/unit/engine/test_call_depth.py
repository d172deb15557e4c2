"""The engine's frames on the way of a tick: at most 4 from the wake-up to the claim, at most 2 to the executor.

A frame is a function of ``tompion.engine`` on the stack. The loop that wakes up and the store's frames do not count.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import tompion.engine
from tests.unit.engine.harness import EngineHarness
from tompion.engine.execution.attempt import Attempt
from tompion.executors.base import Completed, RunContext
from tompion.runtime.clock import pause
from tompion.store.base import Transaction

ENGINE = Path(tompion.engine.__file__).parent
MAX_FRAMES_TO_CLAIM = 4
MAX_FRAMES_TO_EXECUTOR = 2


def engine_frames() -> list[str]:
    """Return the names of the engine's functions on the stack, the outermost first."""
    return [frame.name for frame in traceback.extract_stack() if Path(frame.filename).is_relative_to(ENGINE)]


@pytest.fixture
def stacks(harness: EngineHarness, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The engine's frames when one tick is claimed, when its attempt is created, and when its executor is called."""
    frames: dict[str, list[str]] = {}
    claim, create = Transaction.state_claim_due, Attempt.__init__

    def record_claim(self: Transaction, *args: Any) -> Any:
        frames["claim"] = engine_frames()
        return claim(self, *args)

    def record_attempt(self: Attempt, *args: Any) -> None:
        frames["attempt"] = engine_frames()
        create(self, *args)

    def record_call(_: RunContext) -> tuple[float, Completed]:
        frames["executor"] = engine_frames()
        return 0.0, Completed()

    monkeypatch.setattr(Transaction, "state_claim_due", record_claim)
    monkeypatch.setattr(Attempt, "__init__", record_attempt)
    harness.plan = record_call
    harness.create()

    async def scenario() -> None:
        await harness.engine().start()
        await pause(31)

    harness.run(scenario)
    return frames


def test_claim_is_at_most_four_frames_below_the_loop_that_wakes_up(stacks: dict[str, list[str]]) -> None:
    loop, *between = stacks["claim"]
    assert loop == "find"
    assert between == ["_run_pass", "run", "run_leased", "on_time"]
    assert len(between) <= MAX_FRAMES_TO_CLAIM


def test_attempt_is_created_at_most_two_frames_after_the_commit(stacks: dict[str, list[str]]) -> None:
    after_commit = stacks["attempt"][stacks["attempt"].index("apply") :]
    assert after_commit == ["apply", "start"]
    assert len(after_commit) <= MAX_FRAMES_TO_EXECUTOR


def test_executor_is_called_at_most_two_frames_below_the_task_of_its_run(stacks: dict[str, list[str]]) -> None:
    assert stacks["executor"] == ["_execute", "_call_executor"]
    assert len(stacks["executor"]) <= MAX_FRAMES_TO_EXECUTOR
