"""Tables that fit the terminal: names are shortened in the middle, prose at its end, and wide terminals show more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tompion.cli.output.tables import Column, length, relative, table_lines

LONG = "reporting.department-of-long-names.nightly-warehouse-mirror"
COLUMNS = (Column("schedule", 12), Column("state"), Column("why", 8, prose=True), Column("queue", extra=True))
ROWS = [(LONG, "FAILED", "OSError: no route to the warehouse", "default"), ("a", "SUCCESS", "", "reports")]
NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)


def plain(room: int | None) -> list[str]:
    return [line.plain for line in table_lines(COLUMNS, ROWS, room)]


@pytest.mark.parametrize("room", [40, 60, 80, 100, 120])
def test_a_table_is_never_wider_than_the_terminal(room: int) -> None:
    assert max(map(len, plain(room))) <= room


def test_names_are_shortened_in_the_middle_and_prose_at_its_end() -> None:
    name, why = plain(50)[1].split("  FAILED   ")
    assert (name[:4], name[-4:], "…" in name[4:-4]) == ("repo", "rror", True)
    assert why.startswith("OSError: no")
    assert why.endswith("…")


def test_a_wide_terminal_shows_more_columns_and_a_pipe_all() -> None:
    assert "queue" not in plain(60)[0]
    assert "queue" in plain(100)[0]
    assert LONG in plain(None)[1]
    assert plain(None)[1].endswith("OSError: no route to the warehouse  default")


def test_control_characters_are_removed_from_cells() -> None:
    lines = table_lines((Column("x"),), [("a\nb\x1b[31mc",)], None)
    assert [line.plain for line in lines] == ["x", "a b [31mc"]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0, "now"),
        (5, "in 5s"),
        (-65, "1m 5s ago"),
        (3_600, "in 1h"),
        (3_661, "in 1h 1m"),
        (-86_400 * 3 - 60, "3d ago"),
        (86_400 * 46 + 36_000, "in 46d 10h"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: int, message: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == message


def test_missing_values_are_dashes() -> None:
    assert relative(None, NOW) == "-"
    assert length(0.4) == "0s"
