"""For information: what single kinds of spec cost, in microseconds per call."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from statistics import median

import tompion
from bench.spec.report import Row, Section
from bench.spec.timing import cpu_ns, no_garbage_collection
from bench.spec.workload import FIRST_INSTANT, LAST_INSTANT, draw_instant
from tompion.spec.zone.tables import load_zone

Question = Callable[[int], int | None]
ZONE = "Europe/Berlin"
NEAR = 3 * 3600
"""The distance from a clock change that counts as next to it."""


def measure_details(seed: int, rounds: int, calls: int) -> Section:
    """Compute the same instants with every kind of spec, in rounds."""
    random = Random(seed)
    anywhere = [draw_instant(random) for _call in range(calls)]
    at_changes = _next_to_changes(random, calls)
    kinds = [(label, ask, anywhere) for label, ask in _questions()]
    kinds += [(f"at clock changes: {label}", ask, at_changes) for label, ask in _questions()[:2]]
    spent: dict[str, list[int]] = {label: [] for label, _ask, _instants in kinds}
    with no_garbage_collection():
        for _round in range(rounds):
            for label, ask, instants in kinds:
                begin = cpu_ns()
                for instant in instants:
                    ask(instant)
                spent[label].append(cpu_ns() - begin)
    rows = [Row(label, median(turns) / calls / 1000, "µs") for label, turns in spent.items()]
    return Section(f"Kinds of spec, one call each ({ZONE}; for information)", rows)


def _questions() -> list[tuple[str, Question]]:
    def cron(text: str) -> Question:
        return tompion.compile_spec(text, ZONE).next_epoch

    daily = "30 2 * * *"
    holidays = tompion.Spec(
        cron="0 9 * * MON-FRI",
        timezone=ZONE,
        exclude={"dates": [f"{year}-12-{day}" for year in range(2015, 2036) for day in (24, 25, 26)]},
    )
    afternoons = tompion.Spec(
        cron="*/15 9-17 * * MON-FRI",
        timezone=ZONE,
        exclude={"calendars": [{"hour": "13-17", "day_of_week": "FRI"}]},
    )
    window = tompion.Spec(
        cron="0 * * * *", timezone=ZONE, exclude={"windows": [{"from": "2020-01-01", "to": "2024-12-31"}]}
    )
    monthly = "DTSTART:20150101T090000\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"
    return [
        ("30 2 * * *", cron(daily)),
        ("*/15 * * * *", cron("*/15 * * * *")),
        ("*/15 9-17 * * MON-FRI", cron("*/15 9-17 * * MON-FRI")),
        ("dense seconds: */5 * * * * *", cron("*/5 * * * * *")),
        ("dense on weekdays: * * 9-17 * * 1-5", cron("* * 9-17 * * 1-5")),
        ("last day, L", cron("0 0 L * *")),
        ("nearest weekday, 15W", cron("0 9 15W * *")),
        ("second Tuesday, 2#2", cron("0 9 * * 2#2")),
        ("yearly", cron("0 0 1 1 *")),
        ("29 February", cron("0 0 29 2 *")),
        ("with years: 0 0 9 1 * * 2015-2040", cron("0 0 9 1 * * 2015-2040")),
        ("@every 15m", cron("@every 15m")),
        (
            "RRULE, last workday of the month",
            tompion.compile_spec(tompion.Spec(rrules=[monthly], timezone=ZONE)).next_epoch,
        ),
        ("union of three", tompion.compile_spec(tompion.Spec(cron=[daily, "0 9 * * 1-5", "0 0 L * *"])).next_epoch),
        ("63 dates excluded", tompion.compile_spec(holidays).next_epoch),
        ("Friday afternoons excluded", tompion.compile_spec(afternoons).next_epoch),
        ("a window of five years excluded", tompion.compile_spec(window).next_epoch),
        ("prev(), daily", tompion.compile_spec(daily, ZONE).prev_epoch),
        ("prev(), */15 9-17 * * MON-FRI", tompion.compile_spec("*/15 9-17 * * MON-FRI", ZONE).prev_epoch),
    ]


def _next_to_changes(random: Random, count: int) -> list[int]:
    changes = [start for start in load_zone(ZONE).starts if FIRST_INSTANT <= start < LAST_INSTANT]
    return [random.choice(changes) + random.randrange(-NEAR, NEAR) for _instant in range(count)]
