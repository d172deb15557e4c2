"""Runs that somebody asks for one by one, who keeps time elsewhere: of a stored workflow, under a key of their own.

They stand in the ledger like any other, as runs of a schedule that has no ticks.
"""

from __future__ import annotations

from functools import partial

from tompion.model.policy import Overlap, Policy
from tompion.model.run import RunSource
from tompion.model.schedule import Action, Definition
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import answer_once
from tompion.operations.instants import When, epoch_s
from tompion.operations.schedules.control import create_manual_run
from tompion.operations.schedules.crud import insert_definition, replace_definition
from tompion.operations.schedules.definition import ScheduleInput
from tompion.operations.schedules.repository import AuditEntry, open_schedule
from tompion.operations.validation import check_name, check_version

PREFIX = "run-launcher/"
"""How the ids of schedules begin that have no ticks of their own."""


def start_run(  # noqa: PLR0913 - what a run is asked for with
    context: OperationContext,
    workflow_id: str,
    version: int | None = None,
    user_id: str | None = None,
    scheduled_for: When | None = None,
    *,
    idempotency_key: str,
) -> bool:
    """Start a run of a workflow, once for each key; return whether there is such a workflow.

    Without one the run is recorded all the same, and fails with a reason.
    """
    check_name("workflow_id", workflow_id, context.settings)
    check_name("idempotency_key", idempotency_key, context.settings)
    if user_id is not None:
        check_name("user_id", user_id, context.settings)
    nominal_s = context.now_ms // 1000 if scheduled_for is None else epoch_s("scheduled_for", scheduled_for)
    action = Action(workflow_id=workflow_id, workflow_version=check_version(version), user_id=user_id)
    do = partial(_start, context, action, nominal_s, idempotency_key)
    asked = [workflow_id, version, user_id, None if scheduled_for is None else nominal_s]
    return answer_once(context, "start_run", f"launch {idempotency_key}", asked, bool, do)


def _start(context: OperationContext, action: Action, nominal_s: int, key: str) -> bool:
    schedule_id = f"{PREFIX}{action.workflow_id}"
    definition = Definition(SpecDocument(), action, Policy(overlap_policy=Overlap.ALLOW))
    note = AuditEntry("start_run", None)
    if context.transaction.schedule_get(context.namespace, schedule_id) is None:
        insert_definition(context, schedule_id, ScheduleInput(definition), note)
    opened = open_schedule(context, schedule_id, None, closed=True)
    if opened.row.state == "closed" or opened.definition != definition:
        replace_definition(context, opened, ScheduleInput(definition), note)
        opened = open_schedule(context, schedule_id, None)
    create_manual_run(context, opened, RunSource.LAUNCH, Overlap.ALLOW, nominal_s=nominal_s, asked=key)
    assert action.workflow_id is not None
    found = context.transaction.workflow_get(context.namespace, action.workflow_id, action.workflow_version)
    return found is not None
