"""Temporal's view of schedules that other interfaces wrote: their actions, and updates that change nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import (
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    ListSchedulesRequest,
    UpdateScheduleRequest,
)
from temporalio.client import Client, ScheduleActionStartWorkflow, ScheduleUpdate, ScheduleUpdateInput

from tests.conformance.temporal.kit import dispatcher_for, sdk_client
from tests.support.executors import CANARY
from tests.support.schedule_documents import CALENDAR, DATES, DOCUMENTS, WORKFLOW, WORKFLOW_ID
from tests.support.service import Direct, runner_of
from tompion import HttpAction, TemporalAction, schedule_document
from tompion.bootstrap.store import open_store
from tompion.operations.runner import OperationRunner

TEMPORAL: TemporalAction = {
    "workflow": "Report",
    "task_queue": "reports",
    "workflow_id": "report",
    "args": ["berlin", 1],
    "memo": {"team": "a"},
    "execution_timeout_ms": 60_000,
}


@pytest.fixture
def runner(store_url: str) -> Iterator[OperationRunner]:
    with closing(open_store(store_url)) as store:
        yield runner_of(store)


@pytest.fixture
def api(runner: OperationRunner) -> Direct:
    return Direct(runner)


def client_of(runner: OperationRunner) -> Client:
    return sdk_client(dispatcher_for(runner))


async def describe(client: Client, schedule_id: str) -> DescribeScheduleResponse:
    request = DescribeScheduleRequest(namespace="default", schedule_id=schedule_id)
    return await client.workflow_service.describe_schedule(request)


def test_an_update_with_a_description_changes_nothing(api: Direct, runner: OperationRunner) -> None:
    """Regression: a schedule without a note got an empty one, with a new token and an audit entry."""
    api.workflows.put(WORKFLOW_ID, WORKFLOW)
    api.calendars.put({"name": CALENDAR, "dates": DATES})
    changed: dict[str, Any] = {}

    async def run() -> None:
        client = client_of(runner)
        for number, (name, document) in enumerate(DOCUMENTS.items()):
            schedule_id = f"s{number}"
            before = schedule_document(api.schedules.put(**{**document, "schedule_id": schedule_id}))
            described = await describe(client, schedule_id)
            request = UpdateScheduleRequest(namespace="default", schedule_id=schedule_id, schedule=described.schedule)
            request.conflict_token = described.conflict_token
            await client.workflow_service.update_schedule(request)
            after = schedule_document(api.schedules.get(schedule_id))
            if after != before or len(api.schedules.history(schedule_id).items) != 1:
                changed[name] = after

    asyncio.run(run())
    assert changed == {}


def test_a_temporal_action_is_the_workflow_that_it_starts(api: Direct, runner: OperationRunner) -> None:
    api.schedules.put("report", cron="0 9 * * *", temporal=TEMPORAL)

    async def run() -> None:
        description = await client_of(runner).get_schedule_handle("report").describe()
        action = description.schedule.action
        assert isinstance(action, ScheduleActionStartWorkflow)
        assert (action.workflow, action.id, action.task_queue) == ("Report", "report", "reports")
        assert action.execution_timeout == timedelta(minutes=1)
        assert [json.loads(payload.data) for payload in action.args] == ["berlin", 1]
        assert action.memo is not None
        assert json.loads(action.memo["team"].data) == "a"

    asyncio.run(run())


def test_an_update_of_another_part_keeps_the_action(api: Direct, runner: OperationRunner) -> None:
    http: HttpAction = {"url": "https://a.example/run", "headers": {"Authorization": CANARY}, "body": {"n": 1}}
    api.schedules.put("report", cron="0 9 * * *", http=http)

    async def change_note(update: ScheduleUpdateInput) -> ScheduleUpdate:
        update.description.schedule.state.note = "changed"
        return ScheduleUpdate(update.description.schedule)

    asyncio.run(client_of(runner).get_schedule_handle("report").update(change_note))
    document = schedule_document(api.schedules.get("report"))
    assert (document["http"], document["note"], document["definition_version"]) == (http, "changed", 1)


def test_other_actions_are_shown_by_the_name_of_their_executor(api: Direct, runner: OperationRunner) -> None:
    api.schedules.put("report", cron="0 9 * * *", celery={"task": "shop.close", "kwargs": {"day": 1}}, queue="fast")
    described = asyncio.run(describe(client_of(runner), "report"))
    workflow = described.schedule.action.start_workflow
    assert (workflow.workflow_type.name, workflow.task_queue.name) == ("celery", "fast")
    assert json.loads(described.memo.fields["tompion"].data) == {
        "celery": {"task": "shop.close", "kwargs": {"day": 1}},
        "queue": "fast",
    }


def test_a_list_has_no_secrets_of_an_action(api: Direct, runner: OperationRunner) -> None:
    """Regression: the memo of an entry had the headers and the payload, which the list of REST leaves out."""
    http: HttpAction = {
        "url": f"https://a.example/run?token={CANARY}",
        "headers": {"Authorization": CANARY},
        "body": CANARY,
    }
    api.schedules.put("report", cron="0 9 * * *", http=http, payload={"password": CANARY})
    request = ListSchedulesRequest(namespace="default", maximum_page_size=10)
    page = asyncio.run(client_of(runner).workflow_service.list_schedules(request))
    assert [entry.schedule_id for entry in page.schedules] == ["report"]
    assert CANARY not in str(page)
    assert json.loads(page.schedules[0].memo.fields["tompion"].data) == {"http": {"url": "https://a.example/run"}}
