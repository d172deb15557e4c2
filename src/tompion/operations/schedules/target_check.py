"""Checks that the target of a schedule exists: a write can be rejected, and a view has warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tompion.errors import InvalidField
from tompion.model.schedule import Action
from tompion.operations.context import OperationContext


def check_target(context: OperationContext, action: Action, current: Action | None = None) -> None:
    """Raise if the target of an action does not exist.

    A target that the schedule has already is not rejected, so that its other fields can be changed.
    """
    try:
        _check(context, action)
    except InvalidField:
        if current is None or replace(current, user_id=action.user_id) != action:
            raise


def target_warnings(context: OperationContext, action: Action) -> tuple[str, ...]:
    """Return why the target of a stored schedule is missing, or may be missing where the run is executed."""
    try:
        return _check(context, action)
    except InvalidField as error:
        return (str(error),)


def check_workflow_target(context: OperationContext, document: Mapping[str, Any]) -> None:
    """Raise if a workflow document names an executor, a command or a secret that does not exist."""
    if context.check_target is None:
        return
    executor, options = document.get("executor", "function"), document.get("options") or {}
    try:
        context.check_target(Action(executor=executor, options=options))
    except InvalidField as error:
        option = error.field.removeprefix(executor).removeprefix(".")
        raise InvalidField(f"document.options.{option}" if option else "document.executor", error.problem) from None


def _check(context: OperationContext, action: Action) -> tuple[str, ...]:
    _check_workflow(context, action)
    return () if context.check_target is None else context.check_target(action)


def _check_workflow(context: OperationContext, action: Action) -> None:
    name, version = action.workflow_id, action.workflow_version
    if name is None or context.accepts_unknown_workflows:
        return
    if context.transaction.workflow_get(context.namespace, name, version) is not None:
        return
    if version is not None and context.transaction.workflow_get(context.namespace, name) is not None:
        raise InvalidField("workflow_version", f"workflow {name!r} has no version {version}")
    raise InvalidField("workflow_id", f"there is no workflow {name!r}; store it first")
