"""The page about security names tests that exist, and what can be said of the sources and locks as they lie there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
LINES = [line for line in (ROOT / "docs/reference/security.md").read_text().splitlines() if line.startswith("| S")]
MAKES_OBJECTS = {"pickle", "marshal", "shelve", "dill", "jsonpickle", "cloudpickle", "xmlrpc"}
RUNS_TEXT = {"eval", "exec"}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_every_threat_has_its_line() -> None:
    assert [cells(line)[0].strip("| ") for line in LINES] == [f"S{number}" for number in range(1, 26)]
    assert all(len(cells(line)) == 4 and all(cells(line)) for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: cells(line)[0].strip("| "))
def test_every_line_names_tests_that_exist(line: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", cells(line)[3])
    assert named
    assert len(named) == cells(line)[3].count("`") // 2
    for path, name in named:
        found = {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}
        assert name in found if name else any(each.startswith("test_") for each in found), (path, name)


def test_nothing_makes_objects_of_bytes() -> None:
    """The same is looked for by ``make scan``; this is here because it takes no time."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            assert _imported(node).isdisjoint(MAKES_OBJECTS), path
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called not in RUNS_TEXT, path


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {each.name.partition(".")[0] for each in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_is_pinned_with_its_hash(lock: Path) -> None:
    wanted = lock.read_text().replace("\\\n", " ").splitlines()
    assert len(wanted) > 0
    for line in wanted:
        assert re.match(r"[a-z0-9][a-z0-9._-]*(\[[\w,-]+\])?==\S+ ", line), line
        assert re.search(r" --hash=sha256:[0-9a-f]{64}", line), line
        assert "://" not in line


def test_there_is_a_lock_for_what_is_run() -> None:
    assert {lock.name for lock in LOCKS} == {"bootstrap.lock", "dev.lock", "scan.lock"}
