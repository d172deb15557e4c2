"""The SQL files: one per table and dialect, and no statement that the store does not use."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tompion.store import base, tables
from tompion.store.base import Transaction
from tompion.store.driver_transaction import DriverTransaction
from tompion.store.postgres.driver import PostgresTransaction
from tompion.store.sql_loader import load_queries
from tompion.store.sqlite.driver import SqliteTransaction, _with_plain_placeholders

STORE = Path(base.__file__).parent
TABLES = {path.stem for path in Path(str(tables.__file__)).parent.glob("*.py")} - {"__init__"}
NOUNS = {
    "api_key", "audit", "backfill", "backlog", "calendar", "dropped_range", "instance", "lease", "name", "notification",
    "number", "queue", "request", "run", "schedule", "search_attribute", "secret", "state", "target", "version", "work",
    "worker", "workflow",
}  # fmt: skip
"""Things that store methods are about. A method's name begins with one of them."""


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_each_table_module_has_a_sql_file_of_the_same_name(dialect: str) -> None:
    assert {path.stem for path in (STORE / dialect / "sql").glob("*.sql")} == TABLES


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_each_statement_is_used_by_the_module_of_its_table(dialect: str) -> None:
    for table in sorted(TABLES):
        statements = re.findall(
            r"^-- name: (\w+)$", (STORE / dialect / "sql" / f"{table}.sql").read_text(), re.MULTILINE
        )
        source = (STORE / "tables" / f"{table}.py").read_text()
        purge = (STORE / "tables" / "schedules.py").read_text()  # deletes the rows of all tables
        assert [name for name in statements if f'"{name}"' not in source and f'"{name}"' not in purge] == []


def test_each_statement_that_the_store_names_exists() -> None:
    queries = load_queries("tompion.store.sqlite")
    for path in (STORE / "tables").glob("*.py"):
        names = re.findall(
            r'\.(?:rows|execute_many|execute_many_returning|_one|_runs|_many_runs|_changed)\(\s*"(\w+)"',
            path.read_text(),
        )
        assert [name for name in names if name not in queries] == []


def test_store_methods_begin_with_their_noun() -> None:
    plumbing = {*vars(DriverTransaction), "execute_calls", "restrict_to", "write_decisions"}
    methods = {name for name, _ in inspect.getmembers(Transaction, inspect.isfunction) if not name.startswith("_")}
    assert [name for name in sorted(methods - plumbing) if not any(name.startswith(f"{noun}_") for noun in NOUNS)] == []


@pytest.mark.parametrize("driver", [PostgresTransaction, SqliteTransaction])
def test_driver_overrides_only_methods_of_the_contract(driver: type[Transaction]) -> None:
    """A renamed method of the contract would leave the driver's faster version unused."""
    own = {name for name, value in vars(driver).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert own - set(dir(Transaction)) <= {"finish"}


@pytest.mark.parametrize("name", sorted(load_queries("tompion.store.sqlite")))
def test_rows_are_bound_without_numbered_parameters(name: str) -> None:
    """Regression: Python 3.12.0 to 3.12.3 warned for each statement with ``?1`` that was bound to a sequence."""
    text = load_queries("tompion.store.sqlite")[name]
    numbers = [int(number) for number in re.findall(r"\?(\d+)", text)]
    statement, arrange = _with_plain_placeholders(text)
    assert not re.search(r"\?\d", statement)
    row = [f"value {number}" for number in range(1, max(numbers, default=1) + 1)]
    expected = [f"value {number}" for number in numbers] or row
    assert [list(arranged) for arranged in arrange([row])] == [expected]
    assert not numbers or statement.count("?") == len(expected)
