"""Explanations describe exactly the ticks of the engine.

A reader that knows English, but neither cron nor the engine, parses the sentences: it turns "on the weekday (Monday to
Friday) nearest the 15th of the month" into days and "every 15 minutes from 09:00 to 17:45" into seconds of the day. The
ticks must be exactly those. A word that the reader does not know fails the test.
"""

from __future__ import annotations

import calendar
import random
import re
from datetime import date, timedelta

import pytest

from tompion import Spec, compile_spec

DAY = 86_400
EPOCH = date(1970, 1, 1)
MONTHS = list(calendar.month_name)[1:]
WEEKDAYS = list(calendar.day_name)
ORDINALS = ["first", "second", "third", "fourth", "fifth"]

NUMS = r"\d+(?:(?:, … |, | and | to )\d+)*"
CLOCK = r"\d\d:\d\d(?::\d\d)?"
CLOCKS = rf"{CLOCK}(?:(?:, | and ){CLOCK})*"
RANGE = rf"from {CLOCK} to {CLOCK}(?: the next day)?"
RANGES = rf"{RANGE}(?:(?:, | and ){RANGE})*"
UNITS = {"second": 1, "minute": 60, "hour": 3600}


# --- reading ----------------------------------------------------------------------------------------------------


def read_numbers(text: str) -> set[int]:
    """Read "0, 7, 14, … 56" and "1 to 5, 8 and 9". Ordinals are numbers too."""
    text = re.sub(r"(\d)(?:st|nd|rd|th)", r"\1", text)
    if elided := re.fullmatch(r"(\d+), (\d+), (\d+), … (\d+)", text):
        first, second, third, last = map(int, elided.groups())
        assert third - second == second - first
        return set(range(first, last + 1, second - first))
    values = set[int]()
    for word in re.split(r", | and ", text):
        ends = [int(end) for end in word.split(" to ")]
        values |= set(range(ends[0], ends[-1] + 1))
    return values


def read_clock(text: str) -> int:
    hour, minute, second = map(int, f"{text}:00".split(":")[:3])
    return hour * 3600 + minute * 60 + second


def read_range(text: str, step: int) -> set[int]:
    first, last = (read_clock(match) for match in re.findall(CLOCK, text))
    if "next day" in text:
        last += DAY
    assert first <= last, text
    assert (last - first) % step == 0 or step == 1, text
    return {second % DAY for second in range(first, last + 1, step)}


def read_hours(text: str) -> set[int]:
    if text in ("", "every hour"):
        return set(range(24))
    if listed := re.fullmatch(rf"the hours ({NUMS})", text):
        return read_numbers(listed[1])
    bounds = re.fullmatch(rf"(?:every|the) hour ({RANGE})", text)
    assert bounds, text
    assert re.search(r":59(?: the next day)?$", bounds[1])
    return {second // 3600 for second in read_range(bounds[1], 60)}


def read_chain(text: str) -> set[int]:
    """Read "second 30 of minutes 0 and 30 of every hour from 09:00 to 17:59"."""
    chain = re.fullmatch(
        rf"(?:(?:seconds? (?P<s>{NUMS})|every (?P<es>second))(?: (?:of|and) )?)?"
        rf"(?:(?:minutes? (?P<m>{NUMS})|every (?P<em>minute))(?: and second (?P<s2>{NUMS}))?(?: of )?)?(?P<h>.*)",
        text,
    )
    assert chain, text
    named = chain["s"] or chain["s2"]
    seconds = set(range(60)) if chain["es"] else read_numbers(named) if named else {0}
    minutes = set(range(60)) if chain["em"] or not chain["m"] else read_numbers(chain["m"])
    hours = read_hours(chain["h"])
    return {h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds}


def read_times(text: str) -> set[int]:
    """Read the times of day of a sentence without days."""
    text = text.removesuffix(" every day")
    if text == "Every hour, on the hour":
        return set(range(0, DAY, 3600))
    if re.fullmatch(rf"At {CLOCKS}", text):
        return {read_clock(match) for match in re.findall(CLOCK, text)}
    if bounded := re.fullmatch(rf"Every (?:(\d+) )?(\w+?)s? ({RANGES})(?:, and at ({CLOCKS}))?", text):
        step = int(bounded[1] or 1) * UNITS[bounded[2]]
        single = {read_clock(match) for match in re.findall(CLOCK, bounded[4] or "")}
        return single.union(*(read_range(match, step) for match in re.findall(RANGE, bounded[3])))
    if cadence := re.fullmatch(r"Every (?:(\d+) )?(\w+?)s?(?:, at (.*))?", text):
        step = int(cadence[1] or 1) * UNITS[cadence[2]]
        if cadence[3] is None:
            return set(range(0, DAY, step))
        seconds = read_chain(cadence[3])
        assert seconds == set(range(min(seconds), DAY, step)), text
        return seconds
    return read_chain(re.sub("^At ", "", text[0] + text[1:]).replace("Every", "every"))


def month_length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def nearest_workday(target: int, day: date) -> int | None:
    """Return the Monday-to-Friday day nearest to a day of the month that has it, inside that month."""
    length = month_length(day)
    if not 1 <= target <= length:
        return None
    workdays = [number for number in range(1, length + 1) if day.replace(day=number).weekday() < 5]
    return min(workdays, key=lambda number: abs(number - target))


def read_date_noun(noun: str, day: date) -> bool:
    length = month_length(day)
    if noun == "the last day":
        return day.day == length
    if noun == "the last weekday (Monday to Friday)":
        return day.day == nearest_workday(length, day)
    near = noun.rpartition(" nearest ")
    before = re.fullmatch(r"the (?:(\d+)\w\w )?day before the last day", near[2])
    if before:
        target = length - int(before[1] or 1)
        return day.day == (nearest_workday(target, day) if near[0] else target)
    if near[0]:
        assert near[0].startswith("the weekday (Monday to Friday")
        return day.day == nearest_workday(min(read_numbers(near[2].removeprefix("the "))), day)
    return day.day in read_numbers(noun.removeprefix("the "))


NOUN = re.compile(
    r"the last day|the last weekday \(Monday to Friday\)"
    r"|(?:the weekday \(Monday to Friday(?:, in the same month)?\) nearest )?the (?:\d+\w\w )?day before the last day"
    r"|the weekday \(Monday to Friday(?:, in the same month)?\) nearest the \d+\w\w"
    r"|the \d+(?:st|nd|rd|th)(?:(?:, … |, | and | to )\d+(?:st|nd|rd|th))*"
)


def read_dates(nouns: str, day: date) -> bool:
    assert not re.sub(r"(, | and )+", "", NOUN.sub("", nouns)), nouns
    return any(read_date_noun(noun, day) for noun in NOUN.findall(nouns))


def cyclic(first: str, last: str, names: list[str]) -> set[int]:
    begin, end = names.index(first), names.index(last)
    return {index % len(names) for index in range(begin, end + 1 if end >= begin else end + len(names) + 1)}


def read_weekdays(text: str, day: date) -> bool:
    """Read "Monday to Friday", "on Mondays and on the third Friday of the month", "a Monday or Friday"."""
    text = re.sub(r"\b(of the month|on|any day from|a day from|a)\b ?", "", text)
    wanted = set[int]()
    for word in re.split(r", | and | or ", text.strip()):
        if span := re.fullmatch(r"(\w+day) to (\w+day)", word.strip()):
            wanted |= cyclic(span[1], span[2], WEEKDAYS)
        elif nth := re.fullmatch(r"the (\w+) (\w+day)", word.strip()):
            weekday = WEEKDAYS.index(nth[2])
            last = day.day > month_length(day) - 7
            hit = last if nth[1] == "last" else (day.day - 1) // 7 == ORDINALS.index(nth[1])
            wanted |= {weekday} if hit else set()
        else:
            wanted.add(WEEKDAYS.index(word.strip().removesuffix("s")))
    return day.weekday() in wanted


def read_months(text: str, day: date) -> bool:
    """Read "the month", "January and July", "each month from March to October", "from March to October"."""
    if text == "the month":
        return True
    if span := re.fullmatch(r"(?:each month )?from (\w+) to (\w+)", text):
        return day.month - 1 in cyclic(span[1], span[2], MONTHS)
    return MONTHS[day.month - 1] in re.split(r", | and ", text.removeprefix("in "))


MONTH = rf"(?:{'|'.join(MONTHS)})"
IN_MONTHS = rf"(?:in {MONTH}(?:(?:, | and ){MONTH})*|from {MONTH} to {MONTH})"


def without_years(text: str, day: date) -> tuple[str, bool]:
    """Remove a clause about years from the end. Return the rest, and whether the clause matches a day."""
    if match := re.search(r",? ?\bfrom (\d{4}) on$", text):
        return text[: match.start()], day.year >= int(match[1])
    match = re.search(r",? ?\bin (?:the years )?(\d{4}.*)$", text) or re.search(r"(?<=[a-z]) (\d{4})$", text)
    return (text[: match.start()], day.year in read_numbers(match[1])) if match else (text, True)


def read_days(text: str, day: date) -> bool:
    """Read everything that follows the time of day."""
    if either := re.fullmatch(r", (.*?)(?:, )?on (the (?:(?!, on ).)*) of the month or on (.*)", text):
        lead, passes = without_years(either[1], day)
        in_months = not lead or read_months(lead, day)
        return passes and in_months and (read_dates(either[2], day) or read_weekdays(either[3], day))
    text, passes = without_years(text, day)
    if text.startswith(" every day"):
        months = text.removeprefix(" every day").strip()
        return passes and (not months or read_months(months, day))
    return passes and read_clauses(text.removeprefix(", "), day)


def read_clauses(text: str, day: date) -> bool:
    """Read days of the month or weekdays, or days of the month that must be certain weekdays, with their months."""
    if both := re.fullmatch(r"(on .*?)(?: if it is |, but only )(.*)", text):
        return read_clauses(both[1], day) and read_weekdays(both[2], day)
    if single := re.fullmatch(rf"on (\d+) ({MONTH})", text):
        return (day.day, MONTHS[day.month - 1]) == (int(single[1]), single[2])
    if tail := re.search(rf", ({IN_MONTHS})$", text):
        return read_months(tail[1], day) and read_weekdays(text[: tail.start()], day)
    if nth := re.fullmatch(rf"on (the (?:{'|'.join(ORDINALS)}|last) (?:{'|'.join(WEEKDAYS)}).*) of (.*)", text):
        return read_weekdays(nth[1], day) and read_months(nth[2], day)
    if dated := re.fullmatch(r"on (the .*) of (.*)", text):
        return read_dates(dated[1], day) and read_months(dated[2], day)
    return read_weekdays(text, day)


# --- drawing ----------------------------------------------------------------------------------------------------


def draw_field(rng: random.Random, low: int, high: int, special: tuple[str, ...] = ()) -> str:
    def item() -> str:
        first, last, step = rng.randint(low, high), rng.randint(low, high), rng.choice((1, 2, 3, 5, 7, 10, 15, 20, 30))
        forms = [
            "*",
            str(first),
            str(first),
            f"{first}-{last}",
            f"*/{step}",
            f"{first}/{step}",
            f"{first}-{last}/{step}",
        ]
        return rng.choice([*forms, *special])

    return ",".join(item() for _ in range(rng.choice((1, 1, 1, 1, 2, 3))))


DATE_RULES = ("L", "L-1", "L-3", "L-29", "LW", "L-2W", "L-30W", "1W", "15W", "31W")
WEEKDAY_RULES = ("5#3", "MON#1", "0#5", "FRIL", "7L", "TUE", "MON-FRI")


def draw_days(rng: random.Random) -> str:
    month_day = rng.choice(("*", "?", draw_field(rng, 1, 31, DATE_RULES)))
    weekday = rng.choice(("*", draw_field(rng, 0, 6, WEEKDAY_RULES)))
    plus = rng.choice(("", "+"))
    month = rng.choice(("*", "*", draw_field(rng, 1, 12)))
    last = rng.randint(2025, 2030)
    year = rng.choice(("*", "*", "2027", "2026,2028", "2025-2027", "2028/1", f"{last - 2}-{last}/2", "2024-2026,2028"))
    return f"{month_day} {month} {plus}{weekday} {year}"


def draw_rrule(rng: random.Random) -> str:
    """A rule at midnight without an interval, so that the reader knows its words."""
    frequency = rng.choice(("YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "DAILY"))
    parts = [f"FREQ={frequency}"]
    if rng.random() < 0.5:
        parts.append(f"BYMONTH={','.join(str(rng.randint(1, 12)) for _ in range(rng.randint(1, 4)))}")
    if rng.random() < 0.4 and frequency != "WEEKLY":
        parts.append(
            f"BYMONTHDAY={','.join(rng.choice(('-1', str(rng.randint(1, 31)))) for _ in range(rng.randint(1, 9)))}"
        )
    if rng.random() < 0.6:
        numbers = ("", "1", "2", "3", "-1") if frequency == "MONTHLY" else ("",)
        names = rng.sample(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), rng.randint(1, 7))
        parts.append(f"BYDAY={','.join(rng.choice(numbers) + name for name in names)}")
    return ";".join(parts)


# --- the tests --------------------------------------------------------------------------------------------------


def explanation(cron: str = "", rrule: str = "") -> str:
    text = Spec(cron=cron or [], rrules=rrule or []).explain()
    assert "\n" not in text
    assert text.endswith(".")
    return text.removesuffix(".").removesuffix(", in UTC")


def draw_times(rng: random.Random) -> str:
    second = rng.choice(("0", "0", "0", draw_field(rng, 0, 59)))
    return f"{second} {draw_field(rng, 0, 59)} {draw_field(rng, 0, 23)}"


@pytest.mark.parametrize("seed", range(120))
def test_described_times_of_day_match_the_ticks(seed: int) -> None:
    cron = f"{draw_times(random.Random(seed))} * * *"
    assert read_times(explanation(cron)) == set(compile_spec(cron).between_epochs(0, DAY - 1)), cron


@pytest.mark.parametrize("seed", range(200, 260))
def test_times_of_one_weekday_do_not_cross_midnight(seed: int) -> None:
    cron = f"{draw_times(random.Random(seed))} * * THU"
    text = explanation(cron)
    assert "next day" not in text
    ticks = set(compile_spec(cron).between_epochs(0, 7 * DAY - 1))
    assert read_times(text.removesuffix(", on Thursdays")) == ticks, cron


@pytest.mark.parametrize("seed", range(100))
def test_described_days_match_the_ticks(seed: int) -> None:
    cron = f"0 0 0 {draw_days(random.Random(seed))}"
    text = explanation(cron)
    assert described_days(text) == ticking_days(Spec(cron=cron)), f"{cron}: {text}"


@pytest.mark.parametrize("seed", range(60))
def test_described_days_of_a_recurrence_rule_match_its_ticks(seed: int) -> None:
    rule = draw_rrule(random.Random(seed))
    text = explanation(rrule=rule)
    assert described_days(text) == ticking_days(Spec(rrules=rule)), f"{rule}: {text}"


FIRST, LAST = date(2027, 1, 1), date(2028, 12, 31)


def described_days(text: str) -> list[date]:
    assert text.startswith("At 00:00")
    days = (FIRST + timedelta(days=count) for count in range((LAST - FIRST).days + 1))
    return [day for day in days if read_days(text.removeprefix("At 00:00"), day)]


def ticking_days(spec: Spec) -> list[date]:
    ticks = spec.compile().between_epochs((FIRST - EPOCH).days * DAY, (LAST - EPOCH).days * DAY)
    return [EPOCH + timedelta(days=tick // DAY) for tick in ticks]
