"""Pages that follow from the code: ``python -m tests.documentation`` writes them anew; a test compares them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

from tests.documentation.defects import INTERLEAVINGS_HEAD, SIMULATION_HEAD, interleaving_rows, simulation_rows
from tests.documentation.diagrams import pictures, with_pictures
from tests.documentation.example_responses import answers
from tests.documentation.roles import page as roles
from tompion.api.rest.openapi.document import describe, summary_and_description
from tompion.api.rest.openapi.examples import RECORDED
from tompion.config.schema import OPTIONS
from tompion.config.settings import Settings
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, Route, SystemRoute

ROOT = Path(__file__).resolve().parents[2]
ANSWERS_FILE = "src/tompion/api/rest/openapi/answers.json"
SETTINGS_HEAD = "| setting | default | meaning |\n|---|---|---|\n"
SAYING_MORE = {
    "Temporal's SDKs": "temporal.md",
    "serves metrics": "metrics.md",
    "one object per event": "../how-to/alerts.md#in-the-log",
    "spans are sent": "../how-to/tracing.md",
    "for a monitor": "../how-to/notifications.md#the-ping",
    "the audit log": "security.md#the-audit",
    "attempt to deliver a notification": "../how-to/notifications.md",
    "any of its values": "schedule.md",
}
"""Words of settings' meanings, and the page that says more about them."""
HEAD = "| route | role | what it does |\n|---|---|---|\n"


def rest(text: str) -> str:
    """The reference of REST, with its tables as they must be."""
    text = with_table(text, "## Routes", map(route_row, (route for route in ROUTES if route.prefix)))
    text = with_table(text, "## System routes", map(extra_row, SYSTEM_ROUTES))
    return with_table(text, "## Compatibility", map(route_row, (route for route in ROUTES if not route.prefix)))


def settings(text: str) -> str:
    """The reference of settings, with its tables as they must be."""
    options = [f"| `{name}` | {_default(each.default)} | {_linked(each.meaning)} |\n" for name, each in OPTIONS.items()]
    limits = [
        f"| `{each.name}` | {each.default} | {_linked(each.metadata['meaning'])} |\n" for each in fields(Settings)
    ]
    text = with_table(text, "# Settings", options, SETTINGS_HEAD)
    return with_table(text, "## Limits", limits, SETTINGS_HEAD)


def planted_defects(text: str) -> str:
    """Return the page of planted defects with its tables."""
    text = with_table(text, "## In the simulation", simulation_rows(), SIMULATION_HEAD)
    return with_table(text, "## In interleavings on PostgreSQL", interleaving_rows(), INTERLEAVINGS_HEAD)


def _default(value: object) -> str:
    """A default as a file has it; nothing, if it is empty."""
    if value in ("", ()):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _linked(meaning: str) -> str:
    """What a setting means, with the pages that say more."""
    for words, page in SAYING_MORE.items():
        meaning = meaning.replace(words, f"[{words}]({page})")
    return meaning


def with_table(text: str, title: str, rows: Iterable[str], head: str = HEAD) -> str:
    """A page whose table below a title has these rows, and no others."""
    begin = text.index(head, f"\n{text}".index(f"\n{title}\n")) + len(head)
    end = begin
    while text[end : end + 1] == "|":
        end = text.index("\n", end) + 1
    return text[:begin] + "".join(rows) + text[end:]


def route_row(route: Route) -> str:
    about = summary_and_description(route.operation)[0].replace("``", "`")
    return f"| `{route.method} {route.path}` | {route.role.name.lower()} | {about} |\n"


def extra_row(extra: SystemRoute) -> str:
    role = f"{extra.role.name.lower()}{' in `*`' if extra.all_namespaces else ''}"
    return f"| `{extra.method} {extra.full_path}` | {role} | {extra.summary} |\n"


def openapi(_text: str) -> str:
    """The description of the API for machines, with the answers as they have just been written."""
    RECORDED.update(json.loads((ROOT / ANSWERS_FILE).read_text(encoding="utf-8")))
    return json.dumps(describe(version("tompion")), indent=1, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[str], str]] = {
    ANSWERS_FILE: lambda _text: answers(),
    "docs/reference/rest.md": rest,
    "docs/reference/settings.md": settings,
    "docs/reference/openapi.json": openapi,
    "docs/reference/roles.md": lambda _text: roles(),
    "docs/explanation/planted-defects.md": planted_defects,
    "docs/explanation/policies.md": lambda text: with_pictures(text, pictures()),
}
"""What is written anew, in this order: the description of the API holds the answers."""
