"""Every counter is exported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tompion
from tompion.api.metrics import COUNTERS, HISTOGRAMS
from tompion.engine.notifications.delivery import COUNTERS as DELIVERY_COUNTERS

SOURCES = Path(tompion.__file__).parent
COUNTING = {"count", "observe"}
OWNERS = ("metrics", "events", "_metrics", "_events", "self")
PRIVATE: set[str] = set()
"""Counters that are not exported."""


def counted_names() -> Iterator[str]:
    """Yield every name that is passed to a counter in the source."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COUNTING:
                owner = ast.unparse(node.func.value).rpartition(".")[2]
                if owner in OWNERS and node.args and isinstance(node.args[0], ast.Constant):
                    yield str(node.args[0].value)
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "session.counted":
                yield ast.literal_eval(ast.unparse(node.slice).partition(",")[0].lstrip("("))
    yield from DELIVERY_COUNTERS.values()


def test_every_counter_is_exported() -> None:
    counted = set(counted_names())
    assert {"runs_emitted", "pings", "notifications_given_up", "runs_finished", "drift"} <= counted
    exported = {entry.key for entry in (*COUNTERS.values(), *HISTOGRAMS.values())}
    assert counted - exported == PRIVATE
    assert exported - counted == set(), "exported, and counted nowhere"
