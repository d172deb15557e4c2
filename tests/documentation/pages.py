"""Pages as programs: their files, their commands, and what they show of the answers.

A block below a paragraph that ends with a file's name and a colon is that file.  A ``sh`` block is commands, one on a
line (a backslash continues it); a ``json`` block below it is what of the last answer matters, with ``"…"`` for
anything.
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
SHOWN_ADDRESS = "http://127.0.0.1:8640"
ANYTHING = "…"
SECONDS = 120
_BLOCK = re.compile(r"(?:`([\w./-]+\.\w+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)


class Block(NamedTuple):
    """One fenced block: the name of the file that it is, if it is one, its language, and its text."""

    file: str
    language: str
    text: str


def blocks(name: str) -> list[Block]:
    """The blocks of a page below docs/, in their order."""
    found = [Block(*each) for each in _BLOCK.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))]
    assert found, f"{name} shows nothing"
    return found


def write_files(name: str, home: Path) -> list[str]:
    """Put the files that a page shows into a directory; return their names."""
    written = []
    for block in blocks(name):
        if block.file:
            (home / block.file).write_text(block.text, encoding="utf-8")
            written.append(block.file)
    return written


def python_of(name: str) -> list[str]:
    """The Python that a page shows and that is no file."""
    return [block.text for block in blocks(name) if block.language == "python" and not block.file]


def commands(text: str) -> list[str]:
    """The commands of a block, one each."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(command: str, home: Path, programs: Mapping[str, list[str]] | None = None, **environment: str) -> str:
    """Run a command as somebody would in that directory, and return what it prints; it must succeed."""
    words = shlex.split(command, comments=True)
    name = words[0].rpartition("/")[2]
    known = {"tompion": [sys.executable, "-m", "tompion"], "python": [sys.executable], **(programs or {})}
    done = subprocess.run(
        [*known.get(name, [words[0]]), *words[1:]],
        cwd=home,
        env=surroundings(**environment),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def surroundings(**more: str) -> dict[str, str]:
    """An environment that tells Tompion nothing but what the page does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), **more}


@contextmanager
def serving(home: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """Run ``tompion serve`` in that directory, on a free port; give its address."""
    command = [sys.executable, "-m", "tompion", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, text=True, env=surroundings(**environment)
    ) as process:
        try:
            assert process.stdout is not None
            found = (re.search(r"https?://127\.0\.0\.1:\d+", line) for line in process.stdout)
            address = next(filter(None, found), None)
            assert address is not None, "the service does not start"
            yield address.group()
            process.terminate()
            process.communicate(timeout=SECONDS)
            assert process.returncode == 0
        finally:
            process.kill()


def curl(command: str, address: str) -> Any:
    """What curl would do, as far as the pages use it."""
    words = shlex.split(command)[1:]
    url = next(word for word in words if word.startswith("http"))
    words.remove(url)
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert set(given) <= {"-X", "--json"}, command
    body = given["--json"].encode() if "--json" in given else None
    method = given.get("-X") or ("POST" if body else "GET")
    assert url.startswith(SHOWN_ADDRESS)
    request = Request(url.replace(SHOWN_ADDRESS, address), body, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=SECONDS) as answer:
        return json.load(answer)


def soon(check: Callable[[], bool]) -> bool:
    """Return whether something becomes true within some minutes; a process that makes it so may still be starting."""
    turn = threading.Event()
    return any(check() or turn.wait(0.05) for _ in range(3_600))


def shows(shown: Any, answer: Any) -> bool:
    """Whether what is shown of an answer is in it."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict):
        return isinstance(answer, dict) and all(name in answer and shows(shown[name], answer[name]) for name in shown)
    if isinstance(shown, list):
        return (
            isinstance(answer, list)
            and len(answer) >= len(shown)
            and all(shows(*pair) for pair in zip(shown, answer, strict=False))
        )
    return bool(shown == answer)
