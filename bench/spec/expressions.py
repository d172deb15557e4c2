"""Cron expressions in the shapes that people write, from a seeded generator.

Two mixes come out of the same shapes: :func:`distinct_expressions` gives every shape its share of a list without
repetitions, for measurements of speed.  :func:`draw_expression` repeats itself as people do, for
measurements of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

MINUTE_STEPS = (2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
ROUND_MINUTES = (0, 0, 0, 5, 10, 15, 20, 30, 30, 45)
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

TRIES = 200
"""The number of tries for a new expression of a shape before its share goes to the others."""


class Shape(NamedTuple):
    """One way of writing a schedule, and how many percent of all expressions are written so."""

    name: str
    percent: int
    draw: Callable[[Random], str]


def draw_expression(random: Random) -> str:
    """Return an expression. Common ones repeat."""
    (shape,) = random.choices(SHAPES, [shape.percent for shape in SHAPES])
    return shape.draw(random)


def distinct_expressions(random: Random, count: int) -> list[str]:
    """Return ``count`` different expressions in random order, with each shape in proportion."""
    drawn: dict[str, None] = {}
    for shape in SHAPES:
        wanted = len(drawn) + round(count * shape.percent / 100)
        for _try in range(TRIES * count):
            if len(drawn) >= wanted:
                break
            drawn[shape.draw(random)] = None
    while len(drawn) < count:
        drawn[draw_expression(random)] = None
    expressions = list(drawn)[:count]
    random.shuffle(expressions)
    return expressions


def _minute(random: Random) -> int:
    """Return a minute: usually a round one, sometimes an odd one, as chosen to spread load."""
    return random.choice(ROUND_MINUTES) if random.random() < 0.6 else random.randrange(60)


def _time(random: Random) -> str:
    return f"{_minute(random)} {random.randrange(24)}"


def _every_few_minutes(random: Random) -> str:
    form = random.randrange(6)
    step = random.choice(MINUTE_STEPS)
    if form == 0:
        return "* * * * *"
    if form == 1:
        return f"*/{step} * * * *"
    if form == 2:
        return f"{random.randrange(1, step)}-59/{step} * * * *"
    if form == 3:
        first = random.randrange(30)
        return f"{first},{first + 30} * * * *"
    if form == 4:
        return f"{_minute(random)} */{random.choice((2, 3, 4, 6, 8, 12))} * * *"
    return f"{_minute(random)} * * * *"


def _daily(random: Random) -> str:
    if random.random() < 0.8:
        return f"{_time(random)} * * *"
    first = random.randrange(12)
    return f"{_minute(random)} {first},{first + random.randrange(4, 12)} * * *"


def _on_weekdays(random: Random) -> str:
    return f"{_time(random)} * * {random.choice(('1-5', '1-5', 'MON-FRI', '1,3,5', '2,4', '0,6'))}"


def _weekly(random: Random) -> str:
    weekday = random.randrange(7)
    return f"{_time(random)} * * {WEEKDAYS[weekday] if random.random() < 0.3 else weekday}"


def _monthly(random: Random) -> str:
    form = random.randrange(8)
    if form < 4:
        return f"{_time(random)} {random.choice((1, 1, 1, 2, 5, 10, 15, 20, 25, 28, 31))} * *"
    if form == 4:
        return f"{_time(random)} 1,15 * *"
    if form == 5:
        return f"{_time(random)} L * *"
    return f"{_time(random)} * * {random.randrange(7)}#{random.randrange(1, 6)}"


def _within_hours(random: Random) -> str:
    first = random.randrange(5, 11)
    hours = f"{first}-{first + random.randrange(6, 13)}"
    form = random.randrange(4)
    if form == 0:
        return f"*/{random.choice(MINUTE_STEPS)} {hours} * * 1-5"
    if form == 1:
        return f"{_minute(random)} {hours}/{random.choice((2, 3, 4))} * * *"
    if form == 2:
        return f"*/{random.choice(MINUTE_STEPS)} {hours} * * *"
    return f"{_minute(random)} {hours} * * {random.choice(('1-5', 'MON-FRI', '1-6', '*'))}"


def _with_seconds(random: Random) -> str:
    form = random.randrange(4)
    if form == 0:
        return f"*/{random.choice(MINUTE_STEPS)} * * * * *"
    if form == 1:
        return f"{random.randrange(60)} */{random.choice(MINUTE_STEPS)} * * * *"
    if form == 2:
        return f"{random.randrange(60)} {_time(random)} * * *"
    return f"{random.randrange(60)} {_time(random)} * * 1-5"


def _yearly(random: Random) -> str:
    form = random.randrange(6)
    if form == 0:
        return f"{_time(random)} 1 */3 *"
    if form == 1:
        return f"{_time(random)} 1 1,4,7,10 *"
    if form == 2:
        return f"{_time(random)} {random.randrange(1, 29)} {random.choice(MONTHS)} *"
    if form == 3 and random.random() < 0.3:
        return f"{_time(random)} 29 2 *"
    return f"{_time(random)} {random.randrange(1, 29)} {random.randrange(1, 13)} *"


SHAPES = (
    Shape("every few minutes or hours", 15, _every_few_minutes),
    Shape("daily", 30, _daily),
    Shape("on some weekdays", 15, _on_weekdays),
    Shape("weekly", 10, _weekly),
    Shape("monthly, L and #", 10, _monthly),
    Shape("within hours, by steps", 10, _within_hours),
    Shape("with seconds", 5, _with_seconds),
    Shape("yearly and quarterly", 5, _yearly),
)
