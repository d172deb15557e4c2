"""Schedules that code declares: created at start-up, and changed when the code has changed since.

The code owns the definition. Operators own the pause, the remaining actions, and any change in between. A label has a
fingerprint of the code that last wrote the schedule. While it is the same, a restart changes nothing: edits of
operators stay, and are reported as drift.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

from tompion.encoding.codec import to_plain
from tompion.model.insight import DeclareResult
from tompion.model.schedule import Definition
from tompion.operations.context import OperationContext
from tompion.operations.schedules.crud import insert_definition, replace_definition
from tompion.operations.schedules.repository import AuditEntry, open_if_exists, schedule_view_of
from tompion.operations.schedules.schedule_document import parse_schedule, without_defaults
from tompion.operations.schedules.target_check import check_target
from tompion.operations.validation import check_name

LABEL = "tompion.code"


def declare(context: OperationContext, /, schedule_id: str, **fields: Any) -> DeclareResult:
    """Create or update a schedule as code declares it, or keep the edits of operators."""
    check_name("schedule_id", schedule_id, context.settings)
    schedule_input = parse_schedule(fields, context.settings)
    definition = schedule_input.definition
    # A changed default of the service is not a change of the code, so the fingerprint ignores the defaults.
    declared = parse_schedule(fields, without_defaults(context.settings)).definition
    labels = tuple(sorted({**dict(definition.labels), LABEL: _fingerprint(_without_label(declared))}.items()))
    schedule_input = schedule_input._replace(definition=replace(definition, labels=labels))
    entry = AuditEntry("declare", None)
    loaded = open_if_exists(context, schedule_id, closed=True)
    action = schedule_input.definition.action
    if loaded is None or loaded.row.state == "closed":
        check_target(context, action)
        schedule = (
            insert_definition(context, schedule_id, schedule_input, entry)
            if loaded is None
            else replace_definition(context, loaded, schedule_input, entry)
        )
        return DeclareResult(schedule, "created")
    current = loaded.definition
    if dict(current.labels).get(LABEL) == dict(labels)[LABEL]:
        return DeclareResult(schedule_view_of(context, loaded), "unchanged", _drift(current, schedule_input.definition))
    check_target(context, action, current.action)
    return DeclareResult(replace_definition(context, loaded, schedule_input, entry), "updated")


def _fingerprint(definition: Definition) -> str:
    """Return a short hash of a declared definition."""
    return sha256(json.dumps(to_plain(definition), sort_keys=True).encode()).hexdigest()[:16]


def _without_label(definition: Definition) -> Definition:
    """Return a definition without the label of its fingerprint, which a document that was read has."""
    return replace(definition, labels=tuple(pair for pair in definition.labels if pair[0] != LABEL))


def _drift(current: Definition, definition: Definition) -> tuple[str, ...]:
    """Return the fields in which a schedule differs from the code."""
    now, then = _flat(to_plain(current)), _flat(to_plain(definition))
    return tuple(sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name)))


def _flat(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a definition by their public names."""
    inner = {name: value for part in ("spec", "policy", "action") for name, value in plain[part].items()}
    return {**inner, **{name: value for name, value in plain.items() if name not in ("spec", "policy", "action")}}
