"""The words of the source, the messages, the API description, the command line and the web UI are the field's words."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from tests.support.vocabulary import (
    BANNED_WORDS,
    banned_in_text,
    files_in_tree,
    problems_in_file,
    problems_in_tree,
)
from tompion.api import metrics
from tompion.cli import main
from tompion.cli.lazy import LazyCommand

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bench", "examples", "models", "tests")
MIN_TEST_FILES = 300


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_breaks_a_rule_of_the_vocabulary(folder: str) -> None:
    problems = list(problems_in_tree(ROOT / folder))
    assert problems == []


def test_the_scanner_reads_the_service_the_web_ui_the_models_and_the_tests() -> None:
    names = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in files_in_tree(ROOT / folder)]
    counts = Counter((name.split("/")[0], name.rpartition(".")[2]) for name in names)
    assert counts["src", "py"] > 250
    assert counts["src", "tsx"] > 20
    assert counts["src", "sql"] > 20
    assert counts["models", "tla"] > 10
    assert counts["tests", "mjs"] > 2
    assert counts["tests", "py"] > MIN_TEST_FILES


def test_a_file_that_git_ignores_is_not_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, text in ((".gitignore", "ignored.py"), ("ignored.py", "told = 1"), ("read.py", "told = 1")):
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    assert {problem.split(":")[0] for problem in problems_in_tree(tmp_path)} == {str(tmp_path / "read.py")}


def test_the_api_description_has_no_banned_word() -> None:
    document = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8"))
    texts = list(_strings(document))
    assert len(texts) > 1000
    assert [text for text in texts if banned_in_text(text)] == []


def test_the_help_of_no_command_has_a_banned_word() -> None:
    texts = list(_help_texts(get_command(main.app)))
    assert len(texts) > 100
    assert [text for text in texts if banned_in_text(text)] == []


def test_the_help_of_no_metric_has_a_banned_word() -> None:
    entries = {**metrics.COUNTERS, **metrics.HISTOGRAMS, **metrics.GAUGES}
    assert len(entries) > 30
    assert [name for name, entry in entries.items() if banned_in_text(f"{name} {entry}")] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("module.py", 'MESSAGE = "the {word} is here"'),
        ("module.py", "# The {word} is here."),
        ("module.py", "def find_{word}_rows() -> None: ..."),
        ("table.sql", "SELECT {word} FROM runs"),
        ("view.tsx", "const label = <b>{word}</b>"),
        ("Model.tla", "\\* The {word} is here."),
        ("Model.tla", "{word}Rows == 1"),
        ("driver.mjs", "const {word} = 1"),
        ("{word}.py", ""),
    ],
)
def test_a_planted_word_is_reported(tmp_path: Path, name: str, line: str) -> None:
    for word in BANNED_WORDS:
        file = tmp_path / name.format(word=word)
        file.write_text(line.format(word=word), encoding="utf-8")
        assert any(word in problem.partition(": ")[2] for problem in problems_in_file(file)), word


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("found = 1", "does not say what the value is"),
        ("def f(told: int) -> None: ...", "does not say what the value is"),
        ('class A:\n    def __init__(self) -> None:\n        """Take nothing."""', "__init__ has a docstring"),
        ('def f() -> None:\n    """What it does."""', "begins with 'What'"),
        ('def f() -> None:\n    """Start it; then stop it."""', "semicolon in a docstring"),
        ("# Start it; then stop it.", "semicolon in a comment"),
        ("# The engine goes on with the next schedule.", "banned word 'goes on'"),
    ],
)
def test_a_planted_problem_is_reported(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"{line}\n", encoding="utf-8")
    assert [text for text in problems_in_file(file) if problem in text]


@pytest.mark.parametrize("comment", ["\\* Start it; then stop it.", "(* Start it;\n   then stop it. *)"])
def test_a_semicolon_in_a_comment_of_a_model_is_reported(tmp_path: Path, comment: str) -> None:
    file = tmp_path / "Model.tla"
    file.write_text(f"Start == 1\n{comment}\n", encoding="utf-8")
    assert [problem.partition(": ")[2] for problem in problems_in_file(file)] == ["semicolon in a comment"]


def test_plain_words_are_not_reported(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""Return the incoming requests."""\n\nWORDWIDE = "the stored dialect of SQL"\n', encoding="utf-8")
    assert list(problems_in_file(file)) == []


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _help_texts(command: object) -> Iterator[str]:
    yield str(getattr(command, "help", None) or "")
    for parameter in getattr(command, "params", []):
        yield f"{' '.join(parameter.opts)} {getattr(parameter, 'help', None) or ''}"
    for name, inner in getattr(command, "commands", {}).items():
        yield name
        yield from _help_texts(inner.command if isinstance(inner, LazyCommand) else inner)
