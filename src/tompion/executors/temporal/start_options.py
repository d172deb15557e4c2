"""The option ``start``: the start request of a workflow, as JSON of Temporal's API.

A schedule that was created over that API keeps its request in this form, with the payloads byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from temporalio.api.workflow.v1 import NewWorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest

from tompion.errors import LaunchRefused

COPIED_FIELDS = (
    "input", "workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout", "retry_policy", "memo",
    "search_attributes", "header", "user_metadata", "versioning_override", "priority",
)  # fmt: skip


def apply_start_options(request: StartWorkflowExecutionRequest, start: Any) -> None:
    """Copy the fields of the option ``start`` into a request."""
    if not isinstance(start, Mapping):
        raise LaunchRefused("the workflow's option start is not an object")
    try:
        info = ParseDict(dict(start), NewWorkflowExecutionInfo())
    except ParseError as error:
        raise LaunchRefused(f"the workflow's option start cannot be read: {error}") from None
    names = {field.name for field, _ in info.ListFields()}
    for name in names.intersection(COPIED_FIELDS):
        getattr(request, name).CopyFrom(getattr(info, name))
