"""Generates pages and tables from the code. A test compares them with the documentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tests.documentation import stubs
from tests.documentation.defects import INTERLEAVINGS_HEAD, SIMULATION_HEAD, interleaving_rows, simulation_rows
from tests.documentation.diagrams import diagrams, with_diagrams
from tests.documentation.example_responses import example_responses
from tests.documentation.python_methods import MODULE_FILES
from tests.documentation.roles import page as roles
from tompion.api.rest.openapi.document import describe, summary_and_description
from tompion.api.rest.openapi.examples import RECORDED
from tompion.config.schema import OPTIONS
from tompion.config.settings import Settings
from tompion.contract.api_routes import Route
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES, SystemRoute

ROOT = Path(__file__).resolve().parents[2]
ANSWERS_FILE = "src/tompion/api/rest/openapi/answers.json"
SETTINGS_HEAD = "| setting | default | meaning |\n|---|---|---|\n"
LINKS = {
    "Temporal's SDKs": "temporal.md",
    "serves metrics": "metrics.md",
    "one object per event": "../how-to/alerts.md#in-the-log",
    "spans are sent": "../how-to/tracing.md",
    "for a monitor": "../how-to/notifications.md#the-ping",
    "the audit log": "security.md#the-audit",
    "attempt to deliver a notification": "../how-to/notifications.md",
    "any of its values": "schedule.md",
}
"""Phrases in the meanings of settings, and the pages that they link to."""
HEAD = "| route | role | what it does |\n|---|---|---|\n"


def rest(text: str) -> str:
    """Return the REST reference with its tables."""
    text = with_table(text, "## Routes", map(route_row, (route for route in ROUTES if not route.is_compatibility)))
    text = with_table(text, "## System routes", map(system_route_row, SYSTEM_ROUTES))
    return with_table(text, "## Compatibility", map(route_row, (route for route in ROUTES if route.is_compatibility)))


def settings(text: str) -> str:
    """Return the settings reference with its tables."""
    options = [
        f"| `{name}` | {_default(option.default)} | {_linked(option.meaning)} |\n" for name, option in OPTIONS.items()
    ]
    limits = [
        f"| `{setting.name}` | {setting.default} | {_linked(setting.metadata['meaning'])} |\n"
        for setting in fields(Settings)
    ]
    text = with_table(text, "# Settings", options, SETTINGS_HEAD)
    return with_table(text, "## Limits", limits, SETTINGS_HEAD)


def planted_defects(text: str) -> str:
    """Return the page of planted defects with its tables."""
    text = with_table(text, "## In the simulation", simulation_rows(), SIMULATION_HEAD)
    return with_table(text, "## In interleavings on PostgreSQL", interleaving_rows(), INTERLEAVINGS_HEAD)


def _default(value: object) -> str:
    """Return a default as in a configuration file. An empty one is an empty string."""
    if value in ("", ()):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _linked(meaning: str) -> str:
    """Return the meaning of a setting with links."""
    for phrase, page in LINKS.items():
        meaning = meaning.replace(phrase, f"[{phrase}]({page})")
    return meaning


def with_table(text: str, title: str, rows: Iterable[str], head: str = HEAD) -> str:
    """Return a page with new rows in the table below a title."""
    begin = text.index(head, f"\n{text}".index(f"\n{title}\n")) + len(head)
    end = begin
    while text[end : end + 1] == "|":
        end = text.index("\n", end) + 1
    return text[:begin] + "".join(rows) + text[end:]


def route_row(route: Route) -> str:
    path = route.full_path if route.is_compatibility else route.path
    summary = summary_and_description(route.operation)[0].replace("``", "`")
    return f"| `{route.method} {path}` | {route.role.name.lower()} | {summary} |\n"


def system_route_row(route: SystemRoute) -> str:
    role = f"{route.role.name.lower()}{' in `*`' if route.all_namespaces else ''}"
    return f"| `{route.method} {route.full_path}` | {role} | {route.summary} |\n"


def openapi(_text: str) -> str:
    """Return the OpenAPI document with the example responses of the file."""
    RECORDED.update(json.loads((ROOT / ANSWERS_FILE).read_text(encoding="utf-8")))
    return json.dumps(describe(version("tompion")), indent=1, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[str], str]] = {
    ANSWERS_FILE: lambda _text: example_responses(),
    "docs/reference/rest.md": rest,
    "docs/reference/settings.md": settings,
    "docs/reference/openapi.json": openapi,
    "docs/reference/roles.md": lambda _text: roles(),
    "docs/explanation/planted-defects.md": planted_defects,
    "docs/explanation/policies.md": lambda text: with_diagrams(text, diagrams()),
    **{f"{stubs.FOLDER}/{name}.py": partial(stubs.page, name) for name in stubs.OPERATIONS},
    **MODULE_FILES,
}
"""The generated files, in this order, because the OpenAPI document has the example responses."""
