"""The record of the searches: an entry for each run, and the table in the guarantees.

The tries of all runs add up.  They restart at zero after a violation, because earlier tries do not count for the fixed
code.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from tests.prove.searches import SEARCHES, Search, SearchResult, bound

RECORD = Path(__file__).with_name("record.json")
PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
HEADER = "| search | proves | tried | on record since | violations | rate of a violation |\n|---|---|---|---|---|---|\n"


class Entry(NamedTuple):
    """One run of a search."""

    search: str
    date: str
    commit: str
    tried: int
    seconds: int
    also: dict[str, int]
    violations: int = 0


def entry_of(result: SearchResult, date: str, commit: str) -> Entry:
    """Return the entry of a search result."""
    return Entry(
        result.search.name, date, commit, result.tried, round(result.seconds), result.also, 0 if result.is_clean else 1
    )


def load() -> list[Entry]:
    """Return all entries, the oldest first."""
    entries: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return [Entry(**entry) for entry in entries]


def save(entries: list[Entry]) -> None:
    """Write the record, an entry to a line, and the table."""
    lines = ",\n".join(json.dumps(entry._asdict(), ensure_ascii=False) for entry in entries)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    begin = page.index(HEADER)
    end = page.index("\n\n", begin)
    PAGE.write_text(page[:begin] + table(entries) + page[end:], encoding="utf-8")


def standing(search: Search, entries: list[Entry]) -> list[Entry]:
    """Return the runs of a search since it last result something. Only the largest if each goes through everything."""
    mine = [entry for entry in entries if entry.search == search.name]
    violations = [number for number, entry in enumerate(mine) if entry.violations]
    clean = mine[violations[-1] + 1 :] if violations else mine
    return clean if search.is_drawn or not clean else [max(clean, key=lambda entry: entry.tried)]


def row(search: Search, entries: list[Entry]) -> str:
    """Return a search's line of the table."""
    clean = standing(search, entries)
    if not clean:
        return f"| {search.name} | {search.proves} | – | – | – | – |"
    tried = sum(item.tried for item in clean)
    also = {unit: sum(item.also.get(unit, 0) for item in clean) for unit in search.also}
    figures = ", ".join(f"{count:,} {unit}" for unit, count in ((search.unit, tried), *also.items()))
    hours = sum(item.seconds for item in clean) / 3600
    since = f"{clean[0].date}, `{clean[0].commit}`; {hours:.1f} h"
    return f"| {search.name} | {search.proves} | {figures} | {since} | 0 | {bound(search, tried)} |"


def table(entries: list[Entry]) -> str:
    """Return the table of docs/guarantees.md."""
    return HEADER + "\n".join(row(search, entries) for search in SEARCHES)


def searched(promise: str) -> list[str]:
    """Return the searches that check a guarantee."""
    return [search.name for search in SEARCHES if promise in promises(search)]


def promises(search: Search) -> list[str]:
    """Return the guarantees that a search checks: ``G1–G3, T8`` are four."""
    numbers = []
    for kind, first, last in re.findall(r"([A-Z])(\d+)(?:–[A-Z](\d+))?", search.proves):
        numbers += [f"{kind}{number}" for number in range(int(first), int(last or first) + 1)]
    return numbers
