"""The measurements of Tompion, the baseline and the peers on the same kind of store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from time import time
from typing import NamedTuple

from bench.engine.burst import AGAIN_S, BURST, STEADY
from bench.engine.child import in_child
from bench.engine.fill import Due, fill
from bench.engine.peers import runner
from bench.engine.peers.progress import Progress
from bench.engine.peers.runner import PEERS, VALKEY, Peer, Result
from bench.engine.report import P50, P99, RATE, RATIO, SHARE, Goal, Row, Section
from bench.engine.stores import KINDS, NAMES, Stores
from bench.spec.report import Target

FASTER = Goal(Target("≥", 30), RATIO)
OF_FLOOR = Goal(Target("≥", 40), SHARE)
RACE = (RATE, P50, P99, RATIO)


class Scale(NamedTuple):
    """The extent of a measurement."""

    burst: int
    rounds: int
    timeout_s: float
    steady: int
    seconds: float
    singles: int
    stored: int
    few: int
    looks: int
    rest_s: float
    remembered: int
    peers: tuple[str, ...]
    quiet: tuple[int, ...]
    share_s: float


class Turn(NamedTuple):
    """One burst or steady run of Tompion."""

    rate: float
    p50: float
    p99: float
    settled_rate: float
    ticks: int


class Burst(NamedTuple):
    """A burst, the same schedules again, and how fast they were created."""

    first: Turn
    again: Turn | None
    added: float


class Bench(NamedTuple):
    """The shared parts of all measurements."""

    stores: Stores
    scale: Scale
    progress: Progress


def turn_of(ticks: Sequence[Sequence[float]], begin: float, expected: int, settled_s: float) -> Turn:
    """Return the figures of the ticks that were due at one moment."""
    late = sorted(ran - due for due, ran in ticks if due == begin)
    if len(late) != expected:
        raise AssertionError(f"{len(late):,} of {expected:,} ticks ran: that is no burst")
    return Turn(len(late) / late[-1], percentile(late, 50), percentile(late, 99), len(late) / settled_s, len(late))


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return a percentile of sorted values, or 0 if there are no values."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0.0


# --- burst and baseline --------------------------------------------------------------------------------------------


def burst_once(bench: Bench, kind: str) -> Burst:
    """Run one burst on a new store."""
    url, count = bench.stores.migrated(kind), bench.scale.burst
    seen = in_child("run_load", url=url, kind=BURST, count=count, seconds=bench.scale.timeout_s)
    begin, settled = seen["begin"], seen["settled_s"]
    first = turn_of(seen["ticks"], begin, count, settled[0])
    again = turn_of(seen["ticks"], begin + AGAIN_S, count, settled[1]) if len(settled) > 1 else None
    bench.stores.drop(url)
    bench.progress(
        f"  Tompion on {NAMES[kind]}: {first.rate:,.0f} ticks/s, again {again.rate if again else 0:,.0f},"
        f" settled {first.settled_rate:,.0f}"
    )
    return Burst(first, again, count / seen["adding_s"])


def baseline_once(bench: Bench, kind: str) -> float:
    """Run the bare script on a new store. Return ticks per second."""
    url = bench.stores.migrated(kind)
    moment = int(time()) - 1
    fill(url, bench.scale.burst, Due(moment, moment))
    moved = in_child("baseline", url=url)
    assert moved["ticks"] == bench.scale.burst, moved
    bench.stores.drop(url)
    bench.progress(f"  the bare script on {NAMES[kind]}: {moved['ticks'] / moved['seconds']:,.0f} ticks/s")
    return float(moved["ticks"] / moved["seconds"])


class Bursts:
    """The bursts of Tompion and of the baseline, in turns, by store."""

    def __init__(self, bench: Bench, *, with_baseline: bool) -> None:
        self.tompion: dict[str, list[Burst]] = {kind: [] for kind in KINDS}
        self.baseline: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for number in range(bench.scale.rounds):
            bench.progress(f"burst, round {number + 1} of {bench.scale.rounds}, {bench.scale.burst:,} schedules …")
            for kind in KINDS:
                self.tompion[kind].append(burst_once(bench, kind))
                if with_baseline:
                    self.baseline[kind].append(baseline_once(bench, kind))

    def middle(self, kind: str) -> Burst:
        """Return the burst of the median rate."""
        return sorted(self.tompion[kind], key=lambda pair: pair.first.rate)[len(self.tompion[kind]) // 2]

    def shares(self, kind: str, *, again: bool = False) -> list[float]:
        """Return which percentage of the baseline each round reached."""
        pairs = zip(self.tompion[kind], self.baseline[kind], strict=True)
        turns = [(pair.again if again else pair.first, baseline) for pair, baseline in pairs]
        return [100 * turn.rate / baseline for turn, baseline in turns if turn is not None]


def burst_sections(bench: Bench, bursts: Bursts) -> list[Section]:
    """Compare bursts with the peers', store by store."""
    results = run_peers(bench, BURST)
    sections = []
    for kind in KINDS:
        middle = bursts.middle(kind)
        ours = [
            Row("Tompion", _figures(middle.first)),
            Row("  until all outcomes are written", {RATE: middle.first.settled_rate}),
        ]
        if middle.again is not None:
            ours.append(Row("  the same schedules again", _figures(middle.again)))
        title = f"Burst of {bench.scale.burst:,}, {NAMES[kind]}"
        sections.append(_with_peers(title, ours, middle.first.rate, results, kind, FASTER))
    return [*sections, *_elsewhere(results), adding_section(bench, bursts, results)]


def baseline_section(bench: Bench, bursts: Bursts) -> Section:
    """Compare with the bare script, round by round."""
    rows = []
    for kind in KINDS:
        middle = bursts.middle(kind)
        rows.append(Row(f"bare script, {NAMES[kind]}", {RATE: median(bursts.baseline[kind])}))
        rows.append(
            Row(f"  Tompion, {NAMES[kind]}", {RATE: middle.first.rate, SHARE: median(bursts.shares(kind))}, OF_FLOOR)
        )
        again = bursts.shares(kind, again=True)
        if middle.again is not None and again:
            rows.append(Row("  the same schedules again", {RATE: middle.again.rate, SHARE: median(again)}))
    note = f"median of {bench.scale.rounds} rounds in turns; the script decides, launches and settles nothing"
    return Section("The baseline: only the rows", (RATE, SHARE), rows, [note])


def adding_section(bench: Bench, bursts: Bursts, results: Sequence[Result]) -> Section:
    """Return how fast schedules are created, by API."""
    rows = []
    for kind in KINDS:
        url = bench.stores.migrated(kind)
        singly = float(in_child("create_singly", url=url, count=bench.scale.singles))
        bench.stores.drop(url)
        rows.append(Row(f"AsyncTompion.create(), {NAMES[kind]}", {RATE: singly}))
        rows.append(Row("  500 in a transaction", {RATE: median(round_.added for round_ in bursts.tompion[kind])}))
        rows += [
            Row(f"  {result.peer}", {RATE: result.added_per_second})
            for result in results
            if result.store == kind and result.added_per_second
        ]
    return Section("Creating schedules", (RATE,), rows)


# --- steady -----------------------------------------------------------------------------------------------------


def steady_sections(bench: Bench) -> list[Section]:
    """Let every schedule be due each second."""
    results = run_peers(bench, STEADY)
    sections = []
    for kind in KINDS:
        turn = steady_once(bench, kind)
        expected = bench.scale.steady * int(bench.scale.seconds)
        title = f"{bench.scale.steady:,} each second, {NAMES[kind]}"
        section = _with_peers(title, [Row("Tompion", _figures(turn))], turn.rate, results, kind, None)
        if turn.ticks < expected:
            section.notes.append(f"Tompion: {turn.ticks:,} of {expected:,} ticks ran in time")
        sections.append(section)
    return [*sections, *_elsewhere(results)]


def steady_once(bench: Bench, kind: str) -> Turn:
    """Let Tompion fire some schedules each second, for some seconds."""
    scale = bench.scale
    bench.progress(f"Tompion on {NAMES[kind]}: steady, {scale.steady:,} schedules for {scale.seconds:.0f} s …")
    url = bench.stores.migrated(kind)
    seen = in_child("run_load", url=url, kind=STEADY, count=scale.steady, seconds=scale.seconds)
    bench.stores.drop(url)
    end = seen["begin"] + scale.seconds
    late = sorted(ran - due for due, ran in seen["ticks"] if seen["begin"] <= due < end and ran <= end)
    rate = len(late) / scale.seconds
    bench.progress(f"  {len(late):,} ticks, {rate:,.0f}/s")
    return Turn(rate, percentile(late, 50), percentile(late, 99), rate, len(late))


# --- the peers --------------------------------------------------------------------------------------------------


def run_peers(bench: Bench, load_kind: str) -> list[Result]:
    """Let the chosen peers run on each of their stores, one after the other."""
    scale, results = bench.scale, []
    for peer in PEERS:
        if peer.name not in scale.peers:
            continue
        for kind in peer.stores:
            try:
                url = bench.stores.empty(kind)
            except Exception as error:  # noqa: BLE001 - whatever a server died of, the other peers are to run
                results.append(runner.failed(peer, kind, load_kind, scale.burst, f"no {kind} server: {error}"))
                continue
            results.append(_peer_load(bench, peer, url, load_kind))
            if kind != VALKEY:
                bench.stores.drop(url)
    return results


def _peer_load(bench: Bench, peer: Peer, url: str, load_kind: str) -> Result:
    scale = bench.scale
    if load_kind == BURST:
        return runner.burst(peer, url, scale.burst, scale.timeout_s, bench.progress)
    return runner.steady(peer, url, scale.steady, scale.seconds, bench.progress)


def _figures(turn: Turn) -> Mapping[str, float]:
    return {RATE: turn.rate, P50: turn.p50, P99: turn.p99}


def _with_peers(  # noqa: PLR0913 - the parts of one table
    title: str, ours: list[Row], rate: float, results: Sequence[Result], kind: str, goal: Goal | None
) -> Section:
    """Return a table of Tompion and the peers on a store. The target refers to the best peer."""
    there = [result for result in results if result.store == kind]
    best = max((result.per_second for result in there), default=0.0)
    rows = [*ours, *(_peer_row(result, rate, goal if result.per_second == best else None) for result in there)]
    return Section(title, RACE, rows, _notes(there))


def _peer_row(result: Result, rate: float | None, goal: Goal | None) -> Row:
    if result.error or not result.per_second:
        return Row(f"{result.peer}: failed", {})
    figures: dict[str, float | None] = {
        RATE: result.per_second,
        P50: result.late_p50_s,
        P99: result.late_p99_s,
        RATIO: None if rate is None else rate / result.per_second,
    }
    return Row(result.peer, figures, goal)


def _elsewhere(results: Sequence[Result]) -> list[Section]:
    """Return the peers that only know a store that Tompion does not use, for information."""
    there = [result for result in results if result.store == VALKEY]
    if not there:
        return []
    rows = [_peer_row(result, None, None) for result in there]
    return [Section("The same, peers on Valkey", (RATE, P50, P99), rows, _notes(there))]


def _notes(results: Sequence[Result]) -> list[str]:
    notes = [f"{result.peer}: {result.note}" for result in results if result.note]
    notes += [f"{result.peer}: {result.counted}" for result in results if result.counted != runner.RAN]
    return [*notes, *(f"{result.peer}: {result.error.splitlines()[-1][:60]}" for result in results if result.error)]
