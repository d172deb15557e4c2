"""What is shown of a schedule: its definition, its actions, its future; and in its memo whatever Temporal lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from temporalio.api.common.v1 import Memo, SearchAttributes, WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.schedule.v1 import (
    Schedule,
    ScheduleActionResult,
    ScheduleInfo,
    ScheduleListEntry,
    SchedulePolicies,
    ScheduleSpec,
    ScheduleState,
)

from tompion.api.temporal.convert.action import action_message, keeps_id
from tompion.api.temporal.convert.spec import spec_message
from tompion.api.temporal.convert.values import (
    SHOWN_OVERLAPS,
    STATUSES,
    attributes_message,
    memo_message,
    set_time,
    with_types,
)
from tompion.contract.json import definition_document
from tompion.model.policy import CatchUp
from tompion.model.run import Reason
from tompion.model.schedule import Run
from tompion.model.schedule import ScheduleStatus as State
from tompion.operations.compat.temporal_reads import TemporalView
from tompion.operations.compat.temporal_writes import WORKFLOW_PREFIX

TOMPION = "tompion"
"""The field of a memo that says what Temporal has no field for."""
LISTED = 5
LISTED_SOURCES = 10
DAY_S = 86_400
MIN_WINDOW_S = 10
UNLIMITED_S = 36_525 * DAY_S
SAID = frozenset(
    {
        "overlap_policy", "catchup_policy", "catchup_window", "pause_on_failure", "buffer_keep", "on_resume", "memo",
        "search_attributes",
    }
)  # fmt: skip
"""What of a definition has a field of its own there, or follows from how such schedules are made."""


def schedule_message(known: TemporalView, registered: Mapping[str, str]) -> Schedule:
    """Return a schedule as Describe shows it."""
    schedule = known.schedule
    message = Schedule(
        spec=spec_message(known.spec, known.starts_at, known.ends_at),
        policies=policies_message(known),
        state=ScheduleState(
            notes=schedule.pause_note or "",
            paused=schedule.state is State.PAUSED,
            limited_actions=schedule.remaining_actions is not None,
            remaining_actions=schedule.remaining_actions or 0,
        ),
    )
    message.action.start_workflow.CopyFrom(action_message(schedule, known.document))
    with_types(message.action.start_workflow.search_attributes, registered)
    return message


def policies_message(known: TemporalView) -> SchedulePolicies:
    """Return the policies of a schedule, as far as Temporal has them."""
    policy = known.schedule.definition.policy
    message = SchedulePolicies(
        overlap_policy=SHOWN_OVERLAPS[policy.overlap_policy],
        pause_on_failure=policy.pause_on_failure,
        keep_original_workflow_id=keeps_id(known.document),
    )
    window_s = UNLIMITED_S if policy.catchup_window_s is None else policy.catchup_window_s
    message.catchup_window.FromSeconds(MIN_WINDOW_S if policy.catchup_policy is CatchUp.NONE else window_s)
    return message


def info_message(known: TemporalView) -> ScheduleInfo:
    """Return what a schedule has done, does, and will do."""
    schedule = known.schedule
    info = ScheduleInfo(
        action_count=schedule.counters.starts,
        missed_catchup_window=schedule.counters.missed,
        overlap_skipped=schedule.counters.skipped,
        buffer_size=schedule.waiting,
        running_workflows=[_execution(run) for run in known.running],
        recent_actions=_actions(known.recent),
        invalid_schedule_error=schedule.degraded or "",
    )
    _add_future(info, known)
    set_time(info.create_time, schedule.created_at)
    if schedule.updated_at != schedule.created_at:
        set_time(info.update_time, schedule.updated_at)
    return info


def memo_shown(known: TemporalView) -> Memo:
    """Return the memo of a schedule, with what else there is to know."""
    document = definition_document(known.schedule.definition)
    if not known.left_out:
        del document["spec"]
    if (document.get("workflow_id") or "").startswith(WORKFLOW_PREFIX):
        del document["workflow_id"], document["workflow_version"]
    more = {name: value for name, value in document.items() if name not in SAID}
    memo = dict(known.schedule.definition.memo or {})
    return memo_message({**memo, TOMPION: more} if more else memo)


def attributes_shown(known: TemporalView) -> SearchAttributes:
    """Return the search attributes of a schedule."""
    return attributes_message(known.schedule.definition.search_attributes)


def entry_message(known: TemporalView) -> ScheduleListEntry:
    """Return a schedule as a list shows it."""
    schedule = known.schedule
    entry = ScheduleListEntry(
        schedule_id=schedule.schedule_id, memo=memo_shown(known), search_attributes=attributes_shown(known)
    )
    info = entry.info
    info.spec.CopyFrom(_cut(spec_message(known.spec, known.starts_at, known.ends_at)))
    info.workflow_type.name = action_message(schedule, known.document).workflow_type.name
    info.notes = schedule.pause_note or ""
    info.paused = schedule.state is State.PAUSED
    info.recent_actions.extend(_actions(known.recent[-LISTED:]))
    _add_future(info, known, LISTED)
    return entry


def _cut(spec: ScheduleSpec) -> ScheduleSpec:
    for sources in (spec.structured_calendar, spec.exclude_structured_calendar, spec.interval):
        del sources[LISTED_SOURCES:]
    return spec


def _add_future(info: Any, known: TemporalView, most: int | None = None) -> None:
    for moment in known.future[:most]:
        info.future_action_times.add().FromDatetime(moment)


def _actions(runs: Iterable[Run]) -> list[ScheduleActionResult]:
    """The runs that were really started."""
    return [_action(run) for run in runs if run.reason != Reason.LAUNCH_FAILED]


def _action(run: Run) -> ScheduleActionResult:
    result = ScheduleActionResult(
        start_workflow_result=_execution(run),
        start_workflow_status=STATUSES.get(run.state, WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING),
    )
    set_time(result.schedule_time, run.fire_at)
    set_time(result.actual_time, run.started_at or run.decided_at)
    return result


def _execution(run: Run) -> WorkflowExecution:
    """The workflow of a run, as its executor has told it; before it has, the run itself."""
    if run.execution_id is not None and "/" in run.execution_id:
        workflow_id, _, run_id = run.execution_id.rpartition("/")
        return WorkflowExecution(workflow_id=workflow_id, run_id=run_id)
    told = run.progress
    if isinstance(told, Mapping) and isinstance(told.get("workflow_id"), str) and isinstance(told.get("run_id"), str):
        return WorkflowExecution(workflow_id=told["workflow_id"], run_id=told["run_id"])
    return WorkflowExecution(workflow_id=run.execution_id or f"{run.schedule_id}/{run.run_id}")
