"""Documents of named calendars: their fields, and the messages about wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.operations import Bench
from tompion.errors import InvalidField
from tompion.operations.resources import calendars


@pytest.mark.parametrize("names", [("from", "to"), ("begin", "end")])
def test_window_is_written_as_in_a_spec_or_as_it_is_read(bench: Bench, names: tuple[str, str]) -> None:
    """Regression: specs call the ends of a window ``from`` and ``to``, and calendars rejected these."""
    window = {names[0]: "2026-12-24", names[1]: "2026-12-26", "note": "closed"}
    stored = bench.ask(calendars.put_calendar, {"name": "closed", "windows": [window]})
    assert [(window.begin, window.end, window.note) for window in stored.windows] == [
        ("2026-12-24", "2026-12-26", "closed")
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"windows": [{"start": "2026-12-24", "to": "2026-12-26"}]}, r"calendar\.windows\[0\]: .* is not a window"),
        ({"windows": [{"from": "2026-12-24"}]}, r"calendar\.windows\[0\]: .*expected from, to and note"),
        ({"windows": ["2026-12-24"]}, r"calendar\.windows\[0\]: "),
        ({"windows": "2026-12-24"}, r"calendar\.windows: .*expected a list"),
        ({"days": []}, r"calendar\.days: there is no such field; expected name"),
    ],
)
def test_wrong_document_names_the_field(bench: Bench, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidField, match=problem):
        bench.ask(calendars.put_calendar, {"name": "closed", **fields})
