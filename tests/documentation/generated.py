"""Pages that follow from the code: ``python -m tests.documentation`` writes them anew; a test compares them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from foliot.api.rest.examples import ANSWERS
from foliot.api.rest.openapi import describe
from foliot.api.routes import EXTRAS, ROUTES, Extra, Route
from tests.documentation.answers import answers
from tests.documentation.pictures import pictures, with_pictures
from tests.documentation.roles import page as roles

ROOT = Path(__file__).resolve().parents[2]
ANSWERS_FILE = "src/foliot/api/rest/answers.json"
HEAD = "| route | role | what it does |\n|---|---|---|\n"


def rest(text: str) -> str:
    """The reference of REST, with its tables as they must be."""
    text = with_table(text, "## Routes", map(route_row, (route for route in ROUTES if route.prefix)))
    text = with_table(text, "## Beside the operations", map(extra_row, EXTRAS))
    return with_table(text, "## Other names", map(route_row, (route for route in ROUTES if not route.prefix)))


def with_table(text: str, title: str, rows: Iterable[str]) -> str:
    """A page whose table below a title has these rows, and no others."""
    begin = text.index(HEAD, text.index(f"\n{title}\n")) + len(HEAD)
    end = begin
    while text[end : end + 1] == "|":
        end = text.index("\n", end) + 1
    return text[:begin] + "".join(rows) + text[end:]


def route_row(route: Route) -> str:
    first = (inspect.getdoc(route.operation) or "").partition("\n")[0].partition(".  ")[0]
    about = first.rstrip(".").replace("``", "`")
    return f"| `{route.method} {route.path}` | {route.role.name.lower()} | {about} |\n"


def extra_row(extra: Extra) -> str:
    role = f"{extra.role.name.lower()}{' everywhere' if extra.everywhere else ''}"
    return f"| `{extra.method} {extra.address}` | {role} | {extra.summary} |\n"


def openapi(_text: str) -> str:
    """The description of the API for machines, with the answers as they have just been written."""
    ANSWERS.update(json.loads((ROOT / ANSWERS_FILE).read_text(encoding="utf-8")))
    return json.dumps(describe(version("foliot")), indent=1, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[str], str]] = {
    ANSWERS_FILE: lambda _text: answers(),
    "docs/reference/rest.md": rest,
    "docs/reference/openapi.json": openapi,
    "docs/reference/roles.md": lambda _text: roles(),
    "docs/explanation/policies.md": lambda text: with_pictures(text, pictures()),
}
"""What is written anew, in this order: the description of the API holds the answers."""
