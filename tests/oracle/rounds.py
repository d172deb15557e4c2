"""One numbered round: one place, many specs, many instants each. Reproducible from (seed, number).

Rounds come in blocks of six: four go through the required zones one after the other, one walks days for years, and
one goes to a late year, anywhere, or to a remarkable day.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from tests.oracle.brute import Spec, Ticks, Unclear, ticks_of
from tests.oracle.draw import draw_spec
from tests.oracle.judge import Build, Disagreement, Engine, instants_around, judge, shrink
from tests.oracle.places import Place, any_place, calm_place, late_place, required_place, walk_around, walk_years
from tests.oracle.walk import Walk

ROUNDS_PER_BLOCK = 6
SPECS_PER_ROUND = 60
SPECS_PER_LONG_ROUND = 6
"""For walks of very many days, where each spec takes long."""


def build_engine(spec: Spec) -> Engine:
    """The engine that is judged, unless another one is given."""
    import tompion

    return tompion.compile_spec(tompion.Spec(**spec))


@dataclass
class Tally:
    """Numbers of judged cases, which also prove that the rounds covered the required places."""

    rounds: int = 0
    specs: int = 0
    cases: int = 0
    loose_cases: int = 0
    zones: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    """In how many specs each rule decided about something: `gap catch_up`, `overlap both`, `lost day`, …"""
    settings: Counter[str] = field(default_factory=Counter)
    """With which DST settings the specs were written for which a gap or an overlap mattered."""

    def add(self, other: "Tally") -> None:
        self.rounds += other.rounds
        self.specs += other.specs
        self.cases += other.cases
        self.loose_cases += other.loose_cases
        self.zones += other.zones
        self.hits += other.hits
        self.settings += other.settings


class Disagreed(Exception):
    """The engine and the oracle differ."""

    def __init__(self, disagreement: Disagreement, seed: int, number: int) -> None:
        self.disagreement = disagreement
        again = f"again     python -m tests.oracle --seed {seed} --round {number}"
        super().__init__(f"the engine disagrees with the oracle\n{disagreement}\n{again}")


def place_of_round(seed: int, number: int) -> Place | None:
    """The place of a round. None: it walks days for years."""
    rng = random.Random(f"{seed} place {number}")
    block, slot = divmod(number, ROUNDS_PER_BLOCK)
    if slot < 4:
        return required_place(rng, 4 * block + slot)
    if slot == 4:
        return None
    return (late_place, any_place, calm_place)[block % 3](rng)


@lru_cache(maxsize=2)  # a walk is large, and one that several engines are judged by comes back at once
def walk_of_round(seed: int, number: int) -> Walk:
    place = place_of_round(seed, number)
    rng = random.Random(f"{seed} walk {number}")
    return walk_years(rng) if place is None else walk_around(place, rng)


def run_round(seed: int, number: int, build: Build = build_engine) -> Tally:
    """Judge many specs over one walk. Raise `Disagreed` with a shrunken case at the first wrong result."""
    walk = walk_of_round(seed, number)
    rng = random.Random(f"{seed} specs {number}")
    tally = Tally(rounds=1)
    for _ in range(SPECS_PER_ROUND if len(walk.days) < 5000 else SPECS_PER_LONG_ROUND):
        spec, ticks = draw_relevant_spec(rng, walk)
        verdict = judge(spec, walk, ticks, instants_around(ticks, walk, rng), build)
        if verdict.disagreement is not None:
            raise Disagreed(shrink(verdict.disagreement, walk, build), seed, number)
        tally.specs += 1
        tally.cases += verdict.cases
        tally.loose_cases += verdict.loose_cases
        tally.zones[walk.zone_name] += verdict.cases
        tally.hits.update(hit for hit, count in ticks.hits.items() if count)
        if any(hit.startswith(("gap", "overlap")) for hit in ticks.hits):
            tally.settings.update(f"{name}={spec.get(name)}" for name in ("dst_profile", "dst_gap", "dst_overlap"))
    return tally


def draw_relevant_spec(rng: random.Random, walk: Walk) -> tuple[Spec, Ticks]:
    """A spec that means something at this place: mostly one that has ticks here, sometimes one that has none."""
    while True:
        spec = draw_spec(rng, walk)
        try:
            ticks = ticks_of(spec, walk)
        except Unclear:
            continue
        if ticks.instants or rng.random() < (0.5 if ticks.hits.total() else 0.1):
            return spec, ticks
