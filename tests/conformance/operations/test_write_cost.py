"""Writing a schedule parses its spec once, compiles it once, and reads its row once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.operations import Bench
from tompion.operations.schedules import crud, declare, schedule_document
from tompion.plan import stored_definition
from tompion.spec import compiler
from tompion.store.base import Transaction

FIELDS: dict[str, Any] = {
    "function": "jobs.daily:report",
    "cron": "17 6 * * 1-5",
    "timezone": "Europe/Berlin",
    "labels": {"team": "x", "area": "y"},
    "payload": {"n": [1, 2]},
    "memo": {"why": "test"},
    "search_attributes": {"kind": {"type": "KeywordList", "value": ["a", "b"]}},
    "catchup_window": "1h",
}
OTHER_FIELDS = {**FIELDS, "cron": "18 6 * * 1-5"}


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count parses, compilations and reads of the row, with empty caches."""
    counts: Counter[str] = Counter()

    def count_calls(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def count(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return function(*args, **kwargs)

        return count

    for module in (schedule_document, stored_definition):
        monkeypatch.setattr(module, "read_spec", count_calls("parse", module.read_spec))
    monkeypatch.setattr(compiler._Compiler, "ticks", count_calls("compile", compiler._Compiler.ticks))
    for method in ("schedule_get", "schedule_get_full", "schedule_list_by_key"):
        monkeypatch.setattr(Transaction, method, count_calls("read", getattr(Transaction, method)))
    _forget()
    yield counts
    _forget()


def _forget() -> None:
    compiler._compile_document.cache_clear()
    for cached in (stored_definition.stored_spec, stored_definition._compiled_template):
        cached.cache_clear()


def test_create_parses_and_reads_once(bench: Bench, costs: Counter[str]) -> None:
    bench.ask(crud.create, "report", **FIELDS)
    assert costs == {"parse": 1, "compile": 1, "read": 1}


def test_upsert_of_a_new_schedule_parses_and_reads_once(bench: Bench, costs: Counter[str]) -> None:
    bench.ask(crud.upsert, "report", **FIELDS)
    assert costs == {"parse": 1, "compile": 1, "read": 1}


@pytest.mark.parametrize("operation", [crud.upsert, crud.update], ids=["upsert", "update"])
def test_a_replacement_parses_and_reads_once(bench: Bench, costs: Counter[str], operation: Callable[..., Any]) -> None:
    """The old version is parsed once too, unless it is in the cache: the audit and the cursor need it."""
    schedule = bench.ask(crud.create, "report", **FIELDS)
    bench.ask(crud.get, "report")
    costs.clear()
    bench.ask(operation, "report", conflict_token=schedule.conflict_token, **OTHER_FIELDS)
    assert costs == {"parse": 1, "compile": 1, "read": 1}


def test_a_patch_of_the_spec_parses_and_reads_once(bench: Bench, costs: Counter[str]) -> None:
    bench.ask(crud.create, "report", **FIELDS)
    bench.ask(crud.get, "report")
    costs.clear()
    bench.ask(crud.patch, "report", cron="18 6 * * 1-5")
    assert costs == {"parse": 1, "compile": 1, "read": 1}
    costs.clear()
    bench.ask(crud.patch, "report", description="another")
    assert (costs["compile"], costs["read"]) == (0, 1)


def test_a_declaration_reads_once(bench: Bench, costs: Counter[str]) -> None:
    bench.ask(declare.declare, "report", **FIELDS)
    assert (costs["compile"], costs["read"]) == (1, 1)
    costs.clear()
    bench.ask(declare.declare, "report", **FIELDS)
    assert costs["read"] == 1


@pytest.mark.parametrize("operation", [crud.create, crud.upsert], ids=["create", "upsert"])
def test_the_answer_of_a_write_is_what_a_read_returns(bench: Bench, operation: Callable[..., Any]) -> None:
    """The answer is built from the parsed input, not from the stored texts."""
    assert bench.ask(operation, "report", **FIELDS) == bench.ask(crud.get, "report")
    assert bench.ask(crud.update, "report", **OTHER_FIELDS) == bench.ask(crud.get, "report")
    assert bench.ask(crud.patch, "report", paused=True, note="deploy") == bench.ask(crud.get, "report")
