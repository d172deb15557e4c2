"""Configurable defaults are written into a schedule when it is created, and stay there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.operations import FUNCTION, Bench
from tompion.config.settings import Settings
from tompion.contract.json import encode
from tompion.errors import InvalidField, InvalidInput
from tompion.model.policy import CatchUp, Overlap, Policy
from tompion.model.schedule import Schedule
from tompion.operations.schedules import crud, history
from tompion.operations.schedules.declare import declare
from tompion.spec.document import read_spec

BASE: dict[str, Any] = {"cron": "* * * * *", "function": FUNCTION}


def with_defaults(settings: Settings) -> Settings:
    return replace(
        settings,
        default_overlap_policy=Overlap.QUEUE,
        default_catchup_policy=CatchUp.COALESCE,
        default_jitter_ms=2_000,
        min_interval_ms=5_000,
    )


def default_fields(schedule: Schedule) -> tuple[str, str, int, int]:
    policy = schedule.definition.policy
    return policy.overlap_policy, policy.catchup_policy, schedule.definition.spec.jitter_ms, policy.min_interval_ms


def test_absent_fields_get_the_configured_defaults(bench: Bench) -> None:
    bench.settings = with_defaults(bench.settings)
    assert default_fields(bench.create()) == ("queue", "coalesce", 2_000, 5_000)
    assert default_fields(bench.ask(crud.update, "report", **BASE)) == ("queue", "coalesce", 2_000, 5_000)
    fields: dict[str, Any] = {
        "overlap_policy": "skip",
        "catchup_policy": "none",
        "jitter_ms": 0,
        "min_interval_ms": 6_000,
    }
    assert default_fields(bench.ask(crud.update, "report", **BASE, **fields)) == ("skip", "none", 0, 6_000)
    spec: dict[str, Any] = {"spec": {"cron": "@hourly"}, "function": FUNCTION}
    assert default_fields(bench.ask(crud.update, "report", **spec)) == ("queue", "coalesce", 2_000, 5_000)
    whole: dict[str, Any] = {"spec": read_spec({"cron": "@hourly"}), "function": FUNCTION}
    assert default_fields(bench.ask(crud.update, "report", **whole)) == ("queue", "coalesce", 0, 5_000)


def test_a_new_default_changes_no_existing_schedule(bench: Bench) -> None:
    before = bench.create()
    bench.settings = with_defaults(bench.settings)
    assert bench.get().definition == before.definition
    patched = bench.ask(crud.patch, "report", cron="@hourly", description="new")
    assert default_fields(patched) == ("skip", "none", 0, 0)
    sent_back = bench.ask(crud.update, "report", **{**encode(patched.definition), "min_interval_ms": 5_000})
    assert default_fields(sent_back) == ("skip", "none", 0, 5_000)
    assert bench.ask(history.restore, "report", 1).definition.policy == Policy()


def test_an_interval_below_the_minimum_is_rejected(bench: Bench) -> None:
    bench.settings = with_defaults(bench.settings)
    with pytest.raises(InvalidInput, match="min_interval_ms: 4999; expected at least 5000, the minimum"):
        bench.create(min_interval_ms=4_999)
    with pytest.raises(InvalidInput, match=r"max_interval_ms: min_interval_ms \(5000\) is greater than"):
        bench.create(adaptive=True, max_interval_ms=1_000)


def test_a_new_default_does_not_change_an_unchanged_declaration(bench: Bench) -> None:
    assert bench.ask(declare, "report", **BASE).outcome == "created"
    bench.settings = with_defaults(bench.settings)
    again = bench.ask(declare, "report", **BASE)
    assert (again.outcome, default_fields(again.schedule)) == ("unchanged", ("skip", "none", 0, 0))
    assert set(again.drift) == {"overlap_policy", "catchup_policy", "jitter_ms", "min_interval_ms"}
    changed = bench.ask(declare, "report", **BASE, description="new")
    assert (changed.outcome, default_fields(changed.schedule)) == ("updated", ("queue", "coalesce", 2_000, 5_000))


def test_a_time_limit_above_the_maximum_of_the_service_is_rejected(bench: Bench) -> None:
    """Thirty minutes by default, or what the service configures."""
    assert bench.create(max_execution_ms=1_800_000).max_execution_ms == 1_800_000
    with pytest.raises(InvalidField, match=r"max_execution_ms: 1800001; expected at most 1800000"):
        bench.ask(crud.patch, "report", max_execution_ms=1_800_001)
    bench.settings = replace(bench.settings, max_execution_ms=7_200_000)
    assert bench.ask(crud.patch, "report", max_execution_ms=7_200_000).max_execution_ms == 7_200_000
