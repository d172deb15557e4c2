"""Visibility queries: matches and errors."""

from __future__ import annotations

from typing import Any

import pytest

from tompion.api.temporal.visibility_query import parse_query
from tompion.encoding.instant import datetime_s
from tompion.errors import InvalidField
from tompion.model.schedule import Action, Counters, Definition, Schedule, ScheduleStatus
from tompion.model.spec import SpecDocument

ATTRIBUTES: dict[str, Any] = {
    "Team": {"type": "Keyword", "value": "it's"},
    "Size": {"type": "Int", "value": 3},
    "Ratio": {"type": "Double", "value": 0.5},
    "Hot": {"type": "Bool", "value": True},
    "Since": {"type": "Datetime", "value": "2026-01-01T00:00:00Z"},
    "Tags": {"type": "KeywordList", "value": ["a", "b"]},
    "About": {"type": "Text", "value": "Bills of the month"},
}
SCHEDULE = Schedule(
    namespace="default", schedule_id="s-1", status=ScheduleStatus.ACTIVE, paused=False, note=None,
    definition_version=1, conflict_token=1, cursor=datetime_s(0), next_run_at=None, next_fire_at=None, in_flight=0,
    definition=Definition(SpecDocument(), Action(), search_attributes=ATTRIBUTES), waiting=0, remaining_actions=None,
    consecutive_failures=0, counters=Counters(), paused_by=None, paused_at=None, paused_until=None,
    created_at=datetime_s(0), updated_at=datetime_s(0),
)  # fmt: skip
TRUE = [
    *(
        "",
        "  ",
        "ScheduleId = 's-1'",
        'ScheduleId != "s-2"',
        "ScheduleId IN ('s-0','s-1')",
        "ScheduleId STARTS_WITH 's-'",
    ),
    *("TemporalSchedulePaused = false", "TemporalSchedulePaused != true", "TemporalSchedulePaused = 'false'"),
    *("Team = 'it''s'", r"Team = 'it\'s'", "`Team` IS NOT NULL", "Missing IS NULL", "Team NOT IN ('x')"),
    *("Size > 2", "Size >= 3 and Size <= 3", "Size BETWEEN 1 AND 3", "Size = 3.0", "Ratio < 1", "Hot = true"),
    *("Since > '2025-12-31T23:00:00Z'", "Since <= '2026-01-01T01:00:00+01:00'"),
    *("Tags = 'a'", "Tags IN ('x', 'b')", "Tags != 'c'", "About = 'month'", "About = 'BILLS month'", "About != 'year'"),
    *("Size = 9 OR Hot = true AND Size = 3", "(Size = 9 OR Hot = true) AND NOT Size = 4", "NOT (Size = 9)"),
]
FALSE = ["ScheduleId = 's-2'", "Missing = 'x'", "Missing != 'x'", "Missing NOT IN ('x')", "Size < 3", "Tags = 'c'",
         "ScheduleId NOT STARTS_WITH 's'", "About = 'year'", "Size = 3 AND Hot = false", "Team IS NULL",
         "Since > 'yesterday'", "Size > 'x'", "Team > 3"]  # fmt: skip
WRONG = ["=", "Size", "Size =", "Size = x", "Size = 3 AND", "(Size = 3", "Size = 3)", "WorkflowType = 'x'", "Size ~ 3",
         "TemporalScheduledById = 'x'", "ScheduleId IN ()", "Size BETWEEN 1", "'a' = 'a'",
         "ScheduleId > 3", "(" * 200 + "Size = 3" + ")" * 200, "x" * 20_000]  # fmt: skip


@pytest.mark.parametrize("query", TRUE)
def test_query_matches(query: str) -> None:
    assert parse_query(query)(SCHEDULE)


@pytest.mark.parametrize("query", FALSE)
def test_query_does_not_match(query: str) -> None:
    assert not parse_query(query)(SCHEDULE)


@pytest.mark.parametrize("query", WRONG, ids=lambda query: query[:30])
def test_invalid_query_is_refused(query: str) -> None:
    with pytest.raises(InvalidField, match="query"):
        parse_query(query)(SCHEDULE)


@pytest.mark.parametrize("query", ["Since > 'yesterday'", "Size > 'x'", "Team > 3", "Size BETWEEN 1 AND 'x'"])
def test_a_literal_of_another_type_is_refused_for_a_registered_attribute(query: str) -> None:
    """Regression: one attribute of another type made every list of its namespace fail."""
    registered = {"Since": "Datetime", "Size": "Int", "Team": "Keyword"}
    assert not parse_query(query)(SCHEDULE)
    with pytest.raises(InvalidField, match="cannot be compared"):
        parse_query(query, registered)
    assert parse_query("Size > 2 AND Since > '2025-01-01T00:00:00Z'", registered)(SCHEDULE)
