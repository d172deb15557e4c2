"""Durations: every accepted spelling, without rounding."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tompion import InvalidSpec
from tompion.spec.duration import duration_text, parse_duration, parse_duration_ms

DAY = 86_400

SPELLINGS: list[tuple[str | int | timedelta, int]] = [
    ("90s", 90),
    ("15m", 900),
    ("2h", 7_200),
    ("1d", DAY),
    ("2w", 14 * DAY),
    ("1h30m", 5_400),
    ("1w1d1h1m1s", 8 * DAY + 3_661),
    ("30m1h", 5_400),
    ("1m1m", 120),
    ("1.5h", 5_400),
    ("1.5d", 129_600),
    ("0.5m", 30),
    ("2000ms", 2),
    ("500ms500ms", 1),
    ("1.5s500ms", 2),
    ("0s", 0),
    ("0", 0),
    ("90", 90),
    ("000090", 90),
    ("999999999999", 999_999_999_999),
    ("PT15M", 900),
    ("P1D", DAY),
    ("P2W", 14 * DAY),
    ("PT1H30M5S", 5_405),
    ("P1W2DT3H4M5S", 9 * DAY + 11_045),
    ("PT0S", 0),
    (90, 90),
    (-5, -5),
    (timedelta(hours=1, seconds=1), 3_601),
    (timedelta(milliseconds=2_000), 2),
    (timedelta(seconds=-5), -5),
]

NOT_DURATIONS = [
    "",
    " ",
    "15 m",
    " 15m",
    "15m ",
    "m",
    "fifteen minutes",
    "15M",
    "1y",
    "1mo",
    "-5m",
    "+5m",
    "1,5h",
    "1e3s",
    "5.m",
    ".5m",
    "1h-30m",
    "1h/5m",
    "PT",
    "P",
    "P1",
    "P1M",
    "P1Y",
    "PT0.5S",
    "pt15m",
    "-PT15M",
    "1:30",
    "٣m",
    "1000000000000",
    "1000000000000s",
    "0.0000000001s",
    "5m\n",
]


@pytest.mark.parametrize(("written", "seconds"), SPELLINGS)
def test_duration_is_parsed(written: str | int | timedelta, seconds: int) -> None:
    assert parse_duration(written, field="every") == seconds


@pytest.mark.parametrize("text", NOT_DURATIONS)
def test_invalid_duration_is_rejected_with_examples(text: str) -> None:
    with pytest.raises(InvalidSpec, match="is not a duration") as caught:
        parse_duration(text, field="intervals[0].every")
    assert caught.value.field == "intervals[0].every"
    assert caught.value.expected == "a duration such as 90s, 15m, 1h30m or 1d"


@pytest.mark.parametrize(
    ("text", "position"), [("x", 0), ("15m x", 3), ("1h30m5", 5), ("1h30x5m", 2), ("", 0), ("1h 5m", 2)]
)
def test_duration_error_has_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_duration(text, field="every")
    assert caught.value.position == position


@pytest.mark.parametrize("value", ["0.5s", "1500ms", "1.0001s", "0.1m0.05s", timedelta(microseconds=1)])
def test_fraction_of_a_second_is_rejected(value: str | timedelta) -> None:
    with pytest.raises(InvalidSpec, match="not a whole number of seconds"):
        parse_duration(value, field="every")


@pytest.mark.parametrize("value", [True, False, 1.5, 90.0, None, [], {}, b"15m", object()])
def test_duration_of_another_type_is_rejected(value: object) -> None:
    """True is an int in Python, and ``every=True`` would have meant every second."""
    with pytest.raises(InvalidSpec, match="is not a duration"):
        parse_duration(value, field="every")  # type: ignore[arg-type]  # that is what is tested


CANONICAL = [
    (0, "0s"),
    (1, "1s"),
    (60, "1m"),
    (61, "1m1s"),
    (90, "1m30s"),
    (3_600, "1h"),
    (5_400, "1h30m"),
    (DAY, "1d"),
    (7 * DAY, "7d"),
    (DAY + 1, "1d1s"),
    (90_061, "1d1h1m1s"),
]


@pytest.mark.parametrize(("seconds", "text"), CANONICAL)
def test_duration_is_written_in_its_usual_spelling(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_duration_text_round_trips(seconds: int) -> None:
    assert parse_duration(duration_text(seconds), field="every") == seconds


@given(st.timedeltas(min_value=timedelta(0)))
def test_timedelta_is_converted_exactly_or_rejected(value: timedelta) -> None:
    if value.microseconds:
        with pytest.raises(InvalidSpec):
            parse_duration(value, field="every")
    else:
        assert parse_duration(value, field="every") == value // timedelta(seconds=1)


@given(st.text(max_size=30) | st.text("0123456789.wdhmsPTHMSDW /", max_size=20))
def test_any_text_gives_a_duration_or_invalid_spec(text: str) -> None:
    try:
        seconds = parse_duration(text, field="every")
    except InvalidSpec as error:
        assert error.field == "every"  # noqa: PT017 - both outcomes are right, each has its own check
    else:
        assert seconds >= 0


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (30_000, 30_000),
        ("30s", 30_000),
        ("500ms", 500),
        ("1.5s", 1_500),
        ("1h30m", 5_400_000),
        ("PT15M", 900_000),
        (timedelta(minutes=2), 120_000),
        (timedelta(microseconds=1_000), 1),
        (timedelta(seconds=-1), -1_000),
    ],
)
def test_a_duration_in_milliseconds(value: object, milliseconds: int) -> None:
    assert parse_duration_ms(value, field="retry_delay_ms") == milliseconds


@pytest.mark.parametrize("value", [None, True, 1.5, [], -1])
def test_other_values_are_left_to_the_caller(value: object) -> None:
    assert parse_duration_ms(value, field="retry_delay_ms") is value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("30", "retry_delay_ms: '30' has no unit; expected a number of milliseconds, or a duration such as 500ms"),
        ("soon", "retry_delay_ms: 'soon' is not a duration"),
        ("0.1ms", "retry_delay_ms: 0.1ms is not a whole number of milliseconds"),
        (timedelta(microseconds=1), "retry_delay_ms: 0:00:00.000001 is not a whole number of milliseconds"),
    ],
)
def test_an_invalid_duration_in_milliseconds(value: object, message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_duration_ms(value, field="retry_delay_ms")
    assert message in str(caught.value).replace('"', "'")
