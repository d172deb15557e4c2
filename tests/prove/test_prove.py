"""The ring runs, counts what its searches say, and is not content with silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tests.prove.__main__ as proving
from tests.interleavings.defects import MISTAKES
from tests.prove.ring import RING, Found, Search, read, table
from tests.simulation.defects import DEFECTS

DOCS = Path(__file__).parents[2] / "docs"
GUARANTEES = (DOCS / "guarantees.md").read_text()
SEARCH = Search("some", "G1", 1, lambda _: ["platform"], r"(\d[\d,]*) tries", "tries")


def found(code: int, said: str) -> Found:
    return read(SEARCH, 2.0, code, said)


def test_the_last_count_is_the_one_that_counts() -> None:
    assert found(0, "10 tries\n3,000 tries\n").tried == 3_000
    assert table([found(0, "3,000 tries")]).splitlines()[-1] == "| some | G1 | 3,000 tries | 2 | 0 | < 1.0e-03 |"


@pytest.mark.parametrize(("code", "said"), [(1, "7 tries"), (0, "nothing at all"), (0, "0 tries")])
def test_a_search_that_failed_or_tried_nothing_is_not_clean(code: int, said: str) -> None:
    assert not found(code, said).is_clean
    assert "FOUND" in table([found(code, said)])


def test_a_search_is_run_and_its_figures_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "RING", [SEARCH._replace(counts=r"(\d+)"), SEARCH._replace(name="other")])
    assert proving.main(["--minutes", "0.01", "--only", "some"]) == 0
    assert re.search(r"\n\| some \| G1 \| [\d,]+ tries \| \d+ \| 0 \| < .*\|\n$", capsys.readouterr().out)
    assert proving.main(["--minutes", "0.01"]) == 1
    assert "other has found something, or could not search" in capsys.readouterr().out


def test_what_is_proved_is_promised() -> None:
    for each in RING:
        for number in re.findall(r"[TGEH]\d+", each.proves):
            assert f"| {number} |" in GUARANTEES, (each.name, number)


def test_every_planted_mistake_is_on_its_page() -> None:
    page = (DOCS / "explanation" / "planted-mistakes.md").read_text()
    planted = [*(each.name for each in DEFECTS), *(each.name for each in MISTAKES)]
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == planted
