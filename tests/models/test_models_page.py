"""The page that maps the actions of the models to code: every name exists, and no step is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from models.table import GUARDS, promises
from tompion.store.sql_loader import load_queries

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/explanation/models.md").read_text(encoding="utf-8")
DIALECTS = ("tompion.store.sqlite", "tompion.store.postgres")
NO_CODE = {
    "Fire": {"Advance", "Crash", "Insert", "Count", "Edit"},
    "Lease": {"Die", "Lapse", "RegisterAsNew", "EndTransaction", "Write"},
    "Overlap": set[str](),
    "Pause": set[str](),
    "Backfill": {"Advance", "Crash"},
}
"""Steps that stand for no code of ours, and parts of steps."""


class Row(NamedTuple):
    """One line of the table."""

    module: str
    actions: list[str]
    code: str


def _rows() -> list[Row]:
    table = PAGE.split("| action | code |\n|---|---|\n")[1].split("\n\n")[0]
    rows: list[Row] = []
    for line in table.splitlines():
        left, right = (cell.strip() for cell in line.strip("|").split("|"))
        named = re.fullmatch(r"(?:\*\*(\w+)\*\*: )?(.+)", left)
        assert named is not None, line
        rows.append(Row(named[1] or rows[-1].module, named[2].split(", "), right))
    return rows


ROWS = _rows()


def _operators(module: str) -> dict[str, str]:
    """The definitions of a module by name."""
    text = re.sub(r"\\\*.*", "", (ROOT / f"models/{module}.tla").read_text(encoding="utf-8"))
    parts = re.split(r"^(\w+)(?:\([^)=]*\))? ==", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}: {row.actions[0]}")
def test_every_action_on_the_page_is_in_its_model(row: Row) -> None:
    assert [name for name in row.actions if name not in _operators(row.module)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}: {row.actions[0]}")
def test_the_code_on_the_page_exists(row: Row) -> None:
    for part in row.code.split("; "):
        names = re.findall(r"`([^`]+)`", part)
        assert names, f"{part!r} names nothing"
        if part.startswith("statement"):
            for dialect in DIALECTS:
                assert [name for name in names if name not in load_queries(dialect)] == [], dialect
        else:
            assert len(names) > 1, f"{part!r} names a file and nothing in it"
            _check_functions(ROOT / "src/tompion" / names[0], names[1:])


def _check_functions(path: Path, names: list[str]) -> None:
    text = path.read_text(encoding="utf-8")
    for name in names:
        *owner, last = name.split(".")
        assert re.search(rf"^ *(?:async )?(?:def|class) {last}\b", text, re.MULTILINE), f"{path.name} has no {name}"
        assert not owner or re.search(rf"^class {owner[0]}\b", text, re.MULTILINE), f"{path.name} has no {owner[0]}"


@pytest.mark.parametrize("module", NO_CODE)
def test_every_step_of_a_model_is_on_the_page(module: str) -> None:
    steps = {name for name, body in _operators(module).items() if re.search(r"\w'|UNCHANGED", body)}
    promised = {name for name, body in _operators(module).items() if "[][" in body}
    named = {name for row in ROWS if row.module == module for name in row.actions}
    assert steps - promised - named - NO_CODE[module] - {"NewStarts", "IsFree", "Starts"} == set()
    assert NO_CODE[module] <= steps


def _promised() -> dict[str, set[str]]:
    """The properties of each model that the page names."""
    table = PAGE.split("| model | promise | its twin, which must fail |\n|---|---|---|\n")[1].split("\n\n")[0]
    promised: dict[str, set[str]] = {}
    module = ""
    for line in table.splitlines():
        named, promises_cell, _ = (cell.strip() for cell in line.strip("|").split("|"))
        module = named or module
        promised.setdefault(module, set()).update(
            name for part in promises_cell.split("; ") for name in part.split(":")[0].split(", ")
        )
    return promised


def test_page_names_the_checked_promises() -> None:
    assert _promised() == {module: promises(module) for module in GUARDS}
