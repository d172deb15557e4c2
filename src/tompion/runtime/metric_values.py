"""In-process metrics: counters, counters by label, and histograms of durations.

Writers add whole batches. Readers get copies.
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
"""Label shared by the namespaces after the first ``MAX_NAMESPACES``."""
MAX_NAMESPACES = 50
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0)


class Histogram(NamedTuple):
    """The number of values in each bucket, the last of which is unbounded, and their sum."""

    buckets: tuple[int, ...]
    total_s: float


class _MutableHistogram:
    __slots__ = ("buckets", "total_s")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0


class Metrics:
    """The metrics of one process. Any thread may write.

    The first ``namespaces`` namespaces have a label of their own.
    """

    def __init__(self, namespaces: int = MAX_NAMESPACES) -> None:
        self.counts: Counter[str] = Counter()
        self.gauges: dict[str, Callable[[], float]] = {}
        self._labelled: defaultdict[str, Counter[Labels]] = defaultdict(Counter)
        self._histograms: defaultdict[str, defaultdict[Labels, _MutableHistogram]] = defaultdict(
            partial(defaultdict, _MutableHistogram)
        )
        self._namespaces: set[str] = set()
        self._max_namespaces = namespaces
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
        """Add a duration, measured ``number`` times."""
        with self._lock:
            histogram = self._histograms[name][labels]
            histogram.buckets[bisect_left(BOUNDS_S, seconds)] += number
            histogram.total_s += seconds * number

    def namespace_label(self, name: str) -> str:
        """Return the label of a namespace."""
        if name in self._namespaces:
            return name
        with self._lock:
            if len(self._namespaces) >= self._max_namespaces:
                return OTHER
            self._namespaces.add(name)
        return name

    def counts_by_label(self, name: str) -> Mapping[Labels, int]:
        """Return a copy of a counter by labels."""
        with self._lock:
            return dict(self._labelled.get(name, {}))

    def histograms(self, name: str) -> Mapping[Labels, Histogram]:
        """Return copies of the histograms of a duration by labels."""
        with self._lock:
            return {
                labels: Histogram(buckets=tuple(histogram.buckets), total_s=histogram.total_s)
                for labels, histogram in self._histograms.get(name, {}).items()
            }
