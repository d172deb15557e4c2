"""Random specs that are likely to touch what makes a place interesting.

Every field is drawn around a *hot* wall time: a lost one, an ambiguous one, the edge of a gap, or any one of the walk.
All syntaxes are drawn. Every drawn spec is valid and has one meaning, so an engine that rejects it is wrong too.
"""

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from tests.oracle.brute import iso
from tests.oracle.cron import BOUNDS, MACROS, MONTHS, WEEKDAYS, month_of, parse_calendar, parse_cron, weekday_number
from tests.oracle.walk import DAY, HOUR, Walk, moment_of

Drawn = dict[str, Any]
Choice = TypeVar("Choice")

MAX_SECONDS_PER_DAY = 6000
"""Denser rules are drawn rarely, because they are slow to evaluate and show little."""


def hot_wall(rng: random.Random, walk: Walk) -> int:
    """A wall second at which something may go wrong."""
    if walk.seconds_of_day is not None:
        return rng.randrange(walk.start // DAY, walk.end // DAY) * DAY + rng.choice(walk.seconds_of_day)
    edges = [edge + nudge for gap in walk.gaps for edge in (gap.lost_from, gap.lost_until) for nudge in (-1, 0)]
    lost = [rng.randrange(gap.lost_from, gap.lost_until) for gap in walk.gaps for _ in range(3)]
    repeated = [wall for jump in walk.jumps for wall in repeated_around(rng, walk, jump)]
    anywhere = walk.wall_at(rng.randrange(walk.start, walk.end))
    wall = rng.choice([*edges, *lost, *repeated, *repeated, anywhere])
    return round_off(rng, wall) if rng.random() < 0.8 else wall


def repeated_around(rng: random.Random, walk: Walk, jump: int) -> list[int]:
    """Some ambiguous wall seconds of one jump back, including its edges. Empty for a jump forward."""
    first_again = walk.wall_at(jump)
    if first_again not in walk.shown_again:
        return []
    length = walk.wall_at(jump - 1) + 1 - first_again
    return [first_again, first_again + length, *(first_again + rng.randrange(length) for _ in range(3))]


def round_off(rng: random.Random, wall: int) -> int:
    """People write whole minutes and quarters. A random second would rarely be hit again."""
    return wall - wall % rng.choice((60, 300, 900, 1800))


# ---------------------------------------------------------------- fields


def draw_number_field(rng: random.Random, name: str, hot: int, *, plain: bool = False) -> str:
    """A field of plain numbers around the hot value. `plain`: without wrap-around ranges."""
    low, high = BOUNDS[name]
    size = high - low + 1
    before, after = rng.randrange(4), rng.randrange(1, 4)
    first, last = hot - before, hot + after
    if plain:
        first, last = max(first, low), min(last, high)
    around = f"{(first - low) % size + low}-{(last - low) % size + low}"
    step = rng.choice((2, 3, 5, 7, 10, 15, 20, 30))
    step = step if step < size else 2
    others = sorted({hot, *(rng.randrange(low, high + 1) for _ in range(2))})
    forms: list[tuple[int, str]] = [
        (10, str(hot)),
        (3, ",".join(map(str, others))),
        (4, around),
        (2, f"{around}/{rng.choice((2, 3))}"),
        (2, f"{around},{others[-1]}"),
        (2, f"{max(low, hot - step * rng.randrange(3))}/{step}"),
        (4, "*"),
        (4, f"*/{step}"),
        (1, f"{low}-{high}"),
        (1, f"{low}-{high}/{step}"),
    ]
    if not plain:
        late, early = rng.randrange(high - 3, high + 1), rng.randrange(low, low + 4)
        forms += [(2, f"{late}-{early}"), (1, f"{late}-{early}/{rng.choice((2, 3))}"), (1, f"*,{hot}")]
    return pick(rng, forms)


def draw_second(rng: random.Random, hot: int, *, plain: bool = False) -> str:
    forms = [(6, "0"), (6, str(hot)), (1, f"{hot},30"), (1, "*/20"), (1, "*/30"), (1, "0/15"), (1, "10-30/10")]
    return pick(rng, forms if plain else [*forms, (1, "58-1")])


def draw_month(rng: random.Random, hot: date, *, plain: bool = False) -> str:
    if rng.random() < 0.6:
        return "*"
    if rng.random() < 0.5:
        return draw_number_field(rng, "month", hot.month, plain=plain)
    name = any_case(rng, MONTHS[hot.month - 1])
    last = MONTHS[min(11, hot.month + 1)]
    forms = [(3, name), (1, f"{name},{rng.choice(MONTHS)}"), (1, f"{name}-{last}"), (1, f"{name}/3")]
    if not plain:
        forms.append((2, f"{rng.choice(MONTHS[9:])}-{rng.choice(MONTHS[:8])}"))
    return pick(rng, forms)


def draw_year(rng: random.Random, hot: date) -> str:
    year = min(max(hot.year, 1970), 2200)
    low, high = max(1970, year - rng.randrange(3)), min(2200, year + rng.randrange(1, 4))
    forms = [(4, "*"), (3, str(year)), (2, f"{low}-{high}"), (1, f"{low},{high}"), (1, f"{low}-{high}/2")]
    return pick(rng, [*forms, (1, "*/2"), (1, "*/4"), (1, f"{low}/3")])


def draw_day_of_month(rng: random.Random, hot: date, *, plain: bool = False) -> str:
    if plain or rng.random() < 0.4:
        return draw_number_field(rng, "day_of_month", hot.day, plain=plain)
    last = len(month_of(hot))
    forms = [
        (3, "L"),
        (2, f"L-{max(1, last - hot.day)}"),
        (1, f"L-{rng.randrange(1, 31)}"),
        (3, "LW"),
        (3, f"{hot.day}W"),
        (2, f"{rng.choice((1, 2, 15, 28, 29, 30, 31))}W"),
        (1, f"{hot.day},L"),
        (1, f"1W,15,L-{rng.randrange(1, 8)}"),
        (1, "1,LW"),
    ]
    return pick(rng, forms)


def draw_day_of_week(rng: random.Random, hot: date, *, plain: bool = False, sunday: int = 0) -> str:
    """`sunday`: the number of Sunday, 0 or (in Quartz) 1. With 0, Sunday is sometimes written as 7."""
    number = weekday_number(hot)

    def written(weekday: int) -> str:
        if rng.random() < 0.5:
            return any_case(rng, WEEKDAYS[weekday % 7])
        if weekday % 7 == 0 and sunday == 0:
            return rng.choice("07")
        return str(weekday % 7 + sunday)

    before = rng.randrange(3)
    first, last = number - before, number + rng.randrange(1, 3)
    if plain:
        first, last = max(0, first), min(6, last)
    span = (
        f"{WEEKDAYS[first % 7]}-{WEEKDAYS[last % 7]}"
        if rng.random() < 0.5
        else f"{first % 7 + sunday}-{last % 7 + sunday}"
    )
    count = (hot.day - 1) // 7 + 1
    forms: list[tuple[int, str]] = [
        (6, written(number)),
        (3, f"{written(number)},{written(rng.randrange(7))}"),
        (3, span),
        (1, f"{span}/2"),
        (1, f"*/{rng.choice((2, 3))}"),
        (2, f"{1 + sunday}-{5 + sunday}"),
    ]
    if sunday == 0:
        forms += [(2, f"{rng.randrange(1, 7)}-7"), (1, "0-7")]
    if not plain:
        forms += [
            (4, f"{written(number)}#{count}"),
            (2, f"{written(rng.randrange(7))}#{rng.randrange(1, 6)}"),
            (4, f"{written(number)}L"),
            (1, f"{written(number)}#{count},{written(rng.randrange(7))}L"),
            (1, f"{written(number)}#1,{written(rng.randrange(7))}"),
            (1, f"{written(rng.randrange(1, 6))}/2"),
        ]
    return pick(rng, forms)


def draw_days(rng: random.Random, hot: date) -> tuple[str, str]:
    """Day of month and day of week, for the tompion dialect: free, one restricted, OR, AND."""
    month_day, week_day = draw_day_of_month(rng, hot), draw_day_of_week(rng, hot)
    unrestricted = rng.choice(("*", "*", "*", "?"))
    return pick(
        rng,
        [
            (6, ("*", "*")),
            (3, (month_day, unrestricted)),
            (4, (unrestricted, week_day)),
            (3, (month_day, week_day)),
            (2, (month_day, "+" + week_day)),
            (1, ("*/2", week_day)),
        ],
    )


def pick(rng: random.Random, weighted: list[tuple[int, Choice]]) -> Choice:
    return rng.choices([item for _, item in weighted], [weight for weight, _ in weighted])[0]


def any_case(rng: random.Random, name: str) -> str:
    return rng.choice((name, name, name.lower(), name.capitalize()))


# ---------------------------------------------------------------- sources


def draw_times(rng: random.Random, walk: Walk, hot: datetime, *, plain: bool = False) -> tuple[str, str, str]:
    """Second, minute and hour. In a walk of days: exactly one of the times it looks at."""
    if walk.seconds_of_day is not None:
        return str(hot.second), str(hot.minute), str(hot.hour)
    second = "0" if rng.random() < 0.5 else draw_second(rng, hot.second, plain=plain)
    minute = draw_number_field(rng, "minute", hot.minute, plain=plain)
    hour = draw_number_field(rng, "hour", hot.hour, plain=plain)
    return second, minute, hour


def draw_cron(rng: random.Random, walk: Walk, dialect: str) -> str:
    hot = moment_of(hot_wall(rng, walk))
    if dialect == "tompion" and rng.random() < 0.03 and walk.seconds_of_day is None:
        return rng.choice(list(MACROS))
    plain = dialect == "temporal"
    second, minute, hour = draw_times(rng, walk, hot, plain=plain)
    month, year = draw_month(rng, hot.date(), plain=plain), draw_year(rng, hot.date())
    if dialect == "quartz":
        month_day = pick(rng, [(1, "*"), (2, draw_day_of_month(rng, hot.date()))])
        week_day = draw_day_of_week(rng, hot.date(), sunday=1)
        days = rng.choice(((month_day, "?"), ("?", week_day)))
    elif plain:
        month_day = pick(rng, [(2, "*"), (1, draw_day_of_month(rng, hot.date(), plain=True))])
        days = month_day, pick(rng, [(1, "*"), (1, draw_day_of_week(rng, hot.date(), plain=True))])
    else:
        days = draw_days(rng, hot.date())
    middle = [minute, hour, days[0], month, days[1]]
    if dialect == "temporal" and second == "0" and year != "*":
        return " ".join([*middle, year])
    if second == "0" and year == "*" and dialect != "quartz":
        return " ".join(middle) + rng.choice(["", "", "", "", "  # nightly"])
    return " ".join([second, *middle] if year == "*" and dialect != "temporal" else [second, *middle, year])


def draw_calendar(rng: random.Random, walk: Walk, *, whole_days: bool = False) -> Drawn:
    """A structured calendar. `whole_days`: mostly without times, as used in exclusions."""
    hot = moment_of(hot_wall(rng, walk))
    second, minute, hour = draw_times(rng, walk, hot, plain=True)
    month_day = draw_day_of_month(rng, hot.date(), plain=rng.random() < 0.7)
    week_day = draw_day_of_week(rng, hot.date(), plain=rng.random() < 0.7)
    texts = {"second": second, "minute": minute, "hour": hour}
    if whole_days:
        texts = {name: text for name, text in texts.items() if rng.random() < 0.4}
    elif walk.seconds_of_day is None:
        texts = {name: text for name, text in texts.items() if rng.random() < 0.8}
    texts |= {
        name: text for name, text in (("day_of_month", month_day), ("day_of_week", week_day)) if rng.random() < 0.3
    }
    if rng.random() < 0.2:
        texts["month"] = draw_month(rng, hot.date())
    if rng.random() < 0.2:
        texts["year"] = draw_year(rng, hot.date())
    return {name: draw_form(rng, name, text) for name, text in texts.items()}


def draw_form(rng: random.Random, name: str, text: str) -> Any:
    """The same field as a string, or where it is simple as a range list."""
    parts = text.replace("/", "-").split("-")
    if rng.random() < 0.5 or not all(part.isdigit() for part in parts) or (len(parts) == 2 and "/" in text):
        return text
    low, high = BOUNDS[name]
    if any(not low <= int(part) <= high for part in parts[:2]):
        return text
    if len(parts) == 1:
        return [{"start": int(text)}]
    if int(parts[0]) > int(parts[1]):
        return text
    ranges = [{"start": int(parts[0]), "end": int(parts[1])}]
    return ranges if len(parts) == 2 else [ranges[0] | {"step": int(parts[2])}]


def draw_interval(rng: random.Random, walk: Walk) -> Any:
    if walk.seconds_of_day is not None:
        every = rng.choice((6 * HOUR, DAY, 7 * DAY))
    else:
        every = rng.choice((60, 77, 300, 900, 1000, HOUR, 90 * 60, 7 * HOUR, DAY, 7 * DAY))
    offset = rng.choice((0, 0, 1, every // 3, every - 1))
    forms: list[Any] = [every] if offset == 0 else []
    units = [(unit, size) for unit, size in (("s", 1), ("m", 60), ("h", HOUR), ("d", DAY)) if every % size == 0]
    unit, size = rng.choice(units)
    forms += [f"{every // size}{unit}" + (f"/{offset}s" if offset else "")]
    forms += [{"every": f"{every // size}{unit}"} | ({"offset": f"{offset}s"} if offset else {})]
    return rng.choice(forms)


def draw_time(rng: random.Random, walk: Walk) -> str:
    """A one-shot: mostly a wall time of the zone, sometimes an instant with its offset."""
    moment = moment_of(hot_wall(rng, walk))
    if rng.random() < 0.7 and walk.seconds_of_day is None:
        return moment.isoformat()
    instant = rng.randrange(walk.start, walk.end)
    return rng.choice((iso(instant), moment_of(instant + 2 * HOUR).isoformat() + "+02:00"))


# ---------------------------------------------------------------- the whole spec


def draw_spec(rng: random.Random, walk: Walk) -> Drawn:
    """A spec for the zone of the walk, as the JSON form of the arguments of ``tompion.Spec``."""
    dialect = pick(rng, [(10, "tompion"), (1, "quartz"), (1, "temporal")])
    spec: Drawn = {} if dialect == "tompion" else {"dialect": dialect}
    for _ in range(pick(rng, [(7, 1), (2, 2), (1, 3)])):
        add_source(rng, walk, spec, dialect)
    if set(spec) == {"cron"} and rng.random() < 0.05:
        prefix = rng.choice(("CRON_TZ", "TZ"))
        spec["cron"] = [f"{prefix}={walk.zone_name} {text}" for text in spec["cron"]]
    else:
        spec["timezone"] = walk.zone_name
        if rng.random() < 0.25:
            spec["exclude"] = draw_exclude(rng, walk, calendars=dialect == "tompion")
    if len(spec.get("cron", [])) == 1 and rng.random() < 0.5:
        spec["cron"] = spec["cron"][0]
    if rng.random() < 0.15:
        spec |= draw_start_and_end(rng, walk)
    return spec | draw_dst(rng)


def add_source(rng: random.Random, walk: Walk, spec: Drawn, dialect: str) -> None:
    structured = 4 if dialect == "tompion" else 0  # dialects are about cron strings
    kind = pick(rng, [(14, "cron"), (structured, "calendars"), (1, "intervals"), (2, "times")])
    if kind == "cron":
        text = sparse(
            rng, lambda: draw_cron(rng, walk, dialect), lambda text: parse_cron(text, dialect).seconds_of_day()
        )
        spec.setdefault("cron", []).append(text)
    elif kind == "calendars":
        drawn = sparse(rng, lambda: draw_calendar(rng, walk), lambda drawn: parse_calendar(drawn).seconds_of_day())
        spec.setdefault("calendars", []).append(drawn)
    elif kind == "intervals":
        spec.setdefault("intervals", []).append(draw_interval(rng, walk))
    else:
        spec.setdefault("times", []).extend(draw_time(rng, walk) for _ in range(rng.randrange(1, 4)))


def sparse(rng: random.Random, draw: Callable[[], Any], seconds_of_day: Callable[[Any], list[int]]) -> Any:
    """Draw until the rule is not too dense. One in fifty may be."""
    while True:
        drawn = draw()
        if len(seconds_of_day(drawn)) <= MAX_SECONDS_PER_DAY or rng.random() < 0.02:
            return drawn


def draw_exclude(rng: random.Random, walk: Walk, *, calendars: bool) -> Drawn:
    exclude: Drawn = {}
    if calendars and rng.random() < 0.5:
        exclude["calendars"] = [draw_calendar(rng, walk, whole_days=True) for _ in range(rng.randrange(1, 3))]
    if rng.random() < 0.4:
        exclude["dates"] = [moment_of(hot_wall(rng, walk)).date().isoformat() for _ in range(rng.randrange(1, 3))]
    if rng.random() < 0.4 or not exclude:
        exclude["windows"] = [draw_window(rng, walk)]
    return exclude


def draw_window(rng: random.Random, walk: Walk) -> Drawn:
    begin = rng.randrange(walk.start, walk.end)
    end = begin + rng.choice((1, 60, HOUR, rng.randrange(1, DAY), 2 * DAY))
    if walk.seconds_of_day is not None or rng.random() < 0.3:
        return {"from": iso(begin), "to": iso(end)}
    first, last = moment_of(walk.wall_at(begin)), moment_of(walk.wall_at(end))
    if last <= first or rng.random() < 0.5:
        return {"from": first.date().isoformat(), "to": (first.date() + timedelta(days=rng.randrange(2))).isoformat()}
    return {"from": first.isoformat(), "to": last.isoformat()}


def draw_start_and_end(rng: random.Random, walk: Walk) -> Drawn:
    hot = [*walk.jumps, rng.randrange(walk.start, walk.end)]
    start = rng.choice(hot) + rng.choice((-HOUR, -1, 0, 1, 60))
    end = rng.choice(hot) + rng.choice((-1, 0, 1, 60, HOUR))
    start, end = max(0, min(start, end)), max(1, start, end)
    return pick(
        rng,
        [(1, {"start_at": iso(start)}), (1, {"end_at": iso(end)}), (1, {"start_at": iso(start), "end_at": iso(end)})],
    )


def draw_dst(rng: random.Random) -> Drawn:
    """Nothing (the default), a profile, overrides, or both."""
    drawn = {
        "dst_profile": rng.choice((None, None, "vixie", "temporal", "quartz", "airflow")),
        "dst_gap": rng.choice((None, None, None, "catch_up", "skip", "shift")),
        "dst_overlap": rng.choice((None, None, "auto", "first", "second", "both")),
    }
    if rng.random() < 0.35:
        return {}
    return {name: choice for name, choice in drawn.items() if choice is not None}
