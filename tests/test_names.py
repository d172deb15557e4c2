"""Rules for names in the source: unique classes, own modules, limits with MAX or MIN, rows with keywords."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
LIMIT = re.compile(
    r"_?(?:MOST|LONGEST|LARGEST|BIGGEST|GREATEST|HIGHEST|DEEPEST|WIDEST|LATEST|MAXIMUM|AT_MOST|UP_TO|NO_MORE_THAN"
    r"|LEAST|FEWEST|SHORTEST|SMALLEST|LOWEST|EARLIEST|MINIMUM|AT_LEAST|FEW|MANY|ENOUGH)(?:_[A-Z0-9_]+)?"
)
"""Names of constants that are limits and do not begin with MAX or MIN."""
MIN_ROW_COLUMNS = 5


def source_trees() -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and the syntax tree of each source file."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text(encoding="utf-8"))


def module_names() -> frozenset[str]:
    """Return the dotted names of all modules and packages of the source."""
    paths = (path.relative_to(SOURCE).with_suffix("") for path in SOURCE.rglob("*.py"))
    return frozenset(".".join(path.parts).removesuffix(".__init__") for path in paths)


def renamed_modules(tree: ast.Module, modules: frozenset[str]) -> list[str]:
    """Return the imports that give one of our own modules another name."""
    imports = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(alias.name, alias.asname) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(f"{node.module}.{alias.name}", alias.asname) for alias in node.names]
        else:
            continue
        imports += [f"{name} as {other}" for name, other in names if name in modules and other not in {None, name}]
    return imports


def constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names that the module assigns at its top level."""
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def test_class_names_are_unique_in_the_source() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in source_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: lines for name, lines in places.items() if len(lines) > 1} == {}


def test_own_modules_are_imported_under_their_own_names() -> None:
    modules = module_names()
    assert {path: names for path, tree in source_trees() if (names := renamed_modules(tree, modules))} == {}


def test_limits_begin_with_max_or_min() -> None:
    limits = {path: [name for name in constants(tree) if LIMIT.fullmatch(name)] for path, tree in source_trees()}
    assert {path: names for path, names in limits.items() if names} == {}


def row_classes() -> frozenset[str]:
    """Return the names of the row classes of the model with at least five columns."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (SOURCE / "tompion" / "model").glob("*.py"))
    return frozenset(
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)
        and sum(isinstance(item, ast.AnnAssign) for item in node.body) >= MIN_ROW_COLUMNS
    )


def positional_rows(tree: ast.Module, rows: frozenset[str]) -> list[str]:
    """Return the row classes that are built with positional values."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return [call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id in rows]


def test_rows_are_built_with_keywords() -> None:
    rows = row_classes()
    assert {"RunRow", "ScheduleRow", "ScheduleState"} <= rows
    calls = {path: positional_rows(tree, rows) for path, tree in source_trees()}
    assert {path: names for path, names in calls.items() if names} == {}


def test_row_with_positional_values_is_detected() -> None:
    assert positional_rows(ast.parse("RunRow(1, 2, state=3)"), frozenset({"RunRow"})) == ["RunRow"]
    assert positional_rows(ast.parse("RunRow(state=3)"), frozenset({"RunRow"})) == []


@pytest.mark.parametrize("text", ["import tompion.errors as e", "from tompion import errors as e"])
def test_renamed_module_is_detected(text: str) -> None:
    assert renamed_modules(ast.parse(text), frozenset({"tompion.errors"})) == ["tompion.errors as e"]


@pytest.mark.parametrize("text", ["import tompion.errors", "from tompion.errors import NotFound as Missing"])
def test_other_imports_are_allowed(text: str) -> None:
    assert renamed_modules(ast.parse(text), frozenset({"tompion.errors"})) == []


@pytest.mark.parametrize("text", ["MOST_ROWS = 1", "LEAST, OTHER = 1, 2", "FEW: int = 5", "_LONGEST_S = 3"])
def test_limit_with_another_name_is_detected(text: str) -> None:
    assert any(LIMIT.fullmatch(name) for name in constants(ast.parse(text)))
