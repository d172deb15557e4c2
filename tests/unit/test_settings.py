"""Settings: a limit that cannot be obeyed is refused before anything starts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from foliot.errors import InvalidInput
from foliot.settings import _MAY_BE_ZERO, Settings

NAMES = [field.name for field in fields(Settings)]


def test_the_defaults_can_be_obeyed() -> None:
    assert Settings() == Settings()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-1, 1.5, "5", None, True])
def test_a_setting_is_a_whole_number(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        Settings(**{name: value})


@pytest.mark.parametrize("name", NAMES)
def test_zero_only_where_it_means_something(name: str) -> None:
    if name in _MAY_BE_ZERO:
        assert getattr(Settings(**{name: 0}), name) == 0
    else:
        with pytest.raises(InvalidInput, match=name):
            Settings(**{name: 0})


def test_a_lease_outlives_a_missed_heartbeat() -> None:
    assert Settings(heartbeat_ms=10, lock_ttl_ms=20).lock_ttl_ms == 20
    with pytest.raises(InvalidInput, match="heartbeat_ms is 11"):
        Settings(heartbeat_ms=11, lock_ttl_ms=20)


def test_every_setting_says_its_unit_or_counts_something() -> None:
    """A number of milliseconds without its unit is the beginning of a mistake."""
    suffixes = ("_ms", "_bytes", "_chars", "_per_s")
    counts = ("max_", "fire_batch", "settle_batch", "launch_tries", "backfills_per_iteration")
    assert all(name.endswith(suffixes) or name.startswith(counts) for name in NAMES)
