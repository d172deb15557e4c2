"""The size of a compiled schedule in bytes, with its shared parts."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from random import Random

from cronsim import CronSim

import tompion
from bench.spec.caches import clear_all
from bench.spec.expressions import draw_expression
from bench.spec.libraries import moment_of, new_croniter
from bench.spec.report import Row, Section, Target
from bench.spec.workload import FIRST_INSTANT, ZONES, Workload, draw_zone
from tompion.spec.calendar.cron import CronRule, parse_cron
from tompion.spec.compiler import compile_cron_rule
from tompion.spec.zone.dst import VIXIE
from tompion.spec.zone.tables import load_zone

Pair = tuple[str, str]
"""An expression and a zone."""


def measure_memory(work: Workload, seed: int, schedules: int, rivals: int) -> Section:
    """Bytes per schedule: with an object for each, of few and of many kinds. Then shared, as a program has them."""
    random = Random(seed)
    pairs = [(random.choice(work.expressions), draw_zone(random)) for _schedule in range(schedules)]
    varied = [(draw_expression(random), draw_zone(random)) for _schedule in range(schedules)]
    few = pairs[:rivals]
    rows = [
        _row("each its own object", pairs, compile_alone, Target("≤", 200)),
        _row("the same, far more expressions", varied, compile_alone),
        _row("tompion.compile_spec(): equal ones shared", pairs, lambda pair: tompion.compile_spec(*pair)),
        _row("cronsim", few, lambda pair: CronSim(pair[0], moment_of(FIRST_INSTANT, pair[1]))),
        _row("croniter", few, lambda pair: new_croniter(pair[0], moment_of(FIRST_INSTANT, pair[1]))),
    ]
    return Section(f"Memory of a compiled schedule, over {schedules:,}", rows)


def bytes_each(pairs: list[Pair], build: Callable[[Pair], object]) -> float:
    """Build and keep an object for each pair. Count all that is still allocated, caches and shared tables included.

    Zones are loaded before, for all libraries: a process has each of them once, however many schedules there are.
    """
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


def _row(label: str, pairs: list[Pair], build: Callable[[Pair], object], target: Target | None = None) -> Row:
    note = f"{len({expression for expression, _zone in pairs}):,} texts"
    return Row(label, bytes_each(pairs, build), "B", target=target, note=note)
