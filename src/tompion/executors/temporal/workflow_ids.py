"""The id of the workflow that a run starts: schedule and scheduled time, as Temporal's own schedules do.

A trigger may have the same scheduled second as a tick or another trigger, and an id is used once.  A run whose id is in
use by another run appends a part of its key.  Every attempt of a run arrives at the same id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.errordetails.v1 import WorkflowExecutionAlreadyStartedFailure
from temporalio.service import RPCError

from tompion.errors import LaunchError, LaunchRefused
from tompion.executors.base import RunContext

MEMO = "tompion"
"""The field of a workflow's memo that identifies the run."""
KEY_CHARS = 12
TICK = "schedule"


class WorkflowIds(NamedTuple):
    """The ids of a run's workflow: the default one, and the one to use if that is taken."""

    default: str
    fallback: str | None = None

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return all ids in the order in which they are tried."""
        return (self.default,) if self.fallback is None else (self.default, self.fallback)


def workflow_ids(run_context: RunContext) -> WorkflowIds:
    """Return the ids of a run's workflow. With the option ``id: as_is`` there is only one."""
    default_base = (
        run_context.schedule_id
        if run_context.namespace == "default"
        else f"{run_context.namespace}/{run_context.schedule_id}"
    )
    base = run_context.options.get("workflow_id", default_base)
    if not isinstance(base, str):
        raise LaunchRefused("the workflow's option workflow_id is not text")
    id_mode = run_context.options.get("id", "suffix")
    if id_mode not in ("suffix", "as_is"):
        raise LaunchRefused("the workflow's option id is neither 'suffix' nor 'as_is'")
    if id_mode == "as_is":
        return WorkflowIds(base)
    default = f"{base}-{run_context.run_at:%Y-%m-%dT%H:%M:%SZ}"
    return WorkflowIds(default, f"{default}-{run_context.idempotency_key[:KEY_CHARS]}")


def reuse_policy(run_context: RunContext, *, has_begun: bool) -> WorkflowIdReusePolicy.ValueType:
    """Return the reuse policy of an id: ``as_is`` ids may be reused, others only by a run that has failed."""
    if run_context.options.get("id") == "as_is":
        return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
    if has_begun:
        return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
    return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE


def earlier_run_id(error: RPCError, request_id: str) -> str | None:
    """Return the run id of the workflow that an earlier attempt started, or ``None`` if another run has the id."""
    for detail in error.grpc_status.details:
        failure = WorkflowExecutionAlreadyStartedFailure()
        if detail.Unpack(failure) and failure.start_request_id == request_id:
            return failure.run_id
        if failure.start_request_id and failure.start_request_id.partition(".")[0] == request_id.partition(".")[0]:
            raise LaunchError("the execution of the previous attempt has not ended yet")
    return None


def may_use_fallback_id(run_context: RunContext, memo: Any) -> bool:
    """Return whether a run may use its fallback id. ``memo`` is the memo of the workflow with the default id.

    A trigger always may.  A tick may if the default id belongs to a trigger or a backfill of the same schedule.
    Otherwise the same tick was started already.
    """
    if run_context.source != TICK:
        return True
    ours = (run_context.namespace, run_context.schedule_id)
    return (
        isinstance(memo, Mapping)
        and memo.get("source") not in (None, TICK)
        and (memo.get("namespace"), memo.get("schedule_id")) == ours
    )


def memo_matches(run_context: RunContext, memo: Any) -> bool:
    """Return whether the memo of a workflow identifies this run."""
    return isinstance(memo, Mapping) and memo.get("idempotency_key") == run_context.idempotency_key
