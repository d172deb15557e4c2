"""Summaries of schedules: their meaning in words and their newest outcomes."""

from __future__ import annotations

import pytest

from tests.support.operations import FUNCTION, Bench
from tompion.errors import InvalidField, LimitExceeded
from tompion.model.run import RunState
from tompion.operations.insight import summaries
from tompion.operations.resources import targets
from tompion.operations.runs import read
from tompion.operations.schedules import control, crud


def test_a_summary_has_the_spec_and_the_newest_outcomes(bench: Bench) -> None:
    bench.create(cron="* * * * *", timezone="Europe/Berlin")
    bench.ask(control.skip, "report")
    worker = bench.worker()
    bench.go("08:01:01")
    worker.tick()
    bench.go("08:02:01")
    worker.tick()
    (summary,) = bench.ask(summaries.summaries, ["report"])
    assert summary.explanation == "Every minute, in Europe/Berlin time."
    assert summary.timezone == "Europe/Berlin"
    assert [outcome.status for outcome in summary.outcomes] == [RunState.ENQUEUED, RunState.SKIPPED]
    assert summary.outcomes[1].reason == "skip_requested"
    assert not summary.target_paused


def test_a_summary_marks_a_paused_target(bench: Bench) -> None:
    bench.create()
    bench.ask(targets.pause_target, queue="default")
    (summary,) = bench.ask(summaries.summaries, ["report"])
    assert summary.target_paused


def test_summaries_omit_unknown_ids_and_other_namespaces(bench: Bench) -> None:
    bench.create()
    bench.ask(crud.create, "theirs", cron="@daily", function=FUNCTION, namespace="other")
    assert [schedule.schedule_id for schedule in bench.ask(summaries.summaries, ["missing", "theirs", "report"])] == [
        "report"
    ]


def test_the_number_of_summaries_is_limited(bench: Bench) -> None:
    with pytest.raises(LimitExceeded, match="at most 200"):
        bench.ask(summaries.summaries, ["report"] * 201)
    with pytest.raises(InvalidField, match="schedule_ids"):
        bench.ask(summaries.summaries, "report")


def test_get_run_has_the_payload_and_a_list_does_not(bench: Bench) -> None:
    bench.create(payload={"day": "any"})
    own = bench.trigger(payload={"day": "today"})
    usual = bench.trigger()
    assert bench.ask(read.get_run, own.run_id).payload == {"day": "today"}
    assert bench.ask(read.get_run, usual.run_id).payload == {"day": "any"}
    assert [run.payload for run in bench.runs()] == [None, None]


def test_an_unknown_zone_hides_no_other_summary(bench: Bench) -> None:
    """Regression: one schedule with an unknown zone failed the summaries of all the others."""
    bench.create("fine")
    bench.create("lost", timezone="Europe/Berlin")
    bench.execute("UPDATE schedule_versions SET spec = replace(spec, 'Europe/Berlin', 'Europe/Gone')")
    timezones = {summary.schedule_id: summary.timezone for summary in bench.ask(summaries.summaries, ["fine", "lost"])}
    assert timezones == {"fine": "UTC", "lost": "UTC"}
