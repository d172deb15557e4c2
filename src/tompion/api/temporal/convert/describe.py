"""Descriptions of schedules. The memo has the fields that Temporal lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
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
    STATUSES,
    TEMPORAL_OVERLAPS,
    add_types,
    attributes_message,
    memo_message,
    set_time,
)
from tompion.contract.json import definition_document
from tompion.model.policy import CatchUp
from tompion.model.run import Reason
from tompion.model.schedule import Run, ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.compat.temporal_reads import TemporalView
from tompion.operations.compat.temporal_writes import WORKFLOW_PREFIX
from tompion.operations.schedules.version_rows import listed_action

TOMPION = "tompion"
"""The field of a memo with the fields that Temporal lacks."""
MAX_LISTED_TIMES = 5
MAX_LISTED_SOURCES = 10
DAY_S = 86_400
MIN_WINDOW_S = 10
UNLIMITED_S = 36_525 * DAY_S
EXPRESSED = frozenset(
    {
        "overlap_policy", "catchup_policy", "catchup_window", "pause_on_failure", "buffer_keep", "on_resume", "memo",
        "search_attributes",
    }
)  # fmt: skip
"""Fields of a definition that Temporal has too, or that are constant for its schedules."""


def schedule_message(view: TemporalView, registered: Mapping[str, str]) -> Schedule:
    """Return the schedule for ``DescribeSchedule``."""
    schedule = view.schedule
    message = Schedule(
        spec=spec_message(view.spec, view.starts_at, view.ends_at),
        policies=policies_message(view),
        state=ScheduleState(
            notes=schedule.note or "",
            paused=schedule.status is ScheduleStatus.PAUSED,
            limited_actions=schedule.remaining_actions is not None,
            remaining_actions=schedule.remaining_actions or 0,
        ),
    )
    message.action.start_workflow.CopyFrom(action_message(schedule, view.document))
    add_types(message.action.start_workflow.search_attributes, registered)
    return message


def policies_message(view: TemporalView) -> SchedulePolicies:
    """Return the policies of a schedule that Temporal has."""
    policy = view.schedule.definition.policy
    message = SchedulePolicies(
        overlap_policy=TEMPORAL_OVERLAPS[policy.overlap_policy],
        pause_on_failure=policy.pause_on_failure,
        keep_original_workflow_id=keeps_id(view.document),
    )
    window_s = UNLIMITED_S if policy.catchup_window_s is None else policy.catchup_window_s
    message.catchup_window.FromSeconds(MIN_WINDOW_S if policy.catchup_policy is CatchUp.NONE else window_s)
    return message


def info_message(view: TemporalView) -> ScheduleInfo:
    """Return the past, current and future actions of a schedule."""
    schedule = view.schedule
    info = ScheduleInfo(
        action_count=schedule.counters.starts,
        missed_catchup_window=schedule.counters.missed,
        overlap_skipped=schedule.counters.skipped,
        buffer_size=schedule.waiting,
        running_workflows=[_execution(run) for run in view.running],
        recent_actions=_actions(view.recent),
        invalid_schedule_error=schedule.degraded or "",
    )
    _add_future_times(info, view)
    set_time(info.create_time, schedule.created_at)
    if schedule.updated_at != schedule.created_at:
        set_time(info.update_time, schedule.updated_at)
    return info


def schedule_memo_message(view: TemporalView, *, listed: bool = False) -> Memo:
    """Return the memo of a schedule, with the fields that Temporal lacks. A list has none that may hold secrets."""
    definition = view.schedule.definition
    if listed:
        definition = replace(definition, payload=None, action=listed_action(definition.action))
    document = definition_document(definition)
    if not view.left_out:
        for field in fields(SpecDocument):
            document.pop(field.name, None)
    if (document.get("workflow_id") or "").startswith(WORKFLOW_PREFIX):
        del document["workflow_id"], document["workflow_version"]
    lacking = {name: value for name, value in document.items() if name not in EXPRESSED}
    memo = dict(view.schedule.definition.memo or {})
    return memo_message({**memo, TOMPION: lacking} if lacking else memo)


def search_attributes_message(view: TemporalView) -> SearchAttributes:
    """Return the search attributes of a schedule."""
    return attributes_message(view.schedule.definition.search_attributes)


def list_entry_message(view: TemporalView) -> ScheduleListEntry:
    """Return the entry of a schedule for ``ListSchedules``."""
    schedule = view.schedule
    entry = ScheduleListEntry(
        schedule_id=schedule.schedule_id,
        memo=schedule_memo_message(view, listed=True),
        search_attributes=search_attributes_message(view),
    )
    info = entry.info
    info.spec.CopyFrom(_truncate_spec(spec_message(view.spec, view.starts_at, view.ends_at)))
    info.workflow_type.name = action_message(schedule, view.document).workflow_type.name
    info.notes = schedule.note or ""
    info.paused = schedule.status is ScheduleStatus.PAUSED
    info.recent_actions.extend(_actions(view.recent[-MAX_LISTED_TIMES:]))
    _add_future_times(info, view, MAX_LISTED_TIMES)
    return entry


def _truncate_spec(spec: ScheduleSpec) -> ScheduleSpec:
    for sources in (spec.structured_calendar, spec.exclude_structured_calendar, spec.interval):
        del sources[MAX_LISTED_SOURCES:]
    return spec


def _add_future_times(info: Any, view: TemporalView, limit: int | None = None) -> None:
    for time in view.future[:limit]:
        info.future_action_times.add().FromDatetime(time)


def _actions(runs: Iterable[Run]) -> list[ScheduleActionResult]:
    """Return the results of the runs that were launched."""
    return [_action(run) for run in runs if run.reason not in (Reason.LAUNCH_FAILED, Reason.TARGET_UNREACHABLE)]


def _action(run: Run) -> ScheduleActionResult:
    result = ScheduleActionResult(
        start_workflow_result=_execution(run),
        start_workflow_status=STATUSES.get(run.status, WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING),
    )
    set_time(result.schedule_time, run.fire_at)
    set_time(result.actual_time, run.started_at or run.created_at)
    return result


def _execution(run: Run) -> WorkflowExecution:
    """Return the workflow of a run, or the run itself until its executor has reported the workflow."""
    if run.execution_id is not None and "/" in run.execution_id:
        workflow_id, _, run_id = run.execution_id.rpartition("/")
        return WorkflowExecution(workflow_id=workflow_id, run_id=run_id)
    progress = run.progress if isinstance(run.progress, Mapping) else {}
    if isinstance(progress.get("workflow_id"), str) and isinstance(progress.get("run_id"), str):
        return WorkflowExecution(workflow_id=progress["workflow_id"], run_id=progress["run_id"])
    return WorkflowExecution(workflow_id=run.execution_id or f"{run.schedule_id}/{run.run_id}")
