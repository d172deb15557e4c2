"""Results are JSON that every store can hold, marked where they are truncated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tompion.encoding.bounded_text import json_value
from tompion.executors.base import Completed
from tompion.executors.result import success_result

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


class Unprintable:
    """A value without a repr."""

    def __repr__(self) -> str:
        raise ValueError("no")


class Unreadable(dict[str, int]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        raise LookupError("not now")


@pytest.mark.parametrize("value", [0, "", [], {}, {"a": [1, 2.5, None, True]}, "ä\n\x00\u2028", "🦊"])
def test_json_is_kept_as_it_is(value: object) -> None:
    assert json.loads(json_value(value, 1_000)) == value


@pytest.mark.parametrize(
    ("value", "why", "text"),
    [
        ({1}, "TypeError: Object of type set is not JSON serializable", "{1}"),
        (float("nan"), "ValueError: Out of range float values are not JSON compliant", "nan"),
        ([float("inf")], "ValueError: Out of range float values are not JSON compliant", "[inf]"),
        (ENDLESS, "ValueError: Circular reference detected", "[[...]]"),
        (10**5_000, "ValueError: Exceeds the limit", "<unprintable int: ValueError>"),
        (Unprintable(), "TypeError: Object of type Unprintable", "<unprintable Unprintable: ValueError>"),
        (Unreadable(a=1), "LookupError: not now", "{'a': 1}"),
    ],
    ids=["set", "nan", "inf", "endless", "huge", "silent", "angry"],
)
def test_value_that_is_not_json_has_an_error(value: object, why: str, text: str) -> None:
    kept = json.loads(json_value(value, 1_000), parse_constant=pytest.fail)
    assert kept["not_json"].startswith(why)
    assert kept["text"] == text


@pytest.mark.parametrize("value", ["\udc80", ["\ud83e", "ä"], {"\udc80": "\x00"}, {"a": {"\udc80"}}])
@pytest.mark.parametrize("limit", [90, 1_000])
def test_surrogates_and_nul_are_escaped(value: object, limit: int) -> None:
    """A lone surrogate has no bytes in any encoding, and PostgreSQL rejects NUL."""
    kept = json_value(value, limit)
    assert "\x00" not in kept
    kept.encode()
    json.loads(kept)


@pytest.mark.parametrize("limit", [60, 100, 1_000, 16_384])
@pytest.mark.parametrize("value", ["x" * 50_000, ['ä"\n'] * 9_999, list(range(30_000)), {"🦊" * 40_000}], ids=range(4))
def test_long_value_is_truncated(value: object, limit: int) -> None:
    kept = json_value(value, limit)
    read = json.loads(kept)
    assert read["truncated"] is True
    assert read["bytes"] > 30_000
    assert ("not_json" in read) == isinstance(value, set)
    if limit > 60 or not isinstance(value, set):  # the message is always included
        assert limit - 12 < len(kept.encode()) <= limit


def test_none_has_no_result() -> None:
    assert success_result(None, 100) == Completed()
