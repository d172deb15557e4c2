"""Runs a documentation page: its files, its commands and the expected output.

A block below a paragraph that ends with a file name and a colon is that file. A ``sh`` block has one command per line.
A ``json`` block below it has the expected part of the last output, with ``"…"`` for any value.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
DOCUMENTED_ADDRESS = "http://127.0.0.1:8640"
ANYTHING = "…"
SECONDS = 120
_BLOCK = re.compile(r"(?:`([\w./-]+\.\w+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its file name or an empty string, its language and its text."""

    file: str
    language: str
    text: str


def blocks(name: str) -> list[Block]:
    """Return the blocks of a page below docs/."""
    page_blocks = [Block(*groups) for groups in _BLOCK.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))]
    assert page_blocks, f"{name} has no blocks"
    return page_blocks


def write_files(name: str, home: Path) -> list[str]:
    """Write the files of a page into a directory and return their names."""
    written = []
    for block in blocks(name):
        if block.file:
            (home / block.file).write_text(block.text, encoding="utf-8")
            written.append(block.file)
    return written


def python_of(name: str) -> list[str]:
    """Return the Python blocks of a page that are not files."""
    return [block.text for block in blocks(name) if block.language == "python" and not block.file]


def commands(text: str) -> list[str]:
    """Return the commands of a block."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(command: str, home: Path, programs: Mapping[str, list[str]] | None = None, **environment: str) -> str:
    """Run a command in a directory and return its output. It must succeed."""
    words = shlex.split(command, comments=True)
    name = words[0].rpartition("/")[2]
    aliases = {"tompion": [sys.executable, "-m", "tompion"], "python": [sys.executable], **(programs or {})}
    done = subprocess.run(
        [*aliases.get(name, [words[0]]), *words[1:]],
        cwd=home,
        env=page_environment(**environment),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def page_environment(**more: str) -> dict[str, str]:
    """Return an environment without TOMPION_ variables of this process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    return {**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **more}


@contextmanager
def run_service(home: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """Run ``tompion serve`` in a directory on a free port, and yield its address."""
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, text=True, env=page_environment(**environment)
    ) as process:
        try:
            assert process.stdout is not None
            matches = (re.search(r"https?://127\.0\.0\.1:\d+", line) for line in process.stdout)
            address = next(filter(None, matches), None)
            assert address is not None, "the service does not start"
            yield address.group()
            process.terminate()
            process.communicate(timeout=SECONDS)
            assert process.returncode == 0
        finally:
            process.kill()


def curl(command: str, address: str) -> Any:
    """Send the request of a curl command and return the JSON of the response."""
    words = shlex.split(command)[1:]
    url = next(word for word in words if word.startswith("http"))
    words.remove(url)
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert set(options) <= {"-X", "--json"}, command
    body = options["--json"].encode() if "--json" in options else None
    method = options.get("-X") or ("POST" if body else "GET")
    assert url.startswith(DOCUMENTED_ADDRESS)
    request = Request(
        url.replace(DOCUMENTED_ADDRESS, address), body, {"Content-Type": "application/json"}, method=method
    )
    with urlopen(request, timeout=SECONDS) as response:
        return json.load(response)


def soon(check: Callable[[], bool]) -> bool:
    """Return whether a check becomes true within some minutes, because a process may still be starting."""
    turn = threading.Event()
    return any(check() or turn.wait(0.05) for _ in range(3_600))


def matches_excerpt(excerpt: Any, output: Any) -> bool:
    """Return whether an expected excerpt is in the output."""
    if excerpt == ANYTHING:
        return True
    if isinstance(excerpt, dict):
        return isinstance(output, dict) and all(
            name in output and matches_excerpt(excerpt[name], output[name]) for name in excerpt
        )
    if isinstance(excerpt, list):
        return (
            isinstance(output, list)
            and len(output) >= len(excerpt)
            and all(matches_excerpt(*pair) for pair in zip(excerpt, output, strict=False))
        )
    return bool(excerpt == output)
