"""Reading the ``.sql`` files: each statement has a name, and both dialects use the same names."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from foliot.model.rows import AuditRow
from foliot.model.run import RunRow

RUN = ", ".join(RunRow._fields)
R_RUN = ", ".join(f"r.{field}" for field in RunRow._fields)
AUDIT = ", ".join(AuditRow._fields)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def load_queries(package: str) -> dict[str, str]:
    """Return the statements of one dialect by name; ``{run}`` stands for the columns of the ledger.

    And ``{r.run}`` for those of a table called so; ``{audit}`` for the columns of the audit.
    """
    queries: dict[str, str] = {}
    for file in sorted(files(package).joinpath("sql").iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        parts = _NAME.split(file.read_text(encoding="utf-8"))
        for name, part in zip(parts[1::2], parts[2::2], strict=True):
            if name in queries:
                raise ValueError(f"{file.name}: the statement {name} stands twice")
            text = part.replace("{run}", RUN).replace("{r.run}", R_RUN).replace("{audit}", AUDIT)
            queries[name] = text.strip().rstrip(";")
    return queries


@cache
def load_migrations(package: str) -> tuple[tuple[int, str, str], ...]:
    """Return the migrations of one dialect in order: number, name, script."""
    found = []
    for file in files(package).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append((int(number), name, file.read_text(encoding="utf-8")))
    found.sort()
    assert [number for number, _name, _text in found] == list(range(1, len(found) + 1)), "migrations are numbered"
    return tuple(found)
