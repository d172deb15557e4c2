"""Output formats: the same data as JSON and YAML, ids for other commands, and tables with all columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no annotations
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command_line import run
from tompion.cli.output.formats import OutputFormat, print_data, requested_format

DAILY = ("--cron", "0 9 * * *", "--function", "tasks:report")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["yes", "1e3", "0x1", "- a", "~"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a store with two schedules, one of them paused."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    monkeypatch.setenv("TOMPION_STORE", url)
    assert run(["schedules", "create", "a", *DAILY]).code == 0
    assert run(["schedules", "create", "b", *DAILY, "--paused"]).code == 0
    return url


@given(VALUES)
def test_yaml_has_the_same_data(value: Any) -> None:
    from contextlib import redirect_stdout
    from io import StringIO

    out = StringIO()
    with redirect_stdout(out):
        print_data(value, OutputFormat.YAML)
    assert yaml.safe_load(out.getvalue()) == value


def test_json_and_yaml_of_a_command_are_equal(store: str) -> None:
    data = json.loads(run(["schedules", "list", "-o", "json"]).out)
    assert yaml.safe_load(run(["schedules", "list", "--output=yaml"]).out) == data
    assert [item["schedule_id"] for item in data["items"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (["schedules", "list"], ["a", "b"]),
        (["schedules", "list", "--status", "paused"], ["b"]),
        (["schedules", "describe", "a"], ["a"]),
        (["schedules", "pause", "a", "b"], ["a"]),
        (["upcoming", "--for", "2d", "--limit", "1"], ["a"]),
        (["keys", "list"], []),
    ],
)
def test_name_prints_one_id_per_line(store: str, argv: list[str], names: list[str]) -> None:
    assert run([*argv, "-o", "name"]).out.splitlines() == names


def test_name_is_rejected_where_nothing_has_one(store: str) -> None:
    result = run(["stats", "-o", "name"])
    assert (result.code, result.out) == (2, "")
    assert "use -o json" in result.err


def test_an_unknown_format_is_rejected(store: str) -> None:
    result = run(["schedules", "list", "-o", "xml"])
    assert result.code == 2
    assert "'yaml'" in result.err


def test_an_error_has_the_format_of_the_output(store: str) -> None:
    missing = ["schedules", "get", "missing"]
    assert json.loads(run([*missing, "-o", "json"]).err)["code"] == "not_found"
    assert yaml.safe_load(run([*missing, "-oyaml"]).err)["code"] == "not_found"
    assert run([*missing, "-o", "name"]).err == run(missing).err


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("get a -o json", OutputFormat.JSON),
        ("get a -ojson", OutputFormat.JSON),
        ("get a --output yaml", OutputFormat.YAML),
        ("get a --output=json", OutputFormat.JSON),
        ("get -- -o json", OutputFormat.TABLE),
        ("get a -o", OutputFormat.TABLE),
        ("get a", OutputFormat.TABLE),
    ],
)
def test_the_format_is_known_before_the_options_are_parsed(words: str, output: OutputFormat) -> None:
    assert requested_format(words.split()) is output
