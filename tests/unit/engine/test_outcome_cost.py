"""The cost of an outcome does not depend on the number of schedules. It is counted, because durations vary.

The engine has a listener, as that of ``tompion worker``, which needs the name of each schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.engine.harness import EngineHarness
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


class CountingDict(dict[Any, Any]):
    """A dictionary that counts the steps of iterations. Lookups are not counted."""

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
    """Counts statements and rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for name in ("rows", "execute_many", "execute_many_returning", "change_runs"):
            monkeypatch.setattr(SqliteTransaction, name, self._counted(getattr(SqliteTransaction, name)))

    def _counted(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def counted(transaction: SqliteTransaction, name: str, params: Any) -> Any:
            answer = send(transaction, name, params)
            self.counts[name] += 1
            self.counts["rows in"] += len(params) if isinstance(params, list) else 1
            self.counts["rows out"] += len(answer) if isinstance(answer, list) else 0
            return answer

        return counted


def counted_caches(engine: Engine, lines: TextLog) -> list[CountingDict]:
    """Replace the caches that grow with the number of schedules by counting ones, and return them."""
    rules = engine.context.schedules
    caches = [CountingDict(rules._by_version), CountingDict(rules._newest), CountingDict(lines._launched)]
    rules._by_version, rules._newest, lines._launched = caches
    return caches


def cost_of_an_outcome(others: int, ended: Completed, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], int]:
    """Return the cost of one minute in which one schedule runs, with some more schedules in the cache."""
    harness = EngineHarness()
    for number in range(others):
        harness.create(f"other-{number}", cron="1 8 * * *")
    harness.create("busy", cron="* * * * *")
    harness.plan = lambda launch: (1.0, ended if _is_second(launch) else Completed())
    engine = harness.engine()
    lines = TextLog(harness.clock)
    engine.events.listener = lines
    counts: Counter[str] = Counter()
    steps: list[int] = []

    async def scenario() -> None:
        await engine.start()
        await pause(62.5)  # neither end of the minute is the time of a heartbeat
        assert len(engine.context.schedules._by_version) == others + 1
        meter, caches = Meter(monkeypatch), counted_caches(engine, lines)
        await pause(55)
        counts.update(meter.counts)
        steps.append(sum(cache.steps for cache in caches))

    harness.run(scenario)
    assert [state.split()[1] for state in harness.states("busy")] == ["SUCCESS", str(ended.state)]
    harness.store.close()
    harness.loop.close()
    return counts, steps[0]


def _is_second(launch: RunContext) -> bool:
    return launch.schedule_id == "busy" and launch.run_at.minute == 2


@pytest.mark.parametrize("ended", ENDINGS.values(), ids=list(ENDINGS))
def test_cost_of_an_outcome_does_not_depend_on_the_number_of_schedules(
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
