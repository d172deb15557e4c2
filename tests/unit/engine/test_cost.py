"""What an outcome costs does not depend on how many schedules an engine knows: counted, because time would not tell.

The engine here has a listener, as that of ``tompion worker`` has: whoever tells needs the name of each run's schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.engine.kit import World
from tompion.cli.logging.text import TextLog
from tompion.engine.engine import Engine
from tompion.executors.base import Completed, RunContext
from tompion.model.run import RunState
from tompion.runtime.clock import pause
from tompion.store.sqlite.driver import SqliteTransaction

FEW, MANY = 5, 300
ENDINGS: dict[str, Completed] = {
    "simply": Completed(),
    "with a result": Completed(result='"done"'),
    "badly": Completed(RunState.FAILED, error="no luck"),
}


class Walked(dict[Any, Any]):
    """A dictionary that counts the steps of whoever walks over it; to look something up is none."""

    steps = 0

    def __iter__(self) -> Iterator[Any]:
        for key in super().__iter__():
            self.steps += 1
            yield key

    def keys(self) -> Any:
        return list(self)

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def copy(self) -> dict[Any, Any]:
        return dict(self.items())


class Meter:
    """Counts statements, and the rows that go in and come out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for name in ("rows", "many", "many_rows", "changed"):
            monkeypatch.setattr(SqliteTransaction, name, self._counted(getattr(SqliteTransaction, name)))

    def _counted(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def counted(transaction: SqliteTransaction, name: str, given: Any) -> Any:
            answer = send(transaction, name, given)
            self.counts[name] += 1
            self.counts["rows in"] += len(given) if isinstance(given, list) else 1
            self.counts["rows out"] += len(answer) if isinstance(answer, list) else 0
            return answer

        return counted


def memories(engine: Engine, lines: TextLog) -> list[Walked]:
    """Whatever grows with the schedules that an engine knows, made countable."""
    rules = engine.context.schedules
    walked = [Walked(rules._by_version), Walked(rules._newest), Walked(lines._launched)]
    rules._by_version, rules._newest, lines._launched = walked
    return walked


def cost_of_an_outcome(known: int, ended: Completed, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], int]:
    """What one minute costs in which one schedule runs, to an engine that remembers some more."""
    world = World()
    for number in range(known):
        world.create(f"other-{number}", cron="1 8 * * *")
    world.create("busy", cron="* * * * *")
    world.plan = lambda launch: (1.0, ended if _is_second(launch) else Completed())
    engine = world.engine()
    monkeypatch.setattr("tompion.cli.logging.text._log_only_errors", lambda: None)  # the log stays as it is
    lines = TextLog(world.clock)
    engine.events.listener = lines
    counts: Counter[str] = Counter()
    steps: list[int] = []

    async def story() -> None:
        await engine.start()
        await pause(62.5)  # neither end of the minute is the time of a heartbeat
        assert len(engine.context.schedules._by_version) == known + 1
        meter, walked = Meter(monkeypatch), memories(engine, lines)
        await pause(55)
        counts.update(meter.counts)
        steps.append(sum(each.steps for each in walked))

    world.run(story)
    assert [state.split()[1] for state in world.states("busy")] == ["SUCCESS", str(ended.state)]
    world.store.close()
    world.loop.close()
    return counts, steps[0]


def _is_second(launch: RunContext) -> bool:
    return launch.schedule_id == "busy" and launch.scheduled_for.minute == 2


@pytest.mark.parametrize("ended", ENDINGS.values(), ids=list(ENDINGS))
def test_an_outcome_costs_the_same_however_many_rules_are_known(
    ended: Completed, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patching:
        few = cost_of_an_outcome(FEW, ended, patching)
    with pytest.MonkeyPatch.context() as patching:
        many = cost_of_an_outcome(MANY, ended, patching)
    assert few == many
    statements, steps = many
    assert (statements["state_lock"], statements["state_claim_due"], steps) == (1, 1, 0)
    assert f"ended     {ended.state}" in capsys.readouterr().out
