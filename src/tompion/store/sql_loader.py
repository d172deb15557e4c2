"""Loads the ``.sql`` files. Each statement has a name, and both dialects use the same names."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from tompion.model.backfill import BackfillRow
from tompion.model.rows import AuditRow, ScheduleRow, VersionRow
from tompion.model.run import FINISH_COLUMNS, START_COLUMNS, RunChange, RunRow
from tompion.model.schedule_state import FAST_ADVANCE_COLUMNS, SUCCESS_COUNT_COLUMNS, DroppedRange, ScheduleState

# Columns are listed, never `*`, so that a running release still works after a newer one has added a column.
COLUMNS = {
    "run": RunRow._fields,
    "audit": AuditRow._fields,
    "state": ScheduleState._fields,
    "schedule": ScheduleRow._fields,
    "version": VersionRow._fields,
    "dropped_range": DroppedRange._fields,
    "fast_start": START_COLUMNS,
    "fast_advance": FAST_ADVANCE_COLUMNS,
    "fast_finish": FINISH_COLUMNS,
    "success_count": SUCCESS_COUNT_COLUMNS,
    "change": RunChange._fields,
    # ONLY is a reserved word.
    "backfill": tuple("only_what" if field == "only" else field for field in BackfillRow._fields),
}
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PLACE = re.compile(r"\{(?:(\w)\.)?(\w+)\}")


@cache
def load_queries(package: str) -> dict[str, str]:
    """Return the statements of one dialect by name.

    ``{run}`` expands to the columns of a run, ``{r.run}`` to the same columns of the table alias ``r``, and likewise
    for every name in :data:`COLUMNS`.
    """
    queries: dict[str, str] = {}
    for file in sorted(files(package).joinpath("sql").iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        parts = _NAME.split(file.read_text(encoding="utf-8"))
        for name, part in zip(parts[1::2], parts[2::2], strict=True):
            if name in queries:
                raise ValueError(f"{file.name}: the statement {name} is defined twice")
            queries[name] = _PLACE.sub(_columns, part).strip().rstrip(";")
    return queries


def _columns(place: re.Match[str]) -> str:
    table = f"{place[1]}." if place[1] else ""
    return ", ".join(f"{table}{column}" for column in COLUMNS[place[2]])


@cache
def load_migrations(package: str) -> tuple[tuple[int, str, str], ...]:
    """Return the migrations of one dialect in order: number, name, script."""
    migrations = []
    for file in files(package).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            migrations.append((int(number), name, file.read_text(encoding="utf-8")))
    migrations.sort()
    assert [number for number, _name, _text in migrations] == list(range(1, len(migrations) + 1)), (
        "migrations are numbered"
    )
    return tuple(migrations)
