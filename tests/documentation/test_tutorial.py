"""The five-minute tutorial: every command runs, and its response is as documented."""

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
    run_service,
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
    with run_service(home) as address:
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
            assert_answer(command, address, wanted)
            requests += 1
    assert requests > 9
    (program,) = python_of(PAGE)
    exec(program.replace(DOCUMENTED_ADDRESS, address), {})  # noqa: S102 - our own documentation
    with Tompion(address) as tompion:
        assert tompion.get("greeting").status == "closed"


def assert_answer(command: str, address: str, wanted: object) -> None:
    """Send a request until the response is as documented. A test is faster than the engine, a reader is not."""
    responses: list[object] = []

    def responds_as_documented() -> bool:
        responses.append(curl(command, address))
        return matches_excerpt(wanted, responses[-1])

    assert soon(responds_as_documented) if "--json" not in command else responds_as_documented(), (
        f"{command}: {responses[-1]}"
    )


def test_an_expected_excerpt_must_be_in_the_output() -> None:
    assert matches_excerpt({"a": [{"b": "…"}]}, {"a": [{"b": 1}, 2], "c": 3})
    assert not matches_excerpt({"a": 1}, {"a": 2})
    assert not matches_excerpt({"a": 1}, {})
    assert not matches_excerpt([1, 2], [1])
