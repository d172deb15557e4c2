"""The option ``start``: everything else that a workflow is started with, as Temporal's own API has it in JSON.

What a schedule was created with over that API is kept so, payloads byte for byte, and handed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest

from tompion.errors import LaunchRefused

HANDED_ON = (
    "input", "workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout", "retry_policy", "memo",
    "search_attributes", "header", "user_metadata", "versioning_override", "priority",
)  # fmt: skip


def hand_on(request: StartWorkflowExecutionRequest, start: Any) -> None:
    """Write into a request what the option says."""
    if not isinstance(start, Mapping):
        raise LaunchRefused("the workflow's option start is no object")
    try:
        info = ParseDict(dict(start), NewWorkflowExecutionInfo())
    except ParseError as error:
        raise LaunchRefused(f"the workflow's option start cannot be read: {error}") from None
    given = {field.name for field, _ in info.ListFields()}
    for name in given.intersection(HANDED_ON):
        getattr(request, name).CopyFrom(getattr(info, name))
