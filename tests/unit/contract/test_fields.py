"""The typed fields: the same names and values as those that the service accepts."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tompion.contract import fields
from tompion.contract.roles import Role
from tompion.model.action_options import EXECUTOR_OPTIONS, HTTP_METHODS
from tompion.model.policy import CATCHUP_ALIASES, OVERLAP_ALIASES, CatchUp, Keep, OnResume, OnWorkerLost, Overlap
from tompion.model.run import RunSource, RunState
from tompion.operations.runs.callbacks import REPORT_EVENTS
from tompion.operations.schedules import schedule_document
from tompion.operations.schedules.crud import STORED_STATUSES
from tompion.plan.backfill import BACKFILL_FILTERS

ACTIONS = {
    "http": fields.HttpAction,
    "celery": fields.CeleryAction,
    "temporal": fields.TemporalAction,
    "nats": fields.NatsAction,
    "redis": fields.RedisAction,
    "rabbitmq": fields.RabbitmqAction,
    "postgres": fields.PostgresAction,
}
VALUES: list[tuple[Any, list[str]]] = [
    (fields.OverlapPolicy, [*Overlap, *OVERLAP_ALIASES]),
    (fields.CatchupPolicy, [*CatchUp, *CATCHUP_ALIASES]),
    (fields.ResumePolicy, [*OnResume]),
    (fields.WorkerLostPolicy, [*OnWorkerLost]),
    (fields.BufferKeep, [*Keep]),
    (fields.RoleName, [role.name.lower() for role in Role if role is not Role.PUBLIC]),
    (fields.StatusOfSchedule, [*STORED_STATUSES]),
    (fields.StatusOfRun, [*RunState]),
    (fields.SourceOfRun, [*RunSource]),
    (fields.BackfillFilter, [*BACKFILL_FILTERS]),
    (fields.ReportEvent, [*REPORT_EVENTS]),
    (fields.HttpMethod, [*HTTP_METHODS]),
]


def test_a_schedule_has_the_fields_that_the_service_accepts() -> None:
    accepted = {*schedule_document.FIELDS, *schedule_document.SHORT_NAMES}
    assert fields.ScheduleFields.__annotations__.keys() == accepted
    assert fields.SpecFields.__annotations__.keys() == {*schedule_document.SPEC_FIELDS, "spec", "cron_expr"}


@pytest.mark.parametrize("executor", EXECUTOR_OPTIONS)
def test_an_action_has_the_options_of_its_executor(executor: str) -> None:
    if executor != "command":  # a name instead of options
        assert set(ACTIONS[executor].__annotations__) == set(EXECUTOR_OPTIONS[executor])


@pytest.mark.parametrize(("kind", "values"), VALUES)
def test_an_enumeration_has_the_values_that_the_service_accepts(kind: Any, values: list[str]) -> None:
    literals = [value for part in get_args(kind) for value in (get_args(part) or (part,)) if isinstance(value, str)]
    assert sorted(literals) == sorted(map(str, values))
