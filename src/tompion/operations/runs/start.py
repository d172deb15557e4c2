"""Runs of a stored workflow that an external scheduler starts one by one, each under a key of its own.

They are in the ledger as runs of a schedule without ticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tompion.encoding.instant import When
from tompion.model.policy import Overlap, Policy
from tompion.model.run import RunSource
from tompion.model.schedule import Action, Definition
from tompion.model.spec import SpecDocument
from tompion.operations.context import OperationContext
from tompion.operations.idempotency import answer_once
from tompion.operations.instants import epoch_s
from tompion.operations.schedules.control import create_manual_run
from tompion.operations.schedules.crud import insert_definition, replace_definition
from tompion.operations.schedules.repository import AuditEntry, open_schedule
from tompion.operations.schedules.schedule_document import ScheduleInput
from tompion.operations.validation import check_name, check_version

SCHEDULE_PREFIX = "run-launcher/"
"""The prefix of the ids of schedules without ticks."""


@dataclass(frozen=True, slots=True)
class StartedRun:
    """The stored result of a start."""

    run_id: str
    workflow_exists: bool


def start_run(  # noqa: PLR0913 - the parts of the request
    context: OperationContext,
    workflow_id: str,
    version: int | None = None,
    user_id: str | None = None,
    scheduled_for: When | None = None,
    *,
    idempotency_key: str,
) -> bool:
    """Start a run of a workflow, once for each key, and return whether the workflow exists.

    If it does not exist, the run is recorded all the same, and fails with a reason.
    """
    check_name("workflow_id", workflow_id, context.settings)
    check_name("idempotency_key", idempotency_key, context.settings)
    if user_id is not None:
        check_name("user_id", user_id, context.settings)
    nominal_s = context.now_ms // 1000 if scheduled_for is None else epoch_s("scheduled_for", scheduled_for)
    action = Action(workflow_id=workflow_id, workflow_version=check_version(version), user_id=user_id)
    start = partial(_start, context, action, nominal_s, idempotency_key)
    request = [workflow_id, version, user_id, None if scheduled_for is None else nominal_s]
    started = answer_once(context, "start_run", f"launch {idempotency_key}", request, StartedRun, start)
    context.started.append(started.run_id)
    return started.workflow_exists


def _start(context: OperationContext, action: Action, nominal_s: int, key: str) -> StartedRun:
    """Create a run of a workflow, and the schedule that holds such runs if it does not exist."""
    schedule_id = f"{SCHEDULE_PREFIX}{action.workflow_id}"
    definition = Definition(SpecDocument(), action, Policy(overlap_policy=Overlap.ALLOW))
    note = AuditEntry("start_run", None)
    if context.transaction.schedule_get(context.namespace, schedule_id) is None:
        insert_definition(context, schedule_id, ScheduleInput(definition), note)
    loaded = open_schedule(context, schedule_id, None, closed=True)
    if loaded.row.state == "closed" or loaded.definition != definition:
        replace_definition(context, loaded, ScheduleInput(definition), note)
        loaded = open_schedule(context, schedule_id, None)
    run = create_manual_run(context, loaded, RunSource.LAUNCH, Overlap.ALLOW, nominal_s=nominal_s, request_key=key)
    assert action.workflow_id is not None
    workflow = context.transaction.workflow_get(context.namespace, action.workflow_id, action.workflow_version)
    return StartedRun(str(run.id), workflow is not None)
