"""Texts for parsers: arbitrary characters, sentences of a grammar, and damaged real texts."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Sequence

Draw = random.Random
Make = Callable[[Draw], str]

STRANGE = "\0\t\n\r\x0b\x0c\x1c\x1f\x7f\x85\xa0\xad²½٣१１Ⅷ\u2003\u2028\u200b\u202e\ufeff\ud800\udfffßİı🐢ＭＯＮ"
NUMBERS = "0 1 5 7 00 007 59 60 61 23 24 31 32 99 366 1969 1970 2026 2200 2201 9999 -1 1e9 0x1F 1_000 ٣ ²".split()
HUGE = ("9" * 30, "0" * 40 + "7", "1" * 1000, "0" * 4300, "9" * 5000, "1e400")


def arbitrary(draw: Draw) -> str:
    """Characters of one or two alphabets, usually few, sometimes very many."""
    longest = draw.choice((3, 10, 10, 30, 30, 100, 1_000)) if draw.random() < 0.98 else 20_000
    alphabet = draw.choice((string.printable, "0123456789*/-,?LWH#()+@~ \t", string.ascii_letters + " =;:", STRANGE))
    if draw.random() < 0.1:
        return draw.choice(alphabet) * draw.randrange(longest)
    if draw.random() < 0.2:
        return "".join(chr(draw.randrange(0x110000)) for _ in range(draw.randrange(min(longest, 100))))
    return "".join(draw.choices(alphabet + STRANGE * (draw.random() < 0.2), k=draw.randrange(longest)))


def mutated(draw: Draw, text: str, others: Sequence[str]) -> str:
    """The same text with a few wounds."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 6))):
        begin = draw.randrange(len(text) + 1)
        end = min(len(text), begin + draw.choice((0, 0, 1, 1, 2, 5, 50)))
        text = text[:begin] + _patch(draw, text[begin:end], others) + text[end:]
    return text if draw.random() < 0.95 else draw.choice((text.upper(), text.lower(), text.swapcase(), text[::-1]))


def _patch(draw: Draw, cut: str, others: Sequence[str]) -> str:
    """The replacement of a removed part."""
    kind = draw.randrange(8)
    if kind == 0:
        return ""
    if kind == 1:
        return cut * draw.choice((2, 2, 3, 100))
    if kind == 2:
        return draw.choice(NUMBERS if draw.random() < 0.9 else HUGE)
    if kind == 3:
        return draw.choice(STRANGE)
    if kind == 4:
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        return other[begin : begin + draw.randrange(1, 12)]
    if kind == 5:
        return draw.choice(string.printable)
    if kind == 6:
        return cut[::-1]
    return draw.choice(" ,-/*?#;:=T+LWH\"'[]{}()@")


def blended(seeds: Sequence[str], sentence: Make | None = None) -> Make:
    """A source of text: a fifth arbitrary, the rest seeds and sentences, most of them wounded."""

    def make(draw: Draw) -> str:
        if draw.random() < 0.2:
            return arbitrary(draw)
        text = sentence(draw) if sentence is not None and draw.random() < 0.6 else draw.choice(seeds)
        return mutated(draw, text, seeds) if draw.random() < 0.7 else text

    return make


# ---------------------------------------------------------------- cron

CRON_SEEDS = (
    "* * * * *", "*/15 9-17 * * MON-FRI", "0 0 L * *", "0 0 LW * ?", "0 0 L-3 * ?", "0 0 15W * ?", "0 0 ? * FRI#3",
    "0 0 ? * FRIL", "H H(0-7) * * *", "H/15 * * * *", "0 22-2/2 28-3 NOV-FEB 5-7", "0 0 13 * +FRI", "@daily",
    "@every 1h30m/5m", "CRON_TZ=Europe/Berlin 0 9 * * 1 # standup", "TZ=Asia/Tokyo @hourly", "0 0 12 1/5 * ? 2026-2030",
    "0 0 30 2 *", "59 59 23 31 12 ? 2200", "0 0 0 ? * 2-6 *", "0 12 * * 1 2030", "5,10,15-20/2 * * * *",
)  # fmt: skip
FIELD_SEEDS = (
    "*", "*/15", "0", "5/20", "10-20/5,3", "22-2", "NOV-FEB", "L", "L-3", "LW", "15W", "FRI#3", "5L", "FRIL", "H",
    "H(0-29)/10", "?", "1,2,3", "2026/2", "sunday",
)  # fmt: skip
NAMES = "JAN feb March APR MAY JUN JUL AUG SEP OCT NOV DEC SUN mon TUE Wednesday THU FRI SAT L LW W H R ? *".split()


def field(draw: Draw) -> str:
    """A list of one to four elements that look like those of a cron field."""
    return ",".join(_element(draw) for _ in range(draw.choice((1, 1, 1, 1, 2, 4))))


def _element(draw: Draw) -> str:
    def atom() -> str:
        return draw.choice(NAMES) if draw.random() < 0.2 else str(draw.choice((0, 1, 2, 5, 7, 12, 23, 28, 31, 59, 60)))

    form = draw.randrange(9)
    if form <= 2:
        return draw.choice(("*", "*", atom()))
    if form == 3:
        return f"{atom()}-{atom()}" + (f"/{atom()}" if draw.random() < 0.3 else "")
    if form == 4:
        return f"{draw.choice(('*', atom()))}/{atom()}"
    if form == 5:
        return draw.choice(("L", "LW", f"L-{atom()}", f"{atom()}W", f"L-{atom()}W"))
    if form == 6:
        return draw.choice((f"{atom()}#{atom()}", f"{atom()}L", "?"))
    if form == 7:
        return draw.choice(("H", f"H/{atom()}", f"H({atom()}-{atom()})", f"H({atom()}-{atom()})/{atom()}"))
    return atom()


def cron(draw: Draw) -> str:
    """A sentence that looks like a cron string of five to seven fields, perhaps with a prefix and a comment."""
    count = draw.choice((5, 5, 5, 5, 6, 6, 7, 7, 4, 8))
    fields = [field(draw) for _ in range(count)]
    if count == 7:
        fields[-1] = draw.choice(("*", "2026", "1970-2200/7", "2026,2030", "2201"))
    if draw.random() < 0.1:
        fields[-1] = "+" + fields[-1]
    prefix = draw.choice(("CRON_TZ=", "TZ=")) + draw.choice(ZONES) + " " if draw.random() < 0.1 else ""
    return prefix + draw.choice((" ", " ", "\t", "  ")).join(fields) + (" # why" if draw.random() < 0.1 else "")


# ---------------------------------------------------------------- the rest

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")
ZONE_SEEDS = (*ZONES, "Etc/GMT+12", "America/Argentina/Buenos_Aires", "../../etc/passwd", "Europe/Berlin\0", "utc")
DURATION_SEEDS = (
    "90s",
    "1h30m",
    "15m/5m",
    "1.5d",
    "PT15M",
    "P1W",
    "P1DT2H3M4S",
    "3600",
    "500ms",
    "1w",
    "0.001s",
    "24h/0s",
)
MOMENT_SEEDS = (
    "2026-03-29", "2026-03-29T02:30:00", "2026-03-29T02:30:00+02:00", "2026-03-29T02:30Z", "20260329", "2026-W13-7",
    "2026-03-29 02:30:00.000001", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-12-31T23:59:59Z",
    "2201-01-01T00:00:00Z", "20260329T023000Z", "2026-03-29T24:00:00",
)  # fmt: skip
RRULE_SEEDS = (
    "FREQ=DAILY",
    "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=9",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=YEARLY;BYWEEKNO=20,53;WKST=SU",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY;COUNT=10",
    "RRULE:FREQ=HOURLY;INTERVAL=7;UNTIL=20300101T000000Z",
    "FREQ=SECONDLY;INTERVAL=86399;BYMINUTE=7;BYSECOND=59",
    "DTSTART:20000229T000000Z\nRRULE:FREQ=YEARLY;INTERVAL=4;BYYEARDAY=60,-1",
    "FREQ=MINUTELY;BYMONTHDAY=31;BYMONTH=2",
    "FREQ=WEEKLY;INTERVAL=999999999;BYSETPOS=2;BYDAY=MO,TU",
    "DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=MONTHLY;COUNT=3",
    "FREQ=YEARLY;BYDAY=53MO;BYMONTH=13",
    "FREQ=DAILY;BYHOUR=25",
    "FREQ=YEARLY;BYMONTHDAY=30;BYMONTH=2",
    "EXDATE:20260101",
)
RRULE_PARTS = (
    "INTERVAL=2 INTERVAL=86400 COUNT=5 UNTIL=20400101 WKST=SU BYSECOND=0,30,60 BYMINUTE=15 BYHOUR=2 BYDAY=MO,-1SU "
    "BYDAY=SA,SU BYMONTHDAY=-1,31 BYYEARDAY=366,1 BYWEEKNO=53,-1 BYMONTH=2 BYSETPOS=1,-1"
).split()
FREQUENCIES = "YEARLY MONTHLY WEEKLY DAILY HOURLY MINUTELY SECONDLY".split()


def rrule(draw: Draw) -> str:
    """A rule of a few parts, often with a DTSTART line."""
    parts = [f"FREQ={draw.choice(FREQUENCIES)}", *draw.sample(RRULE_PARTS, k=draw.randrange(5))]
    start = f"DTSTART:{draw.choice((1969, 1970, 2000, 2026))}{draw.choice(('0101', '0229', '1231'))}T013000\nRRULE:"
    return draw.choice(("", start)) + ";".join(parts)


ICALENDAR_SEEDS = tuple(
    ending.join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *properties, "END:VEVENT", "END:VCALENDAR"])
    for ending, *properties in (
        ("\n", "DTSTART;VALUE=DATE:20261225", "SUMMARY:Christmas\\, closed"),
        (
            "\r\n",
            "DTSTART;TZID=Europe/Berlin:20260101T090000",
            "DTEND:20260101T",
            " 110000",
            "RRULE:FREQ=YEARLY;COUNT=3",
        ),
        (
            "\n",
            "DTSTART:20260101T090000Z",
            "DURATION:PT2H",
            "STATUS:CANCELLED",
            "BEGIN:VALARM",
            "TRIGGER:x",
            "END:VALARM",
        ),
        ("\r\n", "DTSTART:20260101", "DTEND:20260105", "RRULE:FREQ=WEEKLY;UNTIL=20280101", "EXDATE:20260108,20260115"),
    )
)


def icalendar(draw: Draw) -> str:
    """A file of a few events, each with a few properties."""
    lines = ["BEGIN:VCALENDAR"]
    for _ in range(draw.randrange(3)):
        lines.append("BEGIN:VEVENT")
        for name in draw.choices(("DTSTART", "DTSTART;VALUE=DATE", "DTEND", "EXDATE", "DTSTART;TZID=UTC"), k=3):
            stamp = f"{draw.choice((0, 1, 1969, 2026, 9999)):04}{draw.choice(('0101', '0229', '1231', '1399'))}"
            lines.append(f"{name}:{stamp}{draw.choice(('', 'T000000', 'T235960Z', 'T250000'))}")
        lines.append(draw.choice((f"RRULE:{rrule(draw)}", f"DURATION:{draw.choice(DURATION_SEEDS)}", "SUMMARY:x")))
        lines.append("END:VEVENT")
    return draw.choice(("\n", "\r\n")).join([*lines, "END:VCALENDAR"])


DOCUMENTS: tuple[dict[str, object], ...] = (
    {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "jitter_ms": 5000},
    {
        "calendars": [{"hour": "9-17", "minute": [{"start": 0, "end": 59, "step": 15}], "comment": "x"}],
        "dst_gap": "skip",
    },
    {
        "intervals": [{"every": "15m", "offset": "5m", "anchor": "epoch"}],
        "start_at": "2026-01-01",
        "end_at": "2027-01-01",
    },
    {"cron": ["@daily"], "exclude": {"dates": ["2026-12-25"], "windows": [{"from": "2026-01-01", "to": "2026-01-02"}]}},
    {"rrules": ["FREQ=DAILY"], "times": ["2026-01-01T00:00:00Z"], "dialect": "quartz", "dst_overlap": "both"},
    {"cron": "0 9 * * *", "exclude": {"holidays": [{"country": "DE", "first_year": 2026, "dates": ["2026-01-01"]}]}},
    {"cron": "0 9 * * *", "exclude": {"calendars": [{"day_of_week": "SAT,SUN"}], "named": ["company"]}},
)
JSON_SEEDS = tuple(json.dumps(document) for document in DOCUMENTS)
WORDS = (
    "cron calendars intervals rrules times exclude timezone start_at end_at jitter_ms jitter_mode dst_gap dst_overlap "
    "dst_profile dialect dates windows holidays named from to note every offset anchor second minute hour day_of_month "
    "month year day_of_week comment country subdivision first_year last_year source start end step"
).split()
SCALARS: tuple[object, ...] = (
    *(None, True, False, 0, 1, -1, 7, 59, 60, 2026, 10**30, 0.5, 1e400),
    *("", "x", "skip", "both", "symmetric", "completion", "DE", "DE-BY", "utils", "country_holidays", "HolidayBase"),
    *(ZONES + MOMENT_SEEDS + DURATION_SEEDS + FIELD_SEEDS + CRON_SEEDS + RRULE_SEEDS),
)


def _value(draw: Draw, depth: int) -> object:
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(SCALARS)
    if draw.random() < 0.4:
        return [_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(WORDS): _value(draw, depth - 1) for _ in range(draw.randrange(4))}


def spec_json(draw: Draw) -> str:
    """An object with the names of a spec and values of any kind, once in a while nested beyond all reason."""
    if draw.random() < 0.005:
        depth = draw.choice((900, 2_000)) + draw.randrange(100)
        return f'{{"{draw.choice(WORDS[:15])}": {"[" * depth}{"]" * depth}}}'
    if draw.random() < 0.5:
        document = dict(draw.choice(DOCUMENTS))
        document[draw.choice(WORDS[:15])] = _value(draw, 3)
        return json.dumps(document)
    return json.dumps({draw.choice(WORDS[:15]): _value(draw, 4) for _ in range(draw.randrange(5))})
