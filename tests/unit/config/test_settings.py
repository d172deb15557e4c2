"""Settings: an invalid limit is rejected at startup."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tompion.config.settings import ENUM_SETTINGS, MAX_VALUES, MAY_BE_ZERO, Settings
from tompion.errors import InvalidInput
from tompion.model.policy import CatchUp, Overlap
from tompion.operations.schedules.schedule_document import DURATIONS
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
    assert {"default_jitter_ms": MAX_JITTER_MS, "min_interval_ms": DURATIONS["min_interval_ms"][1]} == MAX_VALUES
    for name, most in MAX_VALUES.items():
        beyond: dict[str, Any] = {name: most + 1}
        with pytest.raises(InvalidInput, match=f"{name} is .* at most {most}"):
            Settings(**beyond)
