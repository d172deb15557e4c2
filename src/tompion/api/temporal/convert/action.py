"""Actions: from the workflow that a Temporal schedule starts to a document of the ``temporal`` executor, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import Error, MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message
from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.schedule.v1 import ScheduleAction
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo

from tompion.api.temporal.convert.values import attributes_of, json_payload, memo_message
from tompion.errors import InvalidField
from tompion.model.schedule import Schedule

EXECUTOR = "temporal"
OWN_OPTIONS = {"workflowId", "workflowType", "taskQueue", "workflowIdReusePolicy"}
"""Fields of the action that are options of the document, or that it does not need."""
ACCEPTED_REUSE_POLICIES = (
    WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_UNSPECIFIED,
    WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
)
MAX_ID_BYTES = 1_000 - len("-2006-01-02T15:04:05Z")


def document_of(action: ScheduleAction, *, keep_id: bool) -> dict[str, Any]:
    """Return the document of the workflow that an action starts. ``keep_id`` gives every run the same workflow id."""
    if not action.HasField("start_workflow"):
        raise InvalidField("action", "start_workflow is missing")
    info = action.start_workflow
    for field, text in (("workflow_type", info.workflow_type.name), ("task_queue", info.task_queue.name)):
        if not text:
            raise InvalidField(f"action.start_workflow.{field}", "not set")
    if len(info.workflow_id.encode()) > MAX_ID_BYTES:
        raise InvalidField("action.start_workflow.workflow_id", f"more than {MAX_ID_BYTES} bytes")
    if info.cron_schedule:
        raise InvalidField("action.start_workflow.cron_schedule", "not supported for a workflow of a schedule")
    if info.workflow_id_reuse_policy not in ACCEPTED_REUSE_POLICIES:
        raise InvalidField(
            "action.start_workflow.workflow_id_reuse_policy", "only the default is supported for a schedule"
        )
    attributes_of(info.search_attributes, {})
    rest = {name: value for name, value in _as_json(info).items() if name not in OWN_OPTIONS}
    options = {
        "workflow": info.workflow_type.name,
        "task_queue": info.task_queue.name,
        "workflow_id": info.workflow_id,
        "start": rest,
        **({"id": "as_is"} if keep_id else {}),
    }
    return {"executor": EXECUTOR, "options": options}


def keeps_id(document: Any) -> bool:
    """Return whether every run of a document has the same workflow id."""
    return isinstance(document, Mapping) and _options(document).get("id") == "as_is"


def is_same_action(one: ScheduleAction, other: ScheduleAction) -> bool:
    """Return whether two actions are equal. Empty messages are ignored, because some SDKs add them."""
    return bool(_without_empty(_as_json(one)) == _without_empty(_as_json(other)))


def _as_json(message: Message) -> dict[str, Any]:
    """Return a message as JSON. Raises if a time or a duration in it is out of range."""
    try:
        fields: dict[str, Any] = MessageToDict(message)
    except (Error, ValueError, OverflowError) as error:
        raise InvalidField("action.start_workflow", f"time or duration out of range: {error}") from None
    return fields


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = {name: _without_empty(member) for name, member in value.items()}
    return {name: member for name, member in members.items() if member != {}}


def action_message(schedule: Schedule, document: Any) -> NewWorkflowExecutionInfo:
    """Return the action of a schedule. A function or a workflow of another executor is represented by its name."""
    action = schedule.definition.action
    options = _options(document) if isinstance(document, Mapping) and document.get("executor") == EXECUTOR else {}
    message = NewWorkflowExecutionInfo()
    if isinstance(options.get("start"), Mapping):
        try:
            ParseDict(dict(options["start"]), message)
        except ParseError:  # a document written by hand, for which the executor reports the error
            message.Clear()
    elif isinstance(options.get("args"), list):
        message.input.payloads.extend(map(json_payload, options["args"]))
    for name in ("execution", "run", "task"):
        if type(timeout_ms := options.get(f"{name}_timeout_ms")) is int:
            getattr(message, f"workflow_{name}_timeout").FromMilliseconds(timeout_ms)
    if isinstance(options.get("memo"), Mapping):
        message.memo.MergeFrom(memo_message(options["memo"]))
    message.workflow_id = str(options.get("workflow_id", schedule.schedule_id))
    name = action.function or action.workflow_id or action.executor or ""
    message.workflow_type.name = str(options.get("workflow", name))
    message.task_queue.name = str(options.get("task_queue", action.queue))
    return message


def _options(document: Mapping[str, Any]) -> Mapping[str, Any]:
    options = document.get("options")
    return options if isinstance(options, Mapping) else {}
