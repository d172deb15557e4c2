"""Some stories on each pair of sides, and every story that has ever told two of them apart.

``python -m tests.differential --minutes 10`` tells more.
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
from tests.differential.__main__ import DOORS, LENGTH, REFERENCE
from tests.differential.comparison import Judge, alike, by_heart, shortened
from tests.differential.generator import NAMES, READS, Step, Story, draw
from tests.differential.sides import PLAIN_SETTINGS, OnPostgres, on_sqlite
from tompion.config.settings import Settings

CORPUS = json.loads(Path(__file__).with_name("corpus.json").read_text())
SHORT = 30
MOST_LINES = 200


@pytest.fixture(scope="module")
def stores(postgres_server: object, migrated_for_stories: str) -> Iterator[Judge]:
    with closing(OnPostgres(migrated_for_stories)) as postgres:
        yield alike(on_sqlite, postgres)


@pytest.mark.parametrize("number", range(2))
def test_both_stores_give_the_same_results(stores: Judge, number: int) -> None:
    assert stores(draw(f"suite/stores/{number}", SHORT, plain=False)) is None


@pytest.mark.parametrize("number", range(2))
def test_python_and_rest_give_the_same_results(number: int) -> None:
    assert DOORS(draw(f"suite/doors/{number}", SHORT, plain=False)) is None


@pytest.mark.parametrize("number", range(8))
def test_the_engine_agrees_with_the_reference(number: int) -> None:
    assert REFERENCE(draw(f"suite/reference/{number}", LENGTH, plain=True)) is None


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["about"])
def test_a_corpus_scenario_gives_the_same_results(case: dict[str, object], stores: Judge) -> None:
    story = _story(case)
    for judge in (stores, DOORS, *([REFERENCE] if case["kind"] == "reference" else [])):
        assert judge(story) is None


# --- that it can fail -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"max_buffer": 4}, {"misfire_grace_ms": 29_000}])
def test_a_different_limit_is_detected(other: dict[str, int]) -> None:
    judge = by_heart(partial(on_sqlite, _but(other)))
    kept = [_story(case) for case in CORPUS if case["kind"] == "reference"]
    assert any(judge(story) is not None for story in kept)


def test_different_limits_are_detected_and_the_scenario_is_minimised() -> None:
    judge = alike(partial(on_sqlite, PLAIN_SETTINGS), partial(on_sqlite, _but({"max_buffer": 4})))
    story = _story(next(case for case in CORPUS if case["about"] == "a full buffer"))
    longer = [step for each in story for step in (each, Step("get", {"schedule_id": NAMES[2]}))]
    short = shortened(longer, judge)
    assert judge(short) is not None
    assert all(judge(short[:at] + short[at + 1 :]) is None for at in range(len(short)))


def test_scenarios_have_every_kind_of_step() -> None:
    drawn = {step.name for seed in range(40) for step in draw(f"{seed}", LENGTH, plain=False)}
    assert {"advance", "tick", "settle", *READS} <= drawn


def test_the_reference_stays_short() -> None:
    """Whoever doubts it can read it: so many lines, not counting documentation."""
    source = inspect.getsource(reference)
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line.strip() for at, line in enumerate(source.splitlines(), start=1) if at not in documented]
    assert len([line for line in lines if line and not line.startswith("#")]) <= MOST_LINES


def _but(other: dict[str, Any]) -> Settings:
    return replace(PLAIN_SETTINGS, **other)


def _story(case: dict[str, object]) -> Story:
    kept = case["story"]
    assert isinstance(kept, list)
    return [Step(name, arguments) for name, arguments in kept]
