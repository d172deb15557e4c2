"""The ring runs, counts what its searches say, and is not content with silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tests.prove.__main__ as proving
from models.__main__ import Row, summary
from models.checking import Report
from models.table import HOLDS, SMALL, TWINS
from tests.prove import record
from tests.prove.searches import SEARCHES, Search, SearchResult, read, table

DOCS = Path(__file__).parents[2] / "docs"
GUARANTEES = (DOCS / "guarantees.md").read_text()
SEARCH = Search("some", "G1", 1, lambda _: ["platform"], r"(\d[\d,]*) tries", "tries")


def result_of(code: int, output: str) -> SearchResult:
    return read(SEARCH, 2.0, code, output)


def test_the_last_count_is_the_one_that_counts() -> None:
    assert result_of(0, "10 tries\n3,000 tries\n").tried == 3_000
    assert table([result_of(0, "3,000 tries")]).splitlines()[-1] == "| some | G1 | 3,000 tries | 2 | 0 | < 1.0e-03 |"


@pytest.mark.parametrize(("code", "output"), [(1, "7 tries"), (0, "nothing at all"), (0, "0 tries")])
def test_a_search_that_failed_or_tried_nothing_is_not_clean(code: int, output: str) -> None:
    assert not result_of(code, output).is_clean
    assert "FOUND" in table([result_of(code, output)])


def test_the_states_of_a_model_that_must_fail_are_not_counted() -> None:
    """A failing variant stops early, and an unexpected failure is not complete."""
    checked = [
        (SMALL[0], HOLDS, 1_200),
        (SMALL[1], HOLDS, 34),
        (TWINS[0], TWINS[0].expected, 500),
        (SMALL[2], "error", 7),
    ]
    rows = [Row(model, Report(verdict, 9_999, distinct, 5, ""), 1.0) for model, verdict, distinct in checked]
    output = summary(rows, 2.0)
    assert output.splitlines()[0] == "4 configurations, 1,741 distinct states, 2.0 s, 1 wrong"
    assert read(next(item for item in SEARCHES if item.name == "models"), 2.0, 0, output).tried == 1_234


def test_output_with_violations_is_not_clean() -> None:
    """Figures from a file used to count as clean."""
    (simulation,) = (item for item in SEARCHES if item.name == "simulation")
    output = "4000 scenarios from seed 1: 90 commits, 70 faults, {} with violations"
    assert read(simulation, 1.0, 0, output.format(0)).is_clean
    assert not read(simulation, 1.0, 0, output.format(2)).is_clean


def test_a_search_is_run_and_its_figures_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "SEARCHES", [SEARCH._replace(counts=r"(\d+)"), SEARCH._replace(name="other")])
    assert proving.main(["--minutes", "0.01", "--only", "some"]) == 0
    assert re.search(r"\n\| some \| G1 \| [\d,]+ tries \| \d+ \| 0 \| < .*\|\n$", capsys.readouterr().out)
    assert proving.main(["--minutes", "0.01"]) == 1
    assert "other has found a violation, or failed" in capsys.readouterr().out


def test_each_promise_names_its_searches() -> None:
    rows = re.findall(r"^\| ([TG]\d+) \|.*\| (.*) \|$", GUARANTEES, re.MULTILINE)
    assert dict(rows) == {number: ", ".join(record.searched(number)) or "–" for number, _ in rows}
    assert {number for item in SEARCHES for number in record.promises(item)} <= dict(rows).keys()


def test_a_range_of_promises_is_all_of_them() -> None:
    assert record.promises(SEARCH._replace(proves="G1–G3, T8")) == ["G1", "G2", "G3", "T8"]


def test_the_page_shows_what_is_on_record() -> None:
    assert record.table(record.load()) in GUARANTEES


def test_tries_add_up_until_something_is_found() -> None:
    search = SEARCH._replace(also={"ticks": "-"})
    runs = [record.Entry("some", f"2026-11-0{day}", "abc", day, 360, {"ticks": 5}) for day in range(1, 5)]
    assert record.row(search, runs) == "| some | G1 | 10 tries, 20 ticks | 2026-11-01, `abc`; 0.4 h | 0 | < 3.0e-01 |"
    runs[1] = runs[1]._replace(violations=1)
    assert record.row(search, runs) == "| some | G1 | 7 tries, 10 ticks | 2026-11-03, `abc`; 0.2 h | 0 | < 4.3e-01 |"
    assert record.row(search, runs[:2]) == "| some | G1 | – | – | – | – |"
    everything = search._replace(is_drawn=False)
    assert record.row(everything, runs) == "| some | G1 | 4 tries, 5 ticks | 2026-11-04, `abc`; 0.1 h | 0 | – |"


def test_output_of_a_search_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(record, "PAGE", tmp_path / "guarantees.md")
    record.RECORD.write_text("[]")
    record.PAGE.write_text(f"before\n\n{record.HEADER}| old |\n\nafter\n")
    output = tmp_path / "output.txt"
    output.write_text("seed 1\nfaults      301: kill 3\nticks       7006 to be found\nviolations  0\n")
    assert proving.main(["--only", "chaos", "--seconds", "240", "--read", str(output), str(output)]) == 0
    (first, second) = record.load()
    assert first == second
    assert (first.tried, first.seconds, first.also, first.violations) == (301, 240, {"ticks": 7006}, 0)
    page = record.PAGE.read_text()
    assert page.startswith("before\n\n| search |")
    assert page.endswith("|\n\nafter\n")
    assert "| chaos | G1, G4–G6 | 602 faults, 14,012 ticks |" in page
    output.write_text("nothing")
    assert proving.main(["--only", "chaos", "--read", str(output)]) == 1
    assert len(record.load()) == 2
    assert "0 of 1 runs recorded" in capsys.readouterr().out
