"""Schedules at a glance: what they mean, and what became of their newest ticks."""

from __future__ import annotations

import pytest

from tests.support.operations import FUNCTION, Bench
from tompion.errors import InvalidField, LimitExceeded
from tompion.model.run import RunState
from tompion.operations.insight import summaries
from tompion.operations.resources import targets
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud


def test_a_glance_tells_the_spec_and_the_newest_outcomes(bench: Bench) -> None:
    bench.create(cron="* * * * *", timezone="Europe/Berlin")
    bench.ask(control.skip, "report")
    worker = bench.worker()
    bench.go("08:01:01")
    worker.tick()
    bench.go("08:02:01")
    worker.tick()
    (found,) = bench.ask(summaries.summaries, ["report"])
    assert found.explanation == "Every minute, in Europe/Berlin time."
    assert found.timezone == "Europe/Berlin"
    assert [each.state for each in found.outcomes] == [RunState.ENQUEUED, RunState.SKIPPED]
    assert found.outcomes[1].reason == "skip_requested"
    assert not found.target_paused


def test_a_glance_knows_that_the_target_is_paused(bench: Bench) -> None:
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    (found,) = bench.ask(summaries.summaries, ["report"])
    assert found.target_paused


def test_glances_leave_out_what_is_not_there_and_keep_to_the_namespace(bench: Bench) -> None:
    bench.create()
    bench.ask(crud.create, "theirs", cron="@daily", function=FUNCTION, namespace="other")
    assert [each.schedule_id for each in bench.ask(summaries.summaries, ["nobody", "theirs", "report"])] == ["report"]


def test_glances_are_bounded(bench: Bench) -> None:
    with pytest.raises(LimitExceeded, match="at most 200"):
        bench.ask(summaries.summaries, ["report"] * 201)
    with pytest.raises(InvalidField, match="schedule_ids"):
        bench.ask(summaries.summaries, "report")


def test_one_run_shows_what_it_was_given_and_a_list_does_not(bench: Bench) -> None:
    bench.create(payload={"day": "any"})
    own = bench.trigger(payload={"day": "today"})
    usual = bench.trigger()
    assert bench.ask(read.run, own.run_id).payload == {"day": "today"}
    assert bench.ask(read.run, usual.run_id).payload == {"day": "any"}
    assert [run.payload for run in bench.runs()] == [None, None]


def test_a_zone_that_is_gone_hides_nobody(bench: Bench) -> None:
    """One schedule whose zone the data no longer had made the glance at a hundred others an error."""
    bench.create("fine")
    bench.create("lost", timezone="Europe/Berlin")
    bench.execute("UPDATE schedule_versions SET spec = replace(spec, 'Europe/Berlin', 'Europe/Gone')")
    found = {each.schedule_id: each.timezone for each in bench.ask(summaries.summaries, ["fine", "lost"])}
    assert found == {"fine": "UTC", "lost": "UTC"}
