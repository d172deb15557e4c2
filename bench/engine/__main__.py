"""Run the benchmark of the engine: ``python -m bench.engine [--quick] [--only PART] [--no-peers] [--json]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

import psycopg

from bench.engine.idle_figures import rest_sections
from bench.engine.measures import (
    Bench,
    Bursts,
    Scale,
    baseline_section,
    burst_sections,
    steady_sections,
)
from bench.engine.noisy_tenant import tenant_sections
from bench.engine.peers.progress import Progress, to_stderr
from bench.engine.peers.runner import PEERS
from bench.engine.report import Report, Section, as_json, as_text, environment
from bench.engine.stores import Stores

PARTS = ("burst", "baseline", "steady", "noisy-tenant", "idle", "memory")
ALL_PEERS = tuple(peer.name for peer in PEERS)

FULL = Scale(10_000, 3, 120, 1_000, 20, 500, 1_000_000, 1_000, 300, 20, 100_000, ALL_PEERS, (10, 100), 10)
QUICK = Scale(300, 1, 20, 100, 2, 20, 20_000, 1_000, 30, 1, 2_000, (), (2,), 2)
"""A short run to check the benchmark. Its figures are not meaningful.  The peers have a ``--quick`` of their own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description="Benchmark of Tompion's engine.")
    parser.add_argument("--quick", action="store_true", help="about a minute, to see that it works")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be given more than once")
    parser.add_argument("--no-peers", action="store_true", help="only Tompion and the bare script")
    parser.add_argument("--rounds", type=int, default=None, help=f"bursts of each store (default: {FULL.rounds})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds: at least 1")
    scale = QUICK if options.quick else FULL
    scale = scale._replace(rounds=options.rounds or scale.rounds, peers=() if options.no_peers else scale.peers)
    report = measure(scale, frozenset(options.only or PARTS), to_stderr)
    print(json.dumps(as_json(report), ensure_ascii=False, indent=2) if options.json else as_text(report))
    return 0


def measure(scale: Scale, parts: frozenset[str], progress: Progress) -> Report:
    """Run the chosen parts, one after the other."""
    facts = environment()
    facts["load before"] = _load()
    sections: list[Section] = []
    with Stores(progress) as stores:
        bench = Bench(stores, scale, progress)
        with psycopg.connect(stores.server.url) as connection:
            facts["postgres"] = connection.info.server_version // 10_000
        if parts & {"burst", "baseline"}:
            bursts = Bursts(bench, with_baseline="baseline" in parts)
            sections += burst_sections(bench, bursts) if "burst" in parts else []
            sections += [baseline_section(bench, bursts)] if "baseline" in parts else []
        if "steady" in parts:
            sections += steady_sections(bench)
        if "noisy-tenant" in parts:
            sections += tenant_sections(bench)
        if parts & {"idle", "memory"}:
            sections += rest_sections(bench, idle="idle" in parts, memory="memory" in parts)
    facts["load after"] = _load()
    return Report(facts, sections)


def _load() -> str:
    """Return how many processes wanted a processor in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
