"""A real engine in virtual time, whose targets are down for a while."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.engine.harness import BEGIN, EngineHarness
from tompion.config.settings import Settings
from tompion.errors import LaunchError, LaunchRefused, TargetUnreachable
from tompion.executors.base import Completed, Executor, RunContext
from tompion.model.policy import LaunchErrors
from tompion.operations.context import OperationContext
from tompion.operations.resources import workflows
from tompion.operations.runs import cancel, read
from tompion.operations.schedules import control, crud
from tompion.runtime.clock import pause

DOWN = "cannot reach 127.0.0.1:9"


def down_until(harness: EngineHarness, second: float, error: Callable[[], LaunchError] | None = None) -> None:
    """Let every launch before a second of the scenario fail."""

    def plan(run: RunContext) -> tuple[float, Completed]:
        if harness.clock.now() < BEGIN + second:
            raise error() if error is not None else TargetUnreachable(DOWN)
        return 0.0, Completed()

    harness.plan = plan


def run_for(harness: EngineHarness, seconds: float, settings: Settings | None = None) -> None:
    async def scenario() -> None:
        await harness.engine(settings).start()
        await pause(seconds)

    harness.run(scenario)


def last_run(harness: EngineHarness, schedule_id: str = "report") -> Any:
    return harness.call(read.runs, schedule_id).items[0]


def test_run_waits_for_an_unreachable_target_and_then_succeeds(harness: EngineHarness) -> None:
    """Regression: a target that was away for 7.7 s cost every run that was due meanwhile."""
    harness.create(cron="1 8 * * *")
    down_until(harness, 30 + 7.7)
    run_for(harness, 60)
    assert harness.states() == ["08:01 SUCCESS"]
    assert harness.launched_at() == pytest.approx([30, 30.1, 30.3, 31.3, 33.3, 37.3, 45.3], abs=0.1)
    assert last_run(harness).error is None


def test_delay_between_calls_of_a_target_is_limited(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 1_000)
    run_for(harness, 90, Settings(launch_backoff_ms=1_000, max_launch_backoff_ms=8_000, launch_tries=1))
    calls = harness.launched_at()
    delays = [later - earlier for earlier, later in pairwise(calls)]
    assert delays == pytest.approx([1, 2, 4, *[8] * (len(delays) - 3)], abs=0.1)


def test_namespaces_do_not_share_the_outage_of_a_target(harness: EngineHarness) -> None:
    """A tenant that makes a shared target fail for its own requests delays no other tenant."""
    called: list[str] = []

    class Shared(Executor):
        """Executor whose one target fails for one namespace, with a Retry-After of an hour."""

        def target(self, dag: Any, meta: RunContext) -> str:
            return "shared"

        async def run(self, dag: Any, meta: RunContext) -> Completed:
            called.append(meta.namespace)
            if meta.namespace == "other":
                raise TargetUnreachable(DOWN, retry_after_s=3_600)
            return Completed()

    harness.executors["shared"] = Shared()

    def define(transaction: Any) -> None:
        for namespace in ("other", "default"):
            context = OperationContext(transaction, Settings(), namespace)
            workflows.put_workflow(context, "flow", {"executor": "shared"})
            crud.create(context, "report", intervals=["1s"], overlap_policy="allow", workflow_id="flow")

    harness.store.write(define).result()
    run_for(harness, 5.5)
    assert (called.count("other"), called.count("default")) == (1, 6)


def test_waiting_run_shows_why_it_waits(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 1_000)
    run_for(harness, 40)
    assert harness.states() == ["08:01 ENQUEUED target_unreachable"]
    run = last_run(harness)
    assert run.error == DOWN
    assert (run.started_at, run.finished_at) == (None, None)
    assert [event.kind for event in harness.events if event.run_id] == ["launched", "waiting"]
    assert [event.text for event in harness.events if event.kind == "warning"] == [
        f"{DOWN} (3 tries). The runs of this target wait until it can be reached"
    ]


def test_quick_tries_are_one_attempt_and_their_errors_are_recorded(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    errors = iter(("first", "second", "third"))
    down_until(harness, 1_000, lambda: LaunchError(next(errors)))
    run_for(harness, 40)
    run = last_run(harness)
    assert (run.attempt, run.error) == (1, "third (try 3; try 1: first; try 2: second)")


def test_failed_launches_are_retried_like_other_failures(harness: EngineHarness) -> None:
    """Regression: ``max_attempts`` did not apply to a target that answered with 500, or to an import error."""
    harness.create(cron="1 8 * * *", max_attempts=3, retry_delay_ms=5_000)
    down_until(harness, 1_000, lambda: LaunchError("the target responded with 500"))
    run_for(harness, 80)
    assert harness.states() == ["08:01 FAILED launch_failed"]
    assert len(harness.launched_at()) == 9
    assert harness.launched_at()[::3] == pytest.approx([30, 35.3, 45.6], abs=0.3)


def test_refused_launch_is_not_retried(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=3)
    down_until(harness, 1_000, lambda: LaunchRefused("the target responded with 404"))
    run_for(harness, 60)
    assert harness.states() == ["08:01 FAILED launch_failed"]
    assert len(harness.launched_at()) == 1


def test_retry_after_of_the_target_is_obeyed(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=2, retry_delay_ms=1_000)
    down_until(harness, 31, lambda: LaunchError("the target responded with 429", retry_after_s=20))
    run_for(harness, 80)
    assert harness.states() == ["08:01 SUCCESS"]
    assert harness.launched_at() == pytest.approx([30, 50], abs=0.1)


def test_retry_after_of_an_unavailable_target_is_obeyed(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 31, lambda: TargetUnreachable("the target responded with 503", retry_after_s=20))
    run_for(harness, 80)
    assert harness.states() == ["08:01 SUCCESS"]
    assert harness.launched_at() == pytest.approx([30, 50], abs=0.1)


@pytest.mark.parametrize(
    ("fields", "settings", "waited_s"),
    [
        ({"launch_deadline_ms": 20_000}, Settings(), 20),
        ({"launch_deadline_ms": 20_000, "catchup_window": "5s"}, Settings(), 20),
        ({"catchup_window": "15s"}, Settings(), 15),
        ({}, Settings(launch_deadline_ms=40_000), 40),
    ],
)
def test_run_fails_when_its_launch_deadline_ends(
    harness: EngineHarness, fields: dict[str, Any], settings: Settings, waited_s: int
) -> None:
    harness.create(cron="1 8 * * *", max_attempts=5, **fields)
    down_until(harness, 1_000)
    run_for(harness, 120, settings)
    assert harness.states() == ["08:01 FAILED launch_failed"]
    run = last_run(harness)
    assert (run.finished_at - run.fire_at).total_seconds() == pytest.approx(waited_s, abs=1.1)
    assert run.error == f"{DOWN}. The run waited for its target for {waited_s} s, the maximum"


@pytest.mark.parametrize("fields", [{"launch_deadline_ms": 0}, {"catchup_window": 0}, {}])
def test_seeds_rule_fails_the_run_after_a_few_tries(harness: EngineHarness, fields: dict[str, Any]) -> None:
    harness.create(cron="1 8 * * *", **fields)
    down_until(harness, 31)
    run_for(harness, 60, Settings() if fields else Settings(launch_errors=LaunchErrors.FAIL))
    assert harness.states() == ["08:01 FAILED launch_failed"]
    assert harness.launched_at() == pytest.approx([30, 30.1, 30.3], abs=0.01)


def test_seeds_rule_counts_attempts(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=2, retry_delay_ms=3_000)
    down_until(harness, 31)
    run_for(harness, 60, Settings(launch_errors=LaunchErrors.FAIL))
    assert harness.states() == ["08:01 SUCCESS"]


def test_waiting_runs_are_launched_in_order_and_do_not_flood_the_target(harness: EngineHarness) -> None:
    """While the target is down, one launch per backoff calls it. Then the runs start, oldest first."""
    harness.create(intervals=["1s"], overlap_policy="allow")
    down_until(harness, 20)
    run_for(harness, 40)
    launches = [execution.launch for execution in harness.executor.executions]
    calls_while_down = [second for second in harness.launched_at() if second < 20]
    assert len(calls_while_down) <= 3 * 2 + 5
    reached = [launch.run_at for launch, second in zip(launches, harness.launched_at(), strict=True) if second >= 20]
    assert reached == sorted(reached)
    assert len(reached) == len(set(reached)) == len(harness.states())
    assert {state.split()[1] for state in harness.states()} == {"SUCCESS"}


def test_other_targets_do_not_wait(harness: EngineHarness) -> None:
    class Hosts(Executor):
        """Executor with one target that is down."""

        def __init__(self) -> None:
            self.called: list[str] = []

        def target(self, dag: Any, meta: RunContext) -> str:
            return str(meta.options["host"])

        async def run(self, dag: Any, meta: RunContext) -> Completed:
            self.called.append(meta.options["host"])
            if meta.options["host"] == "down":
                raise TargetUnreachable(DOWN)
            return Completed()

    harness.executors["hosts"] = hosts = Hosts()
    for host in ("down", "up"):
        harness.call(workflows.put_workflow, host, {"executor": "hosts", "options": {"host": host}})
        harness.call(crud.create, host, intervals=["1s"], overlap_policy="allow", workflow_id=host)
    run_for(harness, 20.5)
    assert hosts.called.count("up") == 21
    assert {state.split()[1] for state in harness.states("up")} == {"SUCCESS"}
    assert {state.split(maxsplit=1)[1] for state in harness.states("down")} == {"ENQUEUED target_unreachable"}


def test_cancelled_probe_lets_the_next_launch_call_the_target(harness: EngineHarness) -> None:
    """The launch that calls a target again is cancelled while it waits. The other runs must not wait forever."""
    harness.create(intervals=["1s"], overlap_policy="allow", end_at="2027-01-15T08:00:33Z", max_execution_ms=500)
    calls: list[float] = []

    def plan(run: RunContext) -> tuple[float, Completed]:
        calls.append(harness.clock.now() - BEGIN)
        if calls[-1] < 4:
            raise TargetUnreachable(DOWN)
        return (60.0 if calls[-1] < 10 and len([at for at in calls if at >= 4]) == 1 else 0.0), Completed()

    harness.plan = plan
    run_for(harness, 40)
    assert sorted(state.split()[1] for state in harness.states()) == ["SUCCESS", "SUCCESS", "SUCCESS", "TIMED_OUT"]


def test_waiting_run_can_be_cancelled(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 1_000)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)
        harness.call(cancel.cancel_run, last_run(harness).run_id)
        await pause(3)

    harness.run(scenario)
    assert harness.states() == ["08:01 CANCELLED cancel_requested"]


def test_waiting_runs_of_a_deleted_schedule_are_cancelled(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 1_000)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(40)
        harness.call(crud.delete, "report")
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 CANCELLED deleted"]


def test_waiting_run_survives_a_restart(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    down_until(harness, 60)

    async def scenario() -> None:
        first = harness.engine()
        await first.start()
        await pause(40)
        await first.stop(0)
        await harness.engine().start()
        await pause(40)

    harness.run(scenario)
    assert harness.states() == ["08:01 SUCCESS"]


def test_trigger_waits_for_its_target(harness: EngineHarness) -> None:
    harness.create(cron="1 9 * * *")
    down_until(harness, 10)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(1)
        harness.call(control.trigger, "report")
        await pause(30)

    harness.run(scenario)
    assert [state.split()[1] for state in harness.states()] == ["SUCCESS"]
    assert harness.engines[0].events.counts["launches_postponed"] >= 1
