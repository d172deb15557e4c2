"""The version of a schedule that a definition becomes, and the definition as lists and the audit show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tompion.encoding.codec import to_plain
from tompion.model.action_options import listed_options
from tompion.model.rows import CalendarRow, ScheduleRow, VersionRow
from tompion.model.schedule import Action, Definition
from tompion.operations.context import OperationContext
from tompion.plan.stored_definition import action_text, compact, policy_text, spec_text


def listed_action(action: Action) -> Action:
    """Return an action for a list: of the options of an executor, only those that identify the target."""
    if action.executor is None:
        return action
    return replace(action, options=listed_options(action.executor, action.options))


def audit_document(definition: Definition, version: VersionRow) -> dict[str, Any]:
    """Return a definition for the audit.

    A payload may hold secrets, so the audit only has the number of its version. Of the options of an executor, it has
    those that identify the target.
    """
    payload = None if definition.payload is None else f"that of version {version.version}"
    document: dict[str, Any] = to_plain(replace(definition, payload=payload, action=listed_action(definition.action)))
    return document


def with_description(row: ScheduleRow, definition: Definition) -> ScheduleRow:
    """Return the row with the columns that lists filter by."""
    return row._replace(
        workflow_id=definition.action.workflow_id,
        user_id=definition.action.user_id,
        labels=compact(dict(definition.labels)),
        description=definition.description,
    )


def new_version(
    context: OperationContext,
    row: ScheduleRow,
    definition: Definition,
    calendars: Sequence[CalendarRow],
    after_s: int = 0,
) -> VersionRow:
    """Return a definition as a version row, with the versions of the calendars it excludes."""
    about: dict[str, Any] = {"description": definition.description, "labels": dict(definition.labels)}
    optional = {"memo": definition.memo, "search_attributes": definition.search_attributes}
    about |= {name: value for name, value in optional.items() if value is not None}
    return VersionRow(
        schedule_key=row.schedule_key,
        version=row.version,
        spec=spec_text(definition.spec),
        policy=policy_text(definition.policy),
        action=action_text(definition.action),
        payload=None if definition.payload is None else compact(definition.payload),
        about=compact(about),
        calendars=compact({calendar.name: calendar.version for calendar in calendars}),
        after_s=after_s,
        until_s=None,
        author=context.actor,
        created_ms=context.now_ms,
    )


_CONTENT = ("policy", "action", "payload", "about", "calendars")


def is_same_version(one: VersionRow, other: VersionRow) -> bool:
    """Return whether two versions define the same schedule. A missing zone is UTC."""
    same_content = all(getattr(one, name) == getattr(other, name) for name in _CONTENT)
    return same_content and (one.spec == other.spec or _zoned_spec(one) == _zoned_spec(other))


def _zoned_spec(version: VersionRow) -> dict[str, Any]:
    return {"timezone": "UTC", **json.loads(version.spec)}
