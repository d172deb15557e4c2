"""Every schedule operation of Temporal's Python SDK, against Tompion."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import (
    Client,
    RPCError,
    Schedule,
    ScheduleAlreadyRunningError,
    ScheduleBackfill,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCStatusCode

from tests.conformance.temporal.kit import action, run_scenario, schedule
from tests.support.app import Home
from tompion.model.run import RunState

TEAM = SearchAttributeKey.for_keyword("Team")
SIZE = SearchAttributeKey.for_int("Size")
FULL = Schedule(
    action=action("echo", "one", {"two": 2}, execution_timeout=timedelta(hours=1), memo={"m": 1}),
    spec=ScheduleSpec(
        calendars=[ScheduleCalendarSpec(hour=[ScheduleRange(9, 17, 2)], comment="office")],
        intervals=[ScheduleIntervalSpec(every=timedelta(days=10), offset=timedelta(days=2))],
        cron_expressions=["0 12 * * MON # lunch"],
        skip=[ScheduleCalendarSpec(year=[ScheduleRange(2050)])],
        start_at=datetime(2060, 7, 8, 9, 10, 11, tzinfo=UTC),
        end_at=datetime(2070, 7, 8, tzinfo=UTC),
        jitter=timedelta(seconds=80),
        time_zone_name="Europe/Rome",
    ),
    policy=SchedulePolicy(
        overlap=ScheduleOverlapPolicy.BUFFER_ONE, catchup_window=timedelta(minutes=5), pause_on_failure=True
    ),
    state=ScheduleState(note="a note", paused=True, limited_actions=True, remaining_actions=30),
)


def status_of(error: pytest.ExceptionInfo[RPCError]) -> RPCStatusCode:
    return error.value.status


def test_description_has_every_field_of_the_creation(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        handle = await client.create_schedule("s", FULL, memo={"why": "tests", "n": [1]})
        return await handle.describe(), await home.get("s")

    description, ours = run_scenario(scenario, store_url)
    spec = description.schedule.spec
    assert [calendar.comment for calendar in spec.calendars] == ["office", "lunch"]
    assert list(spec.calendars[0].hour) == [ScheduleRange(9, 17, 2)]
    assert list(spec.calendars[1].day_of_week) == [ScheduleRange(1, 1, 1)]
    assert (spec.intervals, spec.cron_expressions) == (FULL.spec.intervals, [])
    assert list(spec.skip[0].year) == [ScheduleRange(2050, 2050, 1)]
    assert (spec.start_at, spec.end_at, spec.jitter) == (FULL.spec.start_at, FULL.spec.end_at, FULL.spec.jitter)
    assert spec.time_zone_name == "Europe/Rome"
    assert description.schedule.policy == FULL.policy
    assert description.schedule.state == FULL.state
    started: Any = description.schedule.action
    assert (started.workflow, started.id, started.execution_timeout) == ("echo", "wf-echo", timedelta(hours=1))
    assert asyncio.run(description.memo()) == {"why": "tests", "n": [1]}
    assert description.info.next_action_times[0] > FULL.spec.start_at
    assert len(description.info.next_action_times) == 10
    assert ours.definition.policy.buffer_keep == "first"
    assert (ours.note, ours.remaining_actions) == ("a note", 30)


def test_duplicate_id_is_rejected_until_the_schedule_is_deleted(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> None:
        handle = await client.create_schedule("s", schedule())
        with pytest.raises(ScheduleAlreadyRunningError):
            await client.create_schedule("s", schedule())
        await handle.delete()
        with pytest.raises(RPCError) as gone:
            await handle.describe()
        assert status_of(gone) is RPCStatusCode.NOT_FOUND
        with pytest.raises(RPCError) as gone:
            await handle.delete()
        assert status_of(gone) is RPCStatusCode.NOT_FOUND
        await client.create_schedule("s", schedule())

    run_scenario(scenario, store_url)


def test_pause_and_unpause_set_the_note(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> list[Any]:
        handle = await client.create_schedule("s", schedule(state=ScheduleState(note="new")))
        states = [(await handle.describe()).schedule.state]
        await handle.pause(note="hold")
        states.append((await handle.describe()).schedule.state)
        await handle.unpause(note="resume")
        states.append((await handle.describe()).schedule.state)
        return [(state.paused, state.note) for state in states]

    assert run_scenario(scenario, store_url) == [(False, "new"), (True, "hold"), (False, "resume")]


def test_trigger_immediately_runs_the_schedule_on_creation(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        handle = await client.create_schedule("s", schedule(), trigger_immediately=True)
        first = await handle.describe()
        await home.wait_for_events("ended", "s")
        await handle.trigger()
        await home.wait_for_events("ended", "s", 2)
        return first.info.num_actions, await handle.describe()

    at_once, later = run_scenario(scenario, store_url)
    assert at_once == 1
    assert later.info.num_actions == 2
    assert len(later.info.recent_actions) == 2


def test_backfill_includes_both_ends(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        hourly = schedule(ScheduleSpec(cron_expressions=["0 * * * *"]), state=ScheduleState(paused=True))
        handle = await client.create_schedule("s", hourly)
        day = datetime(2026, 1, 5, tzinfo=UTC)
        await handle.backfill(
            ScheduleBackfill(day, day + timedelta(hours=2), overlap=ScheduleOverlapPolicy.ALLOW_ALL),
            ScheduleBackfill(day + timedelta(milliseconds=1), day + timedelta(milliseconds=2)),
        )
        await home.wait_for_events("ended", "s", 3)
        return [run.run_at.hour for run in (await home.runs.list("s")).items]

    assert run_scenario(scenario, store_url) == [2, 1, 0]


def test_backfill_accepts_a_clock_that_is_slightly_ahead(store_url: str) -> None:
    """A client whose clock is half a minute ahead may backfill up to its now."""

    async def scenario(home: Home, client: Client) -> Any:
        hourly = schedule(ScheduleSpec(cron_expressions=["0 * * * *"]), state=ScheduleState(paused=True))
        handle = await client.create_schedule("s", hourly)
        now = datetime.now(UTC)
        await handle.backfill(ScheduleBackfill(now - timedelta(hours=2), now + timedelta(seconds=30)))
        with pytest.raises(RPCError, match="is in the future") as future:
            await handle.backfill(ScheduleBackfill(now, now + timedelta(hours=1)))
        await home.wait_for_events("ended", "s")
        return status_of(future), [run.run_at for run in (await home.runs.list("s")).items]

    status, times = run_scenario(scenario, store_url)
    assert status is RPCStatusCode.INVALID_ARGUMENT
    assert all(moment <= datetime.now(UTC) for moment in times)


def test_update_replaces_the_spec_and_keeps_the_memo(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        handle = await client.create_schedule("s", FULL, memo={"kept": True})

        async def change(current: ScheduleUpdateInput) -> ScheduleUpdate:
            current.description.schedule.spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=1))])
            current.description.schedule.policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
            return ScheduleUpdate(current.description.schedule)

        await handle.update(change)
        return await handle.describe(), await home.get("s"), await home.workflows.get("temporal/s")

    description, ours, document = run_scenario(scenario, store_url)
    assert description.schedule.spec.calendars == []
    assert description.schedule.policy.overlap is ScheduleOverlapPolicy.ALLOW_ALL
    assert description.schedule.policy.catchup_window == timedelta(days=365)
    assert asyncio.run(description.memo()) == {"kept": True}
    assert (ours.definition_version, document.version) == (2, 1)  # the action has not changed


def test_unchanged_update_keeps_fields_that_temporal_lacks(store_url: str) -> None:
    """An update that sends back the description keeps the fields that Temporal does not have."""

    async def scenario(home: Home, client: Client) -> Any:
        await home.create("ours", cron="0 9 L * *", timezone="Europe/Berlin", function="tasks:a", labels={"team": "a"},
                          max_attempts=3, catchup_policy="coalesce", exclude={"dates": ["2027-12-31"]})  # fmt: skip
        before = await home.get("ours")
        handle = client.get_schedule_handle("ours")
        await handle.update(lambda current: ScheduleUpdate(current.description.schedule))
        memo = await (await handle.describe()).memo()
        return before.definition, (await home.get("ours")).definition, memo["tompion"]

    before, after, memo = run_scenario(scenario, store_url)
    assert after == before
    assert (memo["labels"], memo["max_attempts"], memo["cron"]) == ({"team": "a"}, 3, ["0 9 L * *"])


def with_attributes(attributes: TypedSearchAttributes | None, current: ScheduleUpdateInput) -> ScheduleUpdate:
    return ScheduleUpdate(current.description.schedule, search_attributes=attributes)


def test_typed_search_attributes_are_kept_replaced_and_removed(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        pairs = TypedSearchAttributes([SearchAttributePair(TEAM, "billing"), SearchAttributePair(SIZE, 3)])
        handle = await client.create_schedule("s", schedule(), search_attributes=pairs)
        values = [(await handle.describe()).typed_search_attributes]
        for attributes in (
            None,
            TypedSearchAttributes([SearchAttributePair(TEAM, "sales")]),
            TypedSearchAttributes([]),
        ):
            await handle.update(partial(with_attributes, attributes))
            values.append((await handle.describe()).typed_search_attributes)
        return [(attributes.get(TEAM), attributes.get(SIZE)) for attributes in values]

    assert run_scenario(scenario, store_url) == [("billing", 3), ("billing", 3), ("sales", None), (None, None)]


def test_list_pages_and_filters_schedules(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        for number in range(5):
            pairs = TypedSearchAttributes([SearchAttributePair(SIZE, number)])
            state = ScheduleState(paused=number % 2 == 1)
            await client.create_schedule(f"s-{number}", schedule(state=state), search_attributes=pairs)

        async def list_ids(query: str | None = None, size: int = 2) -> list[str]:
            return [schedule.id async for schedule in await client.list_schedules(query, page_size=size)]

        queries = [
            "TemporalSchedulePaused = true",
            "`Size` >= 3 OR ScheduleId = 's-0'",
            "Size IS NULL",
            "ScheduleId STARTS_WITH 's-' AND NOT Size BETWEEN 1 AND 3",
            "ScheduleId NOT IN ('s-1', \"s-2\")",
        ]
        with pytest.raises(RPCError) as error:
            await list_ids("WorkflowType = 'x'")
        assert status_of(error) is RPCStatusCode.INVALID_ARGUMENT
        return await list_ids(), [await list_ids(query) for query in queries]

    everything, matches = run_scenario(scenario, store_url)
    assert everything == [f"s-{number}" for number in range(5)]
    assert matches == [["s-1", "s-3"], ["s-0", "s-3", "s-4"], [], ["s-0", "s-4"], ["s-0", "s-3", "s-4"]]


def test_search_attributes_are_registered_and_listed(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        add = AddSearchAttributesRequest(namespace="default")
        add.search_attributes["Team"] = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        await client.operator_service.add_search_attributes(add)
        await client.operator_service.add_search_attributes(add)
        add.search_attributes["Team"] = IndexedValueType.INDEXED_VALUE_TYPE_INT
        with pytest.raises(RPCError) as taken:
            await client.operator_service.add_search_attributes(add)
        request = ListSearchAttributesRequest(namespace="default")
        return status_of(taken), dict((await client.operator_service.list_search_attributes(request)).custom_attributes)

    assert run_scenario(scenario, store_url) == (
        RPCStatusCode.ALREADY_EXISTS,
        {"Team": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD},
    )


def test_schedules_are_shared_between_the_temporal_api_and_tompion(store_url: str) -> None:
    async def scenario(home: Home, client: Client) -> Any:
        await client.create_schedule("theirs", schedule(None, "hello"))
        await home.workflows.put("flow", {"executor": "temporal", "options": {"workflow": "Go", "task_queue": "q"}})
        await home.create("ours", cron="@daily", workflow_id="flow", description="from the other side")
        run = await home.trigger_and_wait("theirs")
        listed: Any = [entry async for entry in await client.list_schedules()]
        described = await client.get_schedule_handle("ours").describe()
        await client.get_schedule_handle("ours").pause(note="over there")
        return run, [(entry.id, entry.schedule.action.workflow) for entry in listed], described, await home.get("ours")

    run, listed, described, ours = run_scenario(scenario, store_url)
    assert run.status is RunState.SUCCESS
    assert listed == [("ours", "Go"), ("theirs", "echo")]
    assert (described.schedule.action.workflow, described.schedule.action.task_queue) == ("Go", "q")
    assert (ours.status, ours.note, ours.definition.description) == ("paused", "over there", "from the other side")
