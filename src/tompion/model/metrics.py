"""What a process has counted: plain numbers, numbers by label, and how many took how long.

Whoever counts does so for a whole batch at once; whoever reads gets a copy.  Neither knows the other.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

Labels: TypeAlias = tuple[str, ...]
OTHER = "other"
"""What namespaces share that came too late to have a label of their own."""
NAMESPACES = 50
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0)


class Histogram(NamedTuple):
    """How many values lie in each bucket, the last of which has no bound, and their sum."""

    buckets: tuple[int, ...]
    total_s: float


class _Spreading:
    __slots__ = ("buckets", "total_s")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0


class Metrics:
    """The numbers of one process; any thread may count."""

    def __init__(self, namespaces: int = NAMESPACES) -> None:
        """Take how many namespaces have a label of their own: the first so many that are seen."""
        self.counts: Counter[str] = Counter()
        self.gauges: dict[str, Callable[[], float]] = {}
        self._labelled: defaultdict[str, Counter[Labels]] = defaultdict(Counter)
        self._spreads: defaultdict[str, defaultdict[Labels, _Spreading]] = defaultdict(partial(defaultdict, _Spreading))
        self._namespaces: set[str] = set()
        self._most = namespaces
        self._lock = threading.Lock()

    def count(self, name: str, number: int = 1, labels: Labels = ()) -> None:
        """Add to a counter."""
        if not number:
            return
        with self._lock:
            if labels:
                self._labelled[name][labels] += number
            else:
                self.counts[name] += number

    def observe(self, name: str, seconds: float, number: int = 1, labels: Labels = ()) -> None:
        """Add a duration that was measured so many times."""
        with self._lock:
            spreading = self._spreads[name][labels]
            spreading.buckets[bisect_left(BOUNDS_S, seconds)] += number
            spreading.total_s += seconds * number

    def namespace(self, name: str) -> str:
        """Return the label of a namespace."""
        if name in self._namespaces:
            return name
        with self._lock:
            if len(self._namespaces) >= self._most:
                return OTHER
            self._namespaces.add(name)
        return name

    def labelled(self, name: str) -> Mapping[Labels, int]:
        """Return a copy of a counter by its labels."""
        with self._lock:
            return dict(self._labelled.get(name, {}))

    def spreads(self, name: str) -> Mapping[Labels, Histogram]:
        """Return a copy of durations by their labels."""
        with self._lock:
            return {
                labels: Histogram(tuple(each.buckets), each.total_s)
                for labels, each in self._spreads.get(name, {}).items()
            }
