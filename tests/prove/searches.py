"""The searches, the guarantees that each checks, and the patterns of its output."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import SystemRandom
from types import MappingProxyType
from typing import NamedTuple

NEVER = r"(?!)"
SCENARIOS = r"(\d+) scenarios"
PAIRS = 78
ORDERS_PER_SECOND = 15
LONG_MODELS_S = 600
"""From here on there is time for the large configurations of the models."""


class Search(NamedTuple):
    """A command that looks for a broken promise."""

    name: str
    proves: str
    """The promises of docs/guarantees.md."""
    share: float
    """Its part of the time."""
    command: Callable[[float], list[str]]
    """The command for a number of seconds."""
    counts: str
    """The pattern of the number of tries in its output. The last match counts."""
    unit: str
    is_drawn: bool = True
    """Whether its tries are drawn from very many: one that goes through all there are leaves no rate to estimate."""
    also: Mapping[str, str] = MappingProxyType({})
    """Other counts in its output: units, and the pattern of each."""
    finds: str = NEVER
    """The pattern of the number of violations in its output, if it has one."""


def _seconds(module: str, *more: str) -> Callable[[float], list[str]]:
    return lambda seconds: [module, "--seconds", f"{max(seconds, 1):.0f}", *more]


def _twice(kind: str) -> Callable[[float], list[str]]:
    return lambda seconds: ["tests.differential", "--only", kind, "--minutes", f"{seconds / 60:.2f}"]


def _interleavings(seconds: float) -> list[str]:
    most = max(1, int(seconds * ORDERS_PER_SECOND / PAIRS))
    return ["tests.interleavings", "--most", str(most), "--seed", str(SystemRandom().randrange(1 << 32))]


def _models(seconds: float) -> list[str]:
    return ["models", *(["--long"] if seconds > LONG_MODELS_S else [])]


def _replay(seconds: float) -> list[str]:
    return ["tests.models", "--seconds", f"{seconds:.0f}", "--first", str(SystemRandom().randrange(1 << 32))]


WORKED = {"s of a processor": r"(\d+) s of a processor"}
"""The CPU time, which is more meaningful than the elapsed time."""
STEPS = {"steps": r"scenarios of (\d+) steps"}
SEARCHES = (
    Search("oracle", "T1, T4", 5, _seconds("tests.oracle"), r"([\d,]+) cases judged", "answers"),
    *(
        Search(
            f"{parser} texts", proves, 1, _seconds("tests.fuzz", "--only", parser), r"^([\d,]+) texts in", "texts",
            also=WORKED,
        )
        for proves, parsers in (("T8, T9", ("cron", "rrule", "json")), ("T9", ("config", "key", "token")))
        for parser in parsers
    ),
    Search(
        "request sequences", "G11", 5, _seconds("tests.fuzz", "--only", "rest"), r"([\d,]+) requests", "requests",
        also=WORKED,
    ),
    Search(
        "simulation", "G1–G10, G16, G17", 38, _seconds("tests.simulation"), r"^(\d+) scenarios from", "scenarios",
        also={"faults": r"commits, (\d+) faults", "commits": r": (\d+) commits"}, finds=r"(\d+) with violations",
    ),
    Search("models", "G1, G3–G6, G8, G10", 10, _models, r"must hold, ([\d,]+) distinct states", "states", False),
    Search(
        "replay", "G1, G3–G6, G8, G10", 4, _replay, r"^([\d,]+) commits held", "commits",
        also={"scenarios": r"against the models, ([\d,]+) scenarios"},
    ),
    Search(
        "interleavings", "G1, G3–G5, G18", 10, _interleavings, r"pairs, (\d+) orders", "orders",
        also={"with a wait for a lock": r"(\d+) with a wait", "deadlocks tried again": r"(\d+) deadlocks"},
    ),
    Search("two stores", "G12", 4, _twice("stores"), SCENARIOS, "scenarios", also=STEPS),
    Search("two interfaces", "G11, G12", 4, _twice("interfaces"), SCENARIOS, "scenarios", also=STEPS),
    Search("the reference", "G1, G3, G4, G7, G8, G19", 4, _twice("reference"), SCENARIOS, "scenarios", also=STEPS),
    Search(
        "chaos", "G1, G4–G6", 20, _seconds("tests.chaos"), r"^faults +(\d+)", "faults",
        also={"ticks": r"^ticks +(\d+)"}, finds=r"^violations +(\d+)",
    ),
    Search(
        "failover", "G21", 5, _seconds("tests.endurance.failover"), r"^failovers +(\d+)", "failovers",
        also={"ticks": r"^ticks +(\d+)"}, finds=r"^violations +(\d+)",
    ),
    Search("soak", "G27", 5, _seconds("tests.soak"), r"^([\d,]+) runs,", "runs", False),
)  # fmt: skip


class SearchResult(NamedTuple):
    """The result of a search."""

    search: Search
    seconds: float
    tried: int
    is_clean: bool
    output: str
    also: dict[str, int]

    @property
    def bound(self) -> str:
        return bound(self.search, self.tried) if self.is_clean else "–"


def bound(search: Search, tried: int) -> str:
    """Return the bound of the true rate: without a violation in n tries it is below 3/n with 95 % confidence."""
    return f"< {3 / tried:.1e}" if tried and search.is_drawn else "–"


def read(search: Search, seconds: float, code: int, output: str) -> SearchResult:
    """Return the result of a search from its output. Output without a count is a failed search."""
    tried = _last(search.counts, output)
    also = {unit: _last(pattern, output) for unit, pattern in search.also.items()}
    return SearchResult(
        search, seconds, tried, code == 0 and tried > 0 and not _last(search.finds, output), output, also
    )


def _last(pattern: str, output: str) -> int:
    counted = re.findall(pattern, output, re.MULTILINE)
    return int(counted[-1].replace(",", "")) if counted else 0


def table(results: list[SearchResult]) -> str:
    """Return the figures as a table of docs/guarantees.md."""
    lines = ["| search | proves | tried | seconds | violations | rate of a violation |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {result.search.name} | {result.search.proves} | {result.tried:,} {result.search.unit} | "
        f"{result.seconds:.0f} | "
        f"{'0' if result.is_clean else 'FOUND'} | {result.bound} |"
        for result in results
    ]
    return "\n".join(lines)
