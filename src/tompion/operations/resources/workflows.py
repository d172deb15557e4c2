"""Workflow documents: the executor of a run and its input, and the schedules that a document declares.

A document is an object with optional fields: ``executor`` names the executor (``function`` by default), ``options`` are
its options, ``dag`` is its input, and ``triggers`` is a list of schedules. ``{"function": "package.module:function"}``
is short for a document of the ``function`` executor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tompion.encoding.instant import datetime_ms
from tompion.errors import InvalidField, NotFound, display
from tompion.model.page import Page
from tompion.model.rows import WorkflowRow
from tompion.model.schedule import Workflow
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import idempotent
from tompion.operations.paging import DEFAULT_PAGE, page_limit, page_name
from tompion.operations.schedules.crud import delete, upsert
from tompion.operations.schedules.repository import AuditEntry, audit_other
from tompion.operations.schedules.schedule_document import payload_of
from tompion.operations.schedules.target_check import check_workflow_target
from tompion.operations.validation import check_name, check_version
from tompion.plan.stored_definition import compact

FIELDS = ("executor", "options", "dag", "triggers")
MAX_TRIGGERS = 100


@idempotent(Workflow)
def put_workflow(
    context: OperationContext, workflow_id: str, document: Any, *, request_id: str | None = None
) -> Workflow:
    """Store a workflow document and write the schedules that it declares. The same document changes nothing."""
    fields = read_document(document)
    check_workflow_target(context, fields)
    return write_workflow(context, workflow_id, fields, request_id)


def write_workflow(
    context: OperationContext, workflow_id: str, document: Any, request_id: str | None = None
) -> Workflow:
    """Store a workflow document, as :func:`put_workflow` does, without a check of its target."""
    check_name("workflow_id", workflow_id, context.settings)
    fields = read_document(document)
    text = compact(payload_of(fields, context.settings, "document"))
    context.transaction.name_lock("workflow", context.namespace, workflow_id)
    newest = context.transaction.workflow_get(context.namespace, workflow_id)
    if newest is not None and newest.document == text:
        return _view(context, newest)
    number = 1 if newest is None else newest.version + 1
    row = WorkflowRow(
        namespace=context.namespace,
        workflow_id=workflow_id,
        version=number,
        document=text,
        created_ms=context.now_ms,
    )
    context.transaction.workflow_insert(row)
    if newest is None:
        context.created.add(Workflow)
    before = None if number == 1 else {"version": number - 1}
    audit_other(
        context, AuditEntry("put_workflow", request_id, before, {"workflow_id": workflow_id, "version": number}), number
    )
    _write_schedules(context, workflow_id, fields.get("triggers", ()), _declared_ids(newest))
    return _view(context, row)


def get_workflow(context: OperationContext, workflow_id: str, *, version: int | None = None) -> Workflow:
    """Return a workflow document, the newest version by default."""
    check_name("workflow_id", workflow_id, context.settings)
    row = context.transaction.workflow_get(context.namespace, workflow_id, check_version(version))
    if row is None:
        raise NotFound(f"there is no workflow {workflow_id!r}" + ("" if version is None else f" version {version}"))
    return _view(context, row)


def list_workflows(context: OperationContext, *, limit: int = DEFAULT_PAGE, after: str | None = None) -> Page[Workflow]:
    """Return the newest version of each workflow, by id.

    A list has only the executor of each document, because the rest may hold secrets. Read one workflow for the
    document.
    """
    limit = page_limit(context, limit)
    rows = context.transaction.workflow_list(context.namespace, page_name(after), limit + 1)
    items = tuple(_without_details(_view(context, row)) for row in rows[:limit])
    return Page(items, rows[limit - 1].workflow_id if len(rows) > limit else None)


def _without_details(workflow: Workflow) -> Workflow:
    return replace(workflow, document={"executor": workflow.document.get("executor", "function")})


def read_document(document: Any) -> dict[str, Any]:
    """Return a document in its stored form."""
    if not isinstance(document, Mapping):
        raise InvalidField("document", f"a {type(document).__name__} is not an object")
    fields = dict(document)
    if "function" in fields:
        fields = {"executor": "function", "options": {"function": fields.pop("function")}, **fields}
    unknown = sorted(set(fields) - set(FIELDS), key=str)
    if unknown:
        raise InvalidField(f"document.{unknown[0]}", f"there is no such field; expected {', '.join(FIELDS)}")
    if not isinstance(fields.get("executor", "function"), str):
        raise InvalidField("document.executor", f"{display(fields['executor'])} is not a name")
    if not isinstance(fields.get("options", {}), Mapping):
        raise InvalidField("document.options", f"a {type(fields['options']).__name__} is not an object")
    triggers = fields.get("triggers", [])
    if not isinstance(triggers, list | tuple) or not all(isinstance(trigger, Mapping) for trigger in triggers):
        raise InvalidField("document.triggers", "expected a list of objects, one for each schedule")
    if len(triggers) > MAX_TRIGGERS:
        raise InvalidField("document.triggers", f"{len(triggers)} triggers; at most {MAX_TRIGGERS}")
    return fields


def _write_schedules(context: OperationContext, workflow_id: str, triggers: Any, before: frozenset[str]) -> None:
    """Write the schedules of a document. Schedules that only the version before declared are deleted."""
    declared: set[str] = set()
    for number, trigger in enumerate(triggers):
        fields = dict(trigger)
        schedule_id = str(fields.pop("schedule_id", _default_id(workflow_id, number)))
        if schedule_id in declared:
            raise InvalidField(
                f"document.triggers[{number}].schedule_id",
                f"{schedule_id!r} appears twice; each trigger needs an id of its own",
            )
        if "workflow_id" in fields or "function" in fields:
            raise InvalidField(
                f"document.triggers[{number}]",
                "a trigger always starts the workflow of its document; remove workflow_id and function",
            )
        declared.add(schedule_id)
        upsert(context, schedule_id, workflow_id=workflow_id, **fields)
    for undeclared in sorted(before - declared):
        row = context.transaction.schedule_get(context.namespace, undeclared)
        if row is not None and row.state != "closed" and row.workflow_id == workflow_id:
            delete(context, undeclared)


def _declared_ids(row: WorkflowRow | None) -> frozenset[str]:
    if row is None:
        return frozenset()
    triggers = json.loads(row.document).get("triggers", ())
    ids = (trigger.get("schedule_id", _default_id(row.workflow_id, number)) for number, trigger in enumerate(triggers))
    return frozenset(map(str, ids))


def _default_id(workflow_id: str, number: int) -> str:
    return workflow_id if number == 0 else f"{workflow_id}-{number + 1}"


def _view(context: OperationContext, row: WorkflowRow) -> Workflow:
    paused = (row.namespace, "workflow", row.workflow_id) in context.transaction.target_list_paused()
    return Workflow(
        row.namespace, row.workflow_id, row.version, json.loads(row.document), paused, datetime_ms(row.created_ms)
    )
