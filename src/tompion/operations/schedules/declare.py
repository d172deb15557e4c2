"""Schedules that code declares: made when it starts, and changed when the code has changed since.

The code owns the definition; operators own the pause, the remaining actions and whatever they change in between.  A
label says which code the schedule was last made from: while that is the same, a restart changes nothing, and what an
operator has changed stays, and is told as drift.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tompion.model.codec import to_plain
from tompion.model.schedule import Definition, Schedule
from tompion.operations.context import OperationContext
from tompion.operations.schedules.crud import insert_definition, replace_definition
from tompion.operations.schedules.definition import parse_schedule, without_defaults
from tompion.operations.schedules.repository import AuditEntry, open_if_exists, schedule_view_of
from tompion.operations.validation import check_name

LABEL = "tompion.code"


@dataclass(frozen=True, slots=True)
class DeclareResult:
    """What a declaration did (``created``, ``updated``, ``unchanged``), and what is not as the code says."""

    schedule: Schedule
    outcome: str
    drift: tuple[str, ...] = ()


def declare(context: OperationContext, /, schedule_id: str, **given: Any) -> DeclareResult:
    """Make a schedule as code declares it, or leave it as operators have made it since."""
    check_name("schedule_id", schedule_id, context.settings)
    drafted = parse_schedule(given, context.settings)
    wanted = drafted.definition
    said = parse_schedule(given, without_defaults(context.settings)).definition  # another default is no other code
    labels = tuple(sorted({**dict(wanted.labels), LABEL: _fingerprint(said)}.items()))
    drafted = drafted._replace(definition=replace(wanted, labels=labels))
    note = AuditEntry("declare", None)
    opened = open_if_exists(context, schedule_id, closed=True)
    if opened is None:
        return DeclareResult(insert_definition(context, schedule_id, drafted, note), "created")
    if opened.row.state == "closed":
        return DeclareResult(replace_definition(context, opened, drafted, note), "created")
    current = opened.definition
    if dict(current.labels).get(LABEL) == dict(labels)[LABEL]:
        return DeclareResult(schedule_view_of(context, opened), "unchanged", _drift(current, drafted.definition))
    return DeclareResult(replace_definition(context, opened, drafted, note), "updated")


def _fingerprint(definition: Definition) -> str:
    """What the code says, in short."""
    return sha256(json.dumps(to_plain(definition), sort_keys=True).encode()).hexdigest()[:16]


def _drift(current: Definition, wanted: Definition) -> tuple[str, ...]:
    """The fields in which a schedule is not as the code says."""
    now, then = _flat(to_plain(current)), _flat(to_plain(wanted))
    return tuple(sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name)))


def _flat(plain: dict[str, Any]) -> dict[str, Any]:
    """Fields by the name that people know them by."""
    inner = {name: value for part in ("spec", "policy", "action") for name, value in plain[part].items()}
    return {**inner, **{name: value for name, value in plain.items() if name not in ("spec", "policy", "action")}}
