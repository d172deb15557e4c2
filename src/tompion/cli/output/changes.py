"""Output of the audit log: changes, their authors and the changed fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tompion.cli.output import console
from tompion.cli.output.tables import Column, absolute, now, relative, table
from tompion.cli.output.views import print_next_page

if TYPE_CHECKING:
    from tompion.model.page import Page
    from tompion.model.schedule import Change

MAX_VALUE_CHARS = 60
"""Maximum length of a value in a list of changes. ``-o json`` has all of it."""
STORED_DEFAULTS = {
    "exclude": {"calendars": [], "dates": [], "holidays": [], "named": [], "windows": []},
    "dialect": "tompion",
    "dst_overlap": "auto",
    "jitter_mode": "symmetric",
    "queue": "default",
}
"""Defaults that a stored definition contains."""
MIN_EPOCH_MS = 10**11
"""Larger integers are milliseconds since the epoch."""


def print_changes(page: Page[Change]) -> None:
    """Print changes and their authors."""
    if not page.items:
        console.note("No changes yet.")
        return
    present = now()
    columns = (
        Column("at"),
        Column("", extra=True),
        Column("actor", 8),
        Column("operation"),
        Column("schedule", 10, extra=True),
        Column("version", extra=True),
        Column("change", 12, prose=True, wrap=True),
    )
    table(
        columns,
        [
            (
                absolute(change.at),
                relative(change.at, present),
                change.actor,
                change.operation,
                change.schedule_id or "-",
                str(change.definition_version),
                _change_text(change.before, change.after),
            )
            for change in page.items
        ],
    )
    print_next_page(page.next_page, "--before")


def _change_text(before: Any, after: Any) -> str:
    """Return the fields that differ, with their new values. Defaults of a new schedule are omitted."""
    if not isinstance(after, dict):
        return "" if after is None else _value_text("", after)
    previous = _flatten(before) if isinstance(before, dict) else _default_fields()
    differing = {name: value for name, value in _flatten(after).items() if previous.get(name) != value}
    return ", ".join(f"{name}={_value_text(name, value)}" for name, value in differing.items())


def _flatten(document: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a definition without its groups. Empty fields are omitted."""
    fields: dict[str, Any] = {}
    for name, value in document.items():
        if name in ("spec", "action", "policy") and isinstance(value, dict):
            fields |= _flatten(value)
        elif value not in (None, "", [], {}):
            fields[name] = value
    return fields


def _default_fields() -> dict[str, Any]:
    from tompion.contract.json import encode
    from tompion.model.policy import Policy
    from tompion.model.spec import SpecDocument

    return STORED_DEFAULTS | _flatten({"spec": encode(SpecDocument()), "policy": encode(Policy())})


def _value_text(name: str, value: Any) -> str:
    """Return a value as short text. Milliseconds since the epoch are an instant."""
    if isinstance(value, int) and value > MIN_EPOCH_MS and not name.endswith("_ms"):
        return absolute(datetime.fromtimestamp(value / 1000, UTC))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"
