"""Some scenarios on each pair of sides, and every scenario of the corpus.

``python -m tests.differential --minutes 10`` runs more.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.differential import reference
from tests.differential.__main__ import INTERFACES, LENGTH, REFERENCE
from tests.differential.comparison import Comparison, compare_sides, compare_with_reference, minimise
from tests.differential.generator import NAMES, READS, Scenario, Step, generate
from tests.differential.sides import PLAIN_SETTINGS, OnPostgres, on_sqlite
from tompion.config.settings import Settings

CORPUS = json.loads(Path(__file__).with_name("corpus.json").read_text())
SHORT = 30
MAX_LINES = 200


@pytest.fixture(scope="module")
def stores(postgres_server: object, migrated_database: str) -> Iterator[Comparison]:
    with closing(OnPostgres(migrated_database)) as postgres:
        yield compare_sides(on_sqlite, postgres)


@pytest.mark.parametrize("number", range(2))
def test_both_stores_give_the_same_results(stores: Comparison, number: int) -> None:
    assert stores(generate(f"suite/stores/{number}", SHORT, plain=False)) is None


@pytest.mark.parametrize("number", range(2))
def test_python_and_rest_give_the_same_results(number: int) -> None:
    assert INTERFACES(generate(f"suite/interfaces/{number}", SHORT, plain=False)) is None


@pytest.mark.parametrize("number", range(8))
def test_the_engine_agrees_with_the_reference(number: int) -> None:
    assert REFERENCE(generate(f"suite/reference/{number}", LENGTH, plain=True)) is None


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["about"])
def test_a_corpus_scenario_gives_the_same_results(case: dict[str, object], stores: Comparison) -> None:
    scenario = _scenario(case)
    for compare in (stores, INTERFACES, *([REFERENCE] if case["kind"] == "reference" else [])):
        assert compare(scenario) is None


# --- the comparison can fail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"max_buffer": 4}, {"misfire_grace_ms": 29_000}])
def test_a_different_limit_is_detected(other: dict[str, int]) -> None:
    compare = compare_with_reference(partial(on_sqlite, _with_settings(other)))
    scenarios = [_scenario(case) for case in CORPUS if case["kind"] == "reference"]
    assert any(compare(scenario) is not None for scenario in scenarios)


def test_different_limits_are_detected_and_the_scenario_is_minimised() -> None:
    compare = compare_sides(partial(on_sqlite, PLAIN_SETTINGS), partial(on_sqlite, _with_settings({"max_buffer": 4})))
    scenario = _scenario(next(case for case in CORPUS if case["about"] == "a full buffer"))
    longer = [step for own in scenario for step in (own, Step("get", {"schedule_id": NAMES[2]}))]
    short = minimise(longer, compare)
    assert compare(short) is not None
    assert all(compare(short[:at] + short[at + 1 :]) is None for at in range(len(short)))


def test_scenarios_have_every_kind_of_step() -> None:
    names = {step.name for seed in range(40) for step in generate(f"{seed}", LENGTH, plain=False)}
    assert {"advance", "tick", "settle", *READS} <= names


def test_the_reference_stays_short() -> None:
    """The reference must be short enough to check by reading. Documentation does not count."""
    source = inspect.getsource(reference)
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line.strip() for at, line in enumerate(source.splitlines(), start=1) if at not in documented]
    assert len([line for line in lines if line and not line.startswith("#")]) <= MAX_LINES


def _with_settings(other: dict[str, Any]) -> Settings:
    return replace(PLAIN_SETTINGS, **other)


def _scenario(case: dict[str, object]) -> Scenario:
    steps = case["scenario"]
    assert isinstance(steps, list)
    return [Step(name, arguments) for name, arguments in steps]
