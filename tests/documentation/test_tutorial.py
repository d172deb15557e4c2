"""The five minutes, minute by minute: every command as it is printed, and what is shown of its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation.pages import (
    DOCUMENTED_ADDRESS,
    blocks,
    commands,
    curl,
    matches_excerpt,
    python_of,
    run,
    serving,
    soon,
    write_files,
)
from tompion import Tompion

PAGE = "tutorial/five-minutes.md"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert write_files(PAGE, tmp_path) == ["tasks.py"]
    return tmp_path


@pytest.fixture
def address(home: Path) -> Iterator[str]:
    """The service that ``make serve`` starts."""
    with serving(home) as address:
        yield address


def test_the_five_minute_tutorial_works(home: Path, address: str) -> None:
    requests = 0
    page_blocks = [block for block in blocks(PAGE) if block.language in ("sh", "json") and block.text != "make serve\n"]
    for block, below in zip(page_blocks, [*page_blocks[1:], None], strict=True):
        if block.language == "json":
            continue
        for command in commands(block.text):
            if not command.startswith("curl"):
                assert "each accounted for exactly once\n" in run(command, home)
                continue
            wanted = json.loads(below.text) if below is not None and below.language == "json" else "…"
            answered(command, address, wanted)
            requests += 1
    assert requests > 9
    (program,) = python_of(PAGE)
    exec(program.replace(DOCUMENTED_ADDRESS, address), {})  # noqa: S102 - our own documentation
    with Tompion(address) as tompion:
        assert tompion.get("greeting").state == "closed"


def answered(command: str, address: str, wanted: object) -> None:
    """Ask until the answer is what is shown: a reader is slower than the engine, a test is not."""
    seen: list[object] = []

    def responds_as_documented() -> bool:
        seen.append(curl(command, address))
        return matches_excerpt(wanted, seen[-1])

    assert soon(responds_as_documented) if "--json" not in command else responds_as_documented(), (
        f"{command}: {seen[-1]}"
    )


def test_an_expected_excerpt_must_be_in_the_output() -> None:
    assert matches_excerpt({"a": [{"b": "…"}]}, {"a": [{"b": 1}, 2], "c": 3})
    assert not matches_excerpt({"a": 1}, {"a": 2})
    assert not matches_excerpt({"a": 1}, {})
    assert not matches_excerpt([1, 2], [1])
