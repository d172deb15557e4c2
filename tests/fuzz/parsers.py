"""Every parser of text, and the properties of an accepted text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import tompion
from tests.fuzz import process, texts
from tompion import InvalidSpec, NamedCalendar, Spec
from tompion.model.spec import CALENDAR_FIELDS, Dialect
from tompion.spec.calendar.days import HORIZON
from tompion.spec.duration import parse_duration
from tompion.spec.zone.tables import load_zone

QUICK_S = 0.005
"""The time limit to parse and compile a cron string or field and to compute one tick."""

PATIENT_S = 2.0
"""The time limit for whole documents."""


class Broken(AssertionError):
    """A parser has violated a property."""


@dataclass(frozen=True)
class FuzzedParser:
    """A parser: ``enter`` returns the value of valid text and raises ``refuses`` for other text."""

    name: str
    enter: Callable[[str], Spec | None]
    make: texts.Make
    limit_s: float = PATIENT_S
    refuses: type[Exception] = InvalidSpec


def _cron(dialect: Dialect) -> Callable[[str], Spec]:
    return lambda text: Spec(cron=text, dialect=dialect)


def _string(text: str) -> None:
    tompion.compile_spec(text, "Europe/Berlin", schedule_id="fuzz").next_epoch(0)


def _field(name: str) -> Callable[[str], Spec]:
    return lambda text: Spec(calendars=[{name: text}], timezone="America/New_York")


def _ranges(text: str) -> Spec:
    """Numbers, three to a range, into each field of a calendar in turn."""
    numbers = [ord(letter) - 64 for letter in text[:30]]
    spans = [
        dict(zip(("start", "end", "step"), numbers[at : at + 3], strict=False)) for at in range(0, len(numbers), 3)
    ]
    return Spec(calendars=[{CALENDAR_FIELDS[len(text) % 7]: spans}])


def _duration(text: str) -> Spec:
    parse_duration(text, field="every")
    return Spec(intervals=text)


def _zone(text: str) -> Spec:
    load_zone(text)
    return Spec(cron="0 9 * * *", timezone=text)


def _file(text: str) -> Spec:
    calendar = tompion.read_icalendar("file", text)
    spec = Spec(cron="0 9 * * *", exclude={"named": ["file"]})
    spec.compile(calendars=[calendar]).next_epoch(0)
    return spec


CRON = texts.blended(texts.CRON_SEEDS, texts.cron)
FIELD = texts.blended(texts.FIELD_SEEDS, texts.field)
MOMENT = texts.blended(texts.MOMENT_SEEDS)

PARSERS = {
    parser.name: parser
    for parser in (
        FuzzedParser("compile", _string, CRON, QUICK_S),
        FuzzedParser("cron, tompion", _cron("tompion"), CRON, QUICK_S),
        FuzzedParser("cron, quartz", _cron("quartz"), CRON, QUICK_S),
        FuzzedParser("cron, temporal", _cron("temporal"), CRON, QUICK_S),
        *(FuzzedParser(f"calendar {name}", _field(name), FIELD, QUICK_S) for name in CALENDAR_FIELDS),
        FuzzedParser("excluded hour", lambda text: Spec(cron="@hourly", exclude={"calendars": {"hour": text}}), FIELD),
        FuzzedParser("ranges", _ranges, texts.arbitrary, QUICK_S),
        FuzzedParser("duration", _duration, texts.blended(texts.DURATION_SEEDS)),
        FuzzedParser("time", lambda text: Spec(times=text, timezone="Pacific/Apia"), MOMENT),
        FuzzedParser("start_at", lambda text: Spec(cron="0 9 * * *", timezone="Asia/Beirut", start_at=text), MOMENT),
        FuzzedParser("end_at", lambda text: Spec(cron="0 9 * * *", timezone="Asia/Beirut", end_at=text), MOMENT),
        FuzzedParser("excluded date", lambda text: Spec(cron="0 9 * * *", exclude={"dates": text}), MOMENT),
        FuzzedParser(
            "window", lambda text: Spec(cron="@hourly", exclude={"windows": {"from": text, "to": text}}), MOMENT
        ),
        FuzzedParser("rrule", lambda text: Spec(rrules=text), texts.blended(texts.RRULE_SEEDS, texts.rrule)),
        FuzzedParser("zone", _zone, texts.blended(texts.ZONE_SEEDS)),
        FuzzedParser("json", Spec.from_json, texts.blended(texts.JSON_SEEDS, texts.spec_json)),
        FuzzedParser("icalendar", _file, texts.blended(texts.ICALENDAR_SEEDS, texts.icalendar)),
        *(
            FuzzedParser(name, enter, make, refuses=process.REFUSALS[enter])
            for name, enter, make in (
                ("config file", process.from_file, texts.blended(process.FILE_SEEDS)),
                ("config variables", process.from_environment, texts.blended(process.VARIABLE_SEEDS)),
                ("key", process.with_key, process.key_text),
                ("token", process.with_token, process.token_text),
                ("token claims", process.with_claims, texts.blended(process.CLAIM_SEEDS)),
                ("token header", process.with_header, texts.blended(process.HEADER_SEEDS)),
            )
        ),
    )
}


def pass_through(parser: FuzzedParser, text: str, after: int) -> bool:
    """Return whether a parser accepts a text. Raises :class:`Broken` if it violates a property."""
    try:
        spec = parser.enter(text)
        if spec is not None:
            ask(spec, after)
    except parser.refuses as error:
        check_error(error)
        return False
    return True


def ask(spec: Spec, after: int) -> None:
    """Ask a spec once forwards."""
    tick = spec.compile(schedule_id="fuzz", calendars=nameless(spec)).next_epoch(after)
    if tick is not None and not max(after, -1) < tick < HORIZON:
        raise Broken(f"next({after}) is {tick}")


def check_error(error: Exception) -> None:
    """An error is one line. That of a spec shows a place inside the text."""
    if "\n" in str(error) or not str(error):
        raise Broken(f"the message is not one line: {str(error)!r}")
    if not isinstance(error, InvalidSpec):
        return
    if error.position is not None and error.text is not None and not 0 <= error.position <= len(error.text):
        raise Broken(f"position {error.position} is not inside {error.text!r}")


def check_answers(parser: FuzzedParser, text: str, draw: random.Random) -> None:
    """Check the value of an accepted text: a round trip gives the same value, and so on."""
    spec = parser.enter(text)
    if spec is None:
        return
    if Spec.from_json(spec.to_json()) != spec:
        raise Broken(f"written and read again it differs: {spec.to_json()}")
    if any(interval.anchor == "completion" for interval in spec.intervals):
        return  # a fixed delay has no past
    ticks = spec.compile(schedule_id="fuzz", calendars=nameless(spec))
    after = draw.randrange(HORIZON)
    tick = ticks.next_epoch(after)
    if ticks.prev_epoch(HORIZON if tick is None else tick + 1) != (
        ticks.prev_epoch(after + 1) if tick is None else tick
    ):
        raise Broken(f"prev is not the inverse of next at {after}")


def nameless(spec: Spec) -> list[NamedCalendar]:
    """Stand-ins for the calendars that a spec excludes by name."""
    return [NamedCalendar(name) for name in spec.exclude.named]
