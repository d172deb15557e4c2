"""Helpers to build and read the messages of Temporal's API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from temporalio.api.common.v1 import Payload, SearchAttributes
from temporalio.api.enums.v1 import EventType, HistoryEventFilterType
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.common import SearchAttributeKey
from temporalio.converter import encode_typed_search_attribute_value

from tompion.errors import LaunchRefused
from tompion.executors.base import RunContext

CLOSE_EVENTS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "workflow_execution_completed_event_attributes",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "workflow_execution_failed_event_attributes",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "workflow_execution_timed_out_event_attributes",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "workflow_execution_canceled_event_attributes",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "workflow_execution_terminated_event_attributes",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: "workflow_execution_continued_as_new_event_attributes",
}
ATTRIBUTE_TYPES: dict[str, Callable[[str], SearchAttributeKey[Any]]] = {
    "Text": SearchAttributeKey.for_text,
    "Keyword": SearchAttributeKey.for_keyword,
    "Int": SearchAttributeKey.for_int,
    "Double": SearchAttributeKey.for_float,
    "Bool": SearchAttributeKey.for_bool,
    "Datetime": SearchAttributeKey.for_datetime,
    "KeywordList": SearchAttributeKey.for_keyword_list,
}
INFERRED_TYPES = {str: "Keyword", bool: "Bool", int: "Int", float: "Double", list: "KeywordList"}
SCHEDULED_AT, SCHEDULED_BY = "TemporalScheduledStartTime", "TemporalScheduledById"
MAX_CAUSES = 10


def history_request(namespace: str, workflow_id: str, run_id: str, *, wait: bool) -> GetWorkflowExecutionHistoryRequest:
    """Return the request for the close event of an execution. With ``wait`` the server responds when it has ended."""
    request = GetWorkflowExecutionHistoryRequest(
        namespace=namespace,
        wait_new_event=wait,
        history_event_filter_type=HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
    )
    request.execution.workflow_id = workflow_id
    request.execution.run_id = run_id
    return request


def close_event(response: GetWorkflowExecutionHistoryResponse) -> tuple[int, Any] | None:
    """Return the type and the attributes of the event that closes an execution, if there is one."""
    for event in response.history.events:
        name = CLOSE_EVENTS.get(event.event_type)
        if name is not None:
            return event.event_type, getattr(event, name)
    return None


def failure_text(failure: Failure) -> str:
    """Return a failure and its causes on one line."""
    messages: list[str] = []
    while len(messages) < MAX_CAUSES:
        kind = failure.application_failure_info.type if failure.HasField("application_failure_info") else ""
        messages.append(f"{kind}: {failure.message}" if kind else failure.message)
        if not failure.HasField("cause"):
            break
        failure = failure.cause
    return ", caused by ".join(messages)


def add_search_attributes(into: SearchAttributes, run_context: RunContext, custom: Mapping[str, Any]) -> None:
    """Add the schedule id, the scheduled time and the attributes of the workflow's options."""
    attributes = {
        SCHEDULED_AT: {"type": "Datetime", "value": run_context.run_at.isoformat()},
        SCHEDULED_BY: {"type": "Keyword", "value": run_context.schedule_id},
        **custom,
    }
    for name, value in attributes.items():
        into.indexed_fields[name].CopyFrom(_encode_attribute(name, value))


def _encode_attribute(name: str, value: Any) -> Payload:
    kind = value.get("type") if isinstance(value, Mapping) else INFERRED_TYPES.get(type(value))
    plain: Any = value.get("value") if isinstance(value, Mapping) else value
    if not isinstance(kind, str) or kind not in ATTRIBUTE_TYPES:
        expected = ", ".join(ATTRIBUTE_TYPES)
        raise LaunchRefused(f"the search attribute {name!r} has an unknown type; expected one of {expected}")
    try:
        typed = datetime.fromisoformat(plain) if kind == "Datetime" else plain
        return encode_typed_search_attribute_value(ATTRIBUTE_TYPES[kind](name), typed)
    except (TypeError, ValueError):
        raise LaunchRefused(f"the search attribute {name!r} is not of the type {kind}") from None
