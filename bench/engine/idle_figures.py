"""Very many schedules, none due: the figures of ``idle``, with their targets."""

from __future__ import annotations

import time
from statistics import median

from bench.engine.child import in_child
from bench.engine.fill import HOUR_S, Due, fill
from bench.engine.idle import LARGE, SMALL, compare
from bench.engine.measures import Bench
from bench.engine.report import Goal, Row, Section
from bench.engine.stores import KINDS, NAMES, size_of
from bench.spec.report import Target

CORE, TIMES = "of a core", "times"
MB = 1_000_000
IDLE = Goal(Target("≤", 1), CORE)
FLAT = Goal(Target("≤", 2), TIMES)


def rest_sections(bench: Bench, *, idle: bool, memory: bool) -> list[Section]:
    """Fill a small and a large store of each kind and measure an idle engine."""
    return [section for kind in KINDS for section in _of_store(bench, kind, idle=idle, memory=memory)]


def _of_store(bench: Bench, kind: str, *, idle: bool, memory: bool) -> list[Section]:
    scale = bench.scale
    small, large = bench.stores.migrated(kind), bench.stores.migrated(kind)
    empty_bytes = size_of(large)
    bench.progress(f"filling {NAMES[kind]} with {scale.stored:,} schedules …")
    start = time.time()
    soon = Due(int(start) + 2 * HOUR_S, int(start) + 26 * HOUR_S)
    fill(small, scale.few, soon)
    fill(large, scale.stored, soon)
    disk = (size_of(large) - empty_bytes) / scale.stored
    bench.progress(f"  done in {time.time() - start:.0f} s; an engine rests for {scale.rest_s:.0f} s …")
    seen = in_child("rest", url=large, seconds=scale.rest_s, remember=scale.remembered if memory else 0)
    sections = []
    if idle:
        sections.append(_idle(bench, kind, seen))
        sections.append(_looking(bench, kind, small, large))
    if memory:
        little = in_child("rest", url=small, seconds=min(3.0, scale.rest_s))
        sections.append(_memory(bench, kind, seen, little, disk))
    bench.stores.drop(small)
    bench.stores.drop(large)
    return sections


def _idle(bench: Bench, kind: str, seen: dict[str, float]) -> Section:
    rows = [Row("an idle engine's process", {CORE: 100 * seen["cpu_share"]}, IDLE)]
    title = f"{bench.scale.stored:,} stored, {NAMES[kind]}"
    rows.append(Row("s of CPU after the start, once", {"figure": seen["start_s"]}))
    return Section(title, (CORE, "figure"), rows)


def _looking(bench: Bench, kind: str, small: str, large: str) -> Section:
    spent = compare(small, large, bench.scale.looks)
    few, many = f"{bench.scale.few:,}", f"{bench.scale.stored:,}"
    rows = []
    for name, by_size in spent.items():
        low, high = median(by_size[SMALL]), median(by_size[LARGE])
        rows.append(Row(name, {few: low, many: high, TIMES: high / low}, FLAT))
    return Section(f"Looking, {NAMES[kind]}, µs", (few, many, TIMES), rows)


def _memory(bench: Bench, kind: str, seen: dict[str, float], little: dict[str, float], disk: float) -> Section:
    stored, few = bench.scale.stored, bench.scale.few
    growth = seen["resident_bytes"] - little["resident_bytes"]
    rows = [
        Row("bytes of a schedule on disk", {"figure": disk}),
        Row("MB, interpreter and imports", {"figure": seen["before_bytes"] / MB}),
        Row(f"MB, engine with {few:,}", {"figure": little["resident_bytes"] / MB}),
        Row(f"MB, engine with {stored:,}", {"figure": seen["resident_bytes"] / MB}),
        Row("MB more, which is the growth", {"figure": growth / MB}),
    ]
    if seen["remembered"]:
        bytes_per_schedule = seen["rules_bytes"] / seen["remembered"]
        rows.append(Row("bytes of a rule in memory", {"figure": bytes_per_schedule}))
    notes = ["rules are remembered once they fired, 200,000 at most"] if seen["remembered"] else []
    return Section(f"Memory and disk, {NAMES[kind]}", ("figure",), rows, notes)
