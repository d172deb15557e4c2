"""Invalid recurrence rules: each error has the position and the fix."""

from __future__ import annotations

import pytest

from tompion.errors import InvalidSpec
from tompion.spec.rrule.compiler import parse_rrule

ERRORS: list[tuple[str, int, str]] = [
    # text, position, part of the message
    ("", 0, "the rule is missing"),
    ("DTSTART:20260101T090000", 23, "the rule is missing"),
    ("INTERVAL=2", 10, "no FREQ"),
    ("FREQ=FORTNIGHTLY", 5, "one of YEARLY"),
    ("FREQ=DAILY;", 11, "a part is missing"),
    ("FREQ=DAILY; COUNT=3", 11, "unknown part ' COUNT'"),
    ("FREQ=DAILY;BYEASTER=1", 11, "unknown part 'BYEASTER'"),
    ("RSCALE=CHINESE;FREQ=DAILY", 0, "RFC 7529 is not supported"),
    ("FREQ=DAILY;COUNT", 16, "COUNT has no value"),
    ("FREQ=DAILY;INTERVAL=0", 20, "1 to 999999999"),
    ("FREQ=DAILY;INTERVAL=٣", 20, "INTERVAL is '٣'"),
    ("RRULE:FREQ=DAILY;COUNT=100001", 23, "1 to 100000"),
    ("FREQ=DAILY;FREQ=DAILY", 11, "FREQ is given twice"),
    ("FREQ=DAILY;BYHOUR=1,24", 20, "0 to 23"),
    ("FREQ=DAILY;BYMINUTE=-1", 20, "0 to 59"),
    ("FREQ=MONTHLY;BYMONTHDAY=0", 24, "1 to 31 or -31 to -1"),
    ("FREQ=MONTHLY;BYDAY=MO,54TU", 22, "1 to 53"),
    ("FREQ=MONTHLY;BYDAY=MON", 19, "one of MO"),
    ("FREQ=DAILY;UNTIL=2026-01-01", 17, "20260131T090000"),
    ("FREQ=DAILY;UNTIL=20260230", 17, "does not exist"),
    ("FREQ=DAILY;UNTIL=20260101;COUNT=3", 26, "COUNT and UNTIL"),
    ("FREQ=MONTHLY;BYWEEKNO=3", 13, "FREQ=YEARLY"),
    ("FREQ=WEEKLY;BYMONTHDAY=3", 12, "use FREQ=MONTHLY"),
    ("FREQ=DAILY;BYYEARDAY=3", 11, "use FREQ=YEARLY"),
    ("FREQ=WEEKLY;BYDAY=2MO", 12, "leave the numbers out"),
    ("FREQ=YEARLY;BYWEEKNO=3;BYDAY=2MO", 23, "without numbers"),
    ("FREQ=DAILY;BYSETPOS=1", 11, "another BY… part"),
    ("FREQ=DAILY;COUNT=3", 11, "add DTSTART"),
    ("DTSTART:19600101T000000\nRRULE:FREQ=DAILY;COUNT=3", 41, "from 1970 on"),
    ("DTSTART:20260101T090000\nEXDATE:20260102T090000", 24, "exclude.dates"),
    ("RRULE:FREQ=DAILY\nRDATE:20260102", 17, "under times"),
    ("EXRULE:FREQ=DAILY", 0, "exclude.calendars"),
    ("FREQ=DAILY\nFREQ=WEEKLY", 11, "a separate entry"),
    ("DTSTART;X=1:20260101\nFREQ=DAILY", 8, "TZID"),
    ("DTSTART;VALUE=PERIOD:20260101\nFREQ=DAILY", 8, "VALUE=DATE"),
    ("DTSTART:20260101\nDTSTART:20260101\nFREQ=DAILY", 17, "a second DTSTART"),
    ("RRULE;X=1:FREQ=DAILY", 5, "RRULE has parameters"),
    ("DTSTART;TZID=Europe/Berlin:20260101T000000Z\nFREQ=DAILY", 42, "not both"),
    ("FREQ=DAILY;BYHOUR=" + "1," * 5_000, 8_192, "at most 8192"),
]


@pytest.mark.parametrize(("text", "position", "message"), ERRORS)
def test_error_names_the_position_and_the_fix(text: str, position: int, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_rrule(text)
    assert (caught.value.field, caught.value.position) == ("rrules", position)
    assert message in str(caught.value)
