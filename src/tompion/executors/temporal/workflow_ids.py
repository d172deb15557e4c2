"""Under which id a workflow is started: that of the tick, as Temporal's own schedules do.

A trigger may fall into the second of a tick, or of another trigger.  An id is used once, so whoever finds it taken by
another run takes it with a part of the key behind it; every attempt of a run comes to the same of the two.
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
"""The field of a workflow's memo that says which run it is."""
KEY_CHARS = 12
TICK = "schedule"


class WorkflowIds(NamedTuple):
    """The ids that a run's workflow may have: the usual one, and the one if that is taken."""

    usual: str
    spare: str | None = None

    @property
    def each(self) -> tuple[str, ...]:
        """Return all of them, in the order in which they are looked at."""
        return (self.usual,) if self.spare is None else (self.usual, self.spare)


def ids_of(meta: RunContext) -> WorkflowIds:
    """Return the ids of a run's workflow; there is only one, if the workflow's options want it as it is."""
    whole = meta.schedule_id if meta.namespace == "default" else f"{meta.namespace}/{meta.schedule_id}"
    base = meta.options.get("workflow_id", whole)
    if not isinstance(base, str):
        raise LaunchRefused("the workflow's option workflow_id is no text")
    wanted = meta.options.get("id", "suffix")
    if wanted not in ("suffix", "as_is"):
        raise LaunchRefused("the workflow's option id is neither 'suffix' nor 'as_is'")
    if wanted == "as_is":
        return WorkflowIds(base)
    usual = f"{base}-{meta.scheduled_for:%Y-%m-%dT%H:%M:%SZ}"
    return WorkflowIds(usual, f"{usual}-{meta.key[:KEY_CHARS]}")


def reuse_policy(meta: RunContext, *, has_begun: bool) -> WorkflowIdReusePolicy.ValueType:
    """Return how an id may be used again: as it is always, another only by a run that has failed under it."""
    if meta.options.get("id") == "as_is":
        return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
    if has_begun:
        return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
    return WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE


def begun_before(error: RPCError, request_id: str) -> str | None:
    """Return the run id of a workflow that an earlier attempt has begun; nothing, if the id is another one's."""
    for detail in error.grpc_status.details:
        known = WorkflowExecutionAlreadyStartedFailure()
        if detail.Unpack(known) and known.start_request_id == request_id:
            return known.run_id
        if known.start_request_id and known.start_request_id.partition(".")[0] == request_id.partition(".")[0]:
            raise LaunchError("its own execution of the attempt before has not ended yet")
    return None


def may_step_aside(meta: RunContext, about: Any) -> bool:
    """Return whether a run may take its other id, given what the memo of the one that has its usual id says.

    A trigger may always.  A tick only for a trigger or a backfill of the same schedule: if anybody else has
    started that very tick, then it has been started.
    """
    if meta.source != TICK:
        return True
    ours = (meta.namespace, meta.schedule_id)
    return (
        isinstance(about, Mapping)
        and about.get("source") not in (None, TICK)
        and (about.get("namespace"), about.get("schedule_id")) == ours
    )


def is_of(meta: RunContext, about: Any) -> bool:
    """Return whether the memo of a workflow says that it is the run's."""
    return isinstance(about, Mapping) and about.get("idempotency_key") == meta.key
