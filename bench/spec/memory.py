"""How many bytes a compiled schedule takes, with everything that it shares."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from random import Random

from cronsim import CronSim

import foliot
from bench.spec.caches import clear_all
from bench.spec.expressions import draw_expression
from bench.spec.report import Row, Section, Target
from bench.spec.rivals import moment_of, reusable
from bench.spec.workload import FIRST_INSTANT, ZONES, Workload, draw_zone
from foliot.spec.compiled import compile_cron_rule
from foliot.spec.cron import CronRule, parse_cron
from foliot.spec.dst import VIXIE
from foliot.spec.zone import load_zone

Pair = tuple[str, str]
"""An expression and a zone."""


def measure_memory(work: Workload, seed: int, schedules: int, rivals: int) -> Section:
    """Bytes per schedule: an object for each, as strict as can be; then shared, as a program has them."""
    random = Random(seed)
    pairs = [(draw_expression(random), draw_zone(random)) for _schedule in range(schedules)]
    few = [(random.choice(work.expressions), random.choice(ZONES)) for _schedule in range(rivals)]
    distinct = len(set(pairs))
    return Section(
        f"Memory of a compiled schedule, over {schedules:,}",
        [
            Row("an object of its own for each", bytes_each(pairs, compile_alone), "bytes", target=Target("≤", 200)),
            Row(
                "foliot.compile(): equal ones shared",
                bytes_each(pairs, lambda pair: foliot.compile(*pair)),
                "bytes",
                note=f"{distinct:,} distinct",
            ),
            Row("cronsim", bytes_each(few, _cronsim_object), "bytes", note=f"over {rivals:,}"),
            Row("croniter", bytes_each(few, _croniter_object), "bytes", note=f"over {rivals:,}"),
        ],
    )


def bytes_each(pairs: list[Pair], build: Callable[[Pair], object]) -> float:
    """Build and keep an object for each pair; count all that is still allocated, caches and tables included."""
    for zone in ZONES:
        load_zone(zone)
        moment_of(FIRST_INSTANT, zone)
    kept: list[object] = [None] * len(pairs)
    clear_all()
    gc.collect()
    tracemalloc.start()
    try:
        for index, pair in enumerate(pairs):
            kept[index] = build(pair)
        gc.collect()
        size, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return size / len(pairs)


def compile_alone(pair: Pair) -> object:
    """Compile without the cache of whole specs, so that no two schedules are one object."""
    expression, zone = pair
    rule = parse_cron(expression)
    assert isinstance(rule, CronRule)
    return compile_cron_rule(rule, load_zone(zone), VIXIE)


def _cronsim_object(pair: Pair) -> object:
    expression, zone = pair
    return CronSim(expression, moment_of(FIRST_INSTANT, zone))


def _croniter_object(pair: Pair) -> object:
    expression, zone = pair
    return reusable(expression, moment_of(FIRST_INSTANT, zone))
