"""Settings: an invalid limit is rejected at startup."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tompion.config.settings import ENUM_SETTINGS, MAX_DURATION_MS, MAX_FIELD_VALUES, MAX_VALUES, MAY_BE_ZERO, Settings
from tompion.errors import InvalidInput
from tompion.model.policy import CatchUp, Overlap
from tompion.operations.schedules.schedule_document import DURATIONS, NULLABLE_DURATIONS
from tompion.spec.document import MAX_JITTER_MS

NAMES = [field.name for field in fields(Settings)]


def test_the_defaults_are_valid() -> None:
    assert Settings() == Settings()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-1, 1.5, "5", None, True])
def test_a_setting_is_a_whole_number(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        Settings(**{name: value})


@pytest.mark.parametrize("name", NAMES)
def test_zero_is_allowed_only_for_some_settings(name: str) -> None:
    zero: dict[str, Any] = {name: 0}
    if name in MAY_BE_ZERO:
        assert getattr(Settings(**zero), name) == 0
    else:
        with pytest.raises(InvalidInput, match=name):
            Settings(**zero)


def test_a_lease_outlives_a_missed_heartbeat() -> None:
    assert Settings(heartbeat_ms=10, lock_ttl_ms=20).lock_ttl_ms == 20
    with pytest.raises(InvalidInput, match="heartbeat_ms is 11"):
        Settings(heartbeat_ms=11, lock_ttl_ms=20)


def test_every_setting_has_a_unit_or_is_a_count() -> None:
    """A number of milliseconds without its unit leads to errors."""
    suffixes = ("_ms", "_bytes", "_chars", "_per_s")
    counts = ("max_", "fire_batch", "settle_batch", "launch_tries", "backfills_per_iteration")
    numbers = [name for name in NAMES if name not in ENUM_SETTINGS]
    assert all(name.endswith(suffixes) or name.startswith(counts) for name in numbers)


def test_a_policy_may_be_an_alias() -> None:
    words: dict[str, Any] = {"default_overlap_policy": "buffer_all", "default_catchup_policy": "all"}
    result = Settings(**words)
    assert result.default_overlap_policy is Overlap.QUEUE
    assert result.default_catchup_policy is CatchUp.FIRE_IMMEDIATELY
    bad: dict[str, Any] = {"default_overlap_policy": "wait"}
    with pytest.raises(
        InvalidInput, match=r"default_overlap_policy is 'wait': it must be one of skip, allow, .*buffer_"
    ):
        Settings(**bad)


def test_default_limits_match_the_limits_of_a_schedule() -> None:
    assert {
        "default_jitter_ms": MAX_JITTER_MS,
        "min_interval_ms": DURATIONS["min_interval_ms"][1],
        "max_execution_ms": NULLABLE_DURATIONS["max_execution_ms"][1],
    } == MAX_FIELD_VALUES
    for name, most in MAX_VALUES.items():
        beyond: dict[str, Any] = {name: most + 1}
        with pytest.raises(InvalidInput, match=f"{name} is .* at most {most}"):
            Settings(**beyond)


@pytest.mark.parametrize("value", [0, 1, 499])
def test_a_grace_period_in_which_no_engine_can_fire_is_rejected(value: int) -> None:
    """Regression: with ``misfire_grace_ms=0`` every tick was missed."""
    with pytest.raises(InvalidInput, match=f"misfire_grace_ms is {value}: it must be a whole number of at least 500"):
        Settings(misfire_grace_ms=value)
    assert Settings(misfire_grace_ms=500).misfire_grace_ms == 500


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("_ms")])
def test_a_duration_beyond_the_range_of_dates_is_rejected(name: str) -> None:
    """Regression: ``lookahead_ms`` of 10^18 was accepted, and lists of runs failed."""
    most = MAX_VALUES.get(name, MAX_DURATION_MS)
    beyond: dict[str, Any] = {name: most + 1}
    with pytest.raises(InvalidInput, match=f"{name} is {most + 1}: it must be at most {most}"):
        Settings(**beyond)
