"""Differences between Tompion and a real Temporal server: the exceptions in docs/reference/temporal.md."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Memo, Payload, SearchAttributes
from temporalio.api.schedule.v1 import (
    CalendarSpec,
    Schedule,
    ScheduleAction,
    ScheduleSpec,
    ScheduleState,
    StructuredCalendarSpec,
)
from temporalio.api.workflowservice.v1 import CreateScheduleRequest, DescribeScheduleRequest, UpdateScheduleRequest
from temporalio.client import Client, RPCError, ScheduleBackfill, ScheduleOverlapPolicy
from temporalio.service import RPCStatusCode

from tests.conformance.temporal.drawing import DrawnSpec
from tests.conformance.temporal.kit import SHORT_GRACE, ImmediateExecutor, running_app
from tests.conformance.temporal.test_side_by_side import both, described_spec, times
from tests.support.temporal_schedules import ACTION
from tompion.executors.base import Completed, RunContext

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def times_on_both_sides(address: str, path: Path, name: str, drawn: DrawnSpec) -> tuple[list[str], list[str]]:
    """Return the times of a schedule in Tompion and on the server, in UTC."""

    async def run() -> tuple[list[str], list[str]]:
        async with both(address, path) as (ours, real):
            here, there = await times(ours, name, drawn), await times(real, name, drawn)
        return format_times(here), format_times(there)

    return asyncio.run(run())


def format_times(moments: list[float]) -> list[str]:
    return [datetime.fromtimestamp(moment, UTC).strftime("%m-%d %H:%M") for moment in moments]


def test_repeated_hour_runs_twice_east_of_greenwich(temporal_address: str, tmp_path: Path) -> None:
    """Temporal documents this for every zone. Its server does so only west of Greenwich."""
    spec = ScheduleSpec(cron_string=["30 2 * * *"], timezone_name="Europe/Rome")
    drawn = DrawnSpec(spec, at("2025-10-25T12:00"), at("2025-10-26T12:00"))
    here, there = times_on_both_sides(temporal_address, tmp_path, "rome", drawn)
    assert here == ["10-26 00:30", "10-26 01:30"]
    assert there == ["10-26 01:30"]


def test_repeated_hour_runs_twice_on_both_sides_west_of_greenwich(temporal_address: str, tmp_path: Path) -> None:
    spec = ScheduleSpec(cron_string=["30 1 * * *"], timezone_name="America/New_York")
    drawn = DrawnSpec(spec, at("2025-11-01T12:00"), at("2025-11-02T12:00"))
    here, there = times_on_both_sides(temporal_address, tmp_path, "new-york", drawn)
    assert here == there == ["11-02 05:30", "11-02 06:30"]


def test_weekdays_1_to_7_are_all_seven_days(temporal_address: str, tmp_path: Path) -> None:
    """The server reads them as Monday to Saturday."""
    drawn = DrawnSpec(ScheduleSpec(cron_string=["0 0 * * 1-7"]), at("2025-06-06T12:00"), at("2025-06-09T12:00"))
    here, there = times_on_both_sides(temporal_address, tmp_path, "week", drawn)
    assert here == ["06-07 00:00", "06-08 00:00", "06-09 00:00"]
    assert there == ["06-07 00:00", "06-09 00:00"]


def test_stale_conflict_token_is_rejected(temporal_address: str, tmp_path: Path) -> None:
    """The server drops the update and reports success."""

    async def outcome(client: Client, name: str) -> Any:
        await times(client, name, DrawnSpec(ScheduleSpec(cron_string=["0 0 * * *"]), 0, 1))
        request = DescribeScheduleRequest(namespace="default", schedule_id=name)
        described = await client.workflow_service.describe_schedule(request)
        update = UpdateScheduleRequest(
            namespace="default",
            schedule_id=name,
            schedule=described.schedule,
            conflict_token=bytes(byte ^ 0x55 for byte in described.conflict_token),
            request_id="u",
        )
        try:
            await client.workflow_service.update_schedule(update)
        except RPCError as error:
            return error.status
        return None

    async def run() -> tuple[Any, Any]:
        async with both(temporal_address, tmp_path) as (ours, real):
            return await outcome(ours, "token"), await outcome(real, "token")

    assert asyncio.run(run()) == (RPCStatusCode.FAILED_PRECONDITION, None)


# --- the same request on both sides -----------------------------------------------------------------------------------

FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
HOURLY = ScheduleSpec(cron_string=["0 * * * *"])
Case = Callable[[Client, str], Awaitable[Any]]


async def create_paused(client: Client, name: str, spec: ScheduleSpec = HOURLY, **more: Any) -> Any:
    """Create a paused schedule."""
    message = Schedule(spec=spec, action=more.pop("action", ACTION), state=ScheduleState(paused=True))
    names = {"namespace": "default", "schedule_id": name, "request_id": more.pop("request_id", name)}
    await client.workflow_service.create_schedule(CreateScheduleRequest(**names, schedule=message, **more))
    return client.get_schedule_handle(name)


async def backfill_future(client: Client, name: str) -> None:
    handle = await create_paused(client, name)
    await handle.backfill(ScheduleBackfill(FUTURE, FUTURE))


async def end_before_start(client: Client, name: str) -> None:
    spec = ScheduleSpec(cron_string=["0 * * * *"])
    spec.start_time.seconds, spec.end_time.seconds = 4_000_000_000, 3_900_000_000
    await create_paused(client, name, spec)


async def custom_zone_data(client: Client, name: str) -> None:
    rome = resources.files("tzdata").joinpath("zoneinfo", "Europe", "Rome").read_bytes()
    await create_paused(client, name, ScheduleSpec(cron_string=["0 * * * *"], timezone_data=rome))


async def spec_without_times(client: Client, name: str) -> str:
    await create_paused(client, name, ScheduleSpec(timezone_name="Europe/Rome"))
    return (await described_spec(client, name)).timezone_name


async def unregistered_attribute(client: Client, name: str) -> None:
    payload = Payload(metadata={"encoding": b"json/plain", "type": b"Keyword"}, data=b'"x"')
    await create_paused(client, name, search_attributes=SearchAttributes(indexed_fields={"Unregistered": payload}))


async def update_time(client: Client, name: str) -> bool:
    handle = await create_paused(client, name)
    await handle.unpause()
    info: Any = (await handle.describe()).raw_description.info
    return bool(info.HasField("update_time"))


async def large_payload(client: Client, name: str) -> None:
    action = ScheduleAction()
    action.CopyFrom(ACTION)
    action.start_workflow.input.payloads.add(data=bytes(300 * 1024))
    await create_paused(client, name, action=action)


async def long_id(client: Client, name: str) -> None:
    await create_paused(client, name + "x" * 200)


async def own_memo_field(client: Client, name: str) -> bool:
    payload = Payload(metadata={"encoding": b"json/plain"}, data=b'"mine"')
    handle = await create_paused(client, name, memo=Memo(fields={"tompion": payload}))
    return bool((await handle.describe()).raw_description.memo.fields["tompion"].data == b'"mine"')


REFUSED = RPCStatusCode.INVALID_ARGUMENT
BOTH: dict[str, tuple[Case, Any, Any]] = {
    "a backfill of the future": (backfill_future, REFUSED, None),
    "an end before the start": (end_before_start, REFUSED, None),
    "`timezone_data`": (custom_zone_data, REFUSED, None),
    "a spec without any times": (spec_without_times, "", "Europe/Rome"),
    "search attributes that are not registered": (unregistered_attribute, None, REFUSED),
    "`update_time`": (update_time, True, False),
    "a payload of more than 256 KiB in all": (large_payload, REFUSED, None),
    "schedule ids": (long_id, REFUSED, None),
    "a memo field `tompion` of one's own": (own_memo_field, False, True),
}
"""The case, its result in Tompion, and its result on the server. A rejection has its status code."""


def schedule_id_of(title: str) -> str:
    return "both " + "".join(filter(str.isalnum, title))


def test_both_sides_respond_as_documented(temporal_address: str, tmp_path: Path) -> None:
    async def outcome(client: Client, title: str) -> Any:
        try:
            return await BOTH[title][0](client, schedule_id_of(title))
        except RPCError as error:
            return error.status

    async def run() -> dict[str, tuple[Any, Any]]:
        async with both(temporal_address, tmp_path) as (ours, real):
            results = {title: (await outcome(ours, title), await outcome(real, title)) for title in BOTH}
            for title, (_, there) in results.items():
                if there is not REFUSED:  # other tests copy every schedule of this server
                    name = schedule_id_of(title) + ("x" * 200 if title == "schedule ids" else "")
                    await real.get_schedule_handle(name).delete()
            return results

    assert asyncio.run(run()) == {title: (here, there) for title, (_, here, there) in BOTH.items()}


def test_idle_deleted_and_fully_excluded_schedules() -> None:
    """A schedule without times stays, its counters continue after a delete, and excluded times are searched at once."""

    async def run() -> Any:
        small = replace(SHORT_GRACE, max_buffer=1)
        async with running_app("sqlite://", {"temporal": ImmediateExecutor()}, settings=small) as (_, client):
            handle = await create_paused(client, "idle", ScheduleSpec())
            for name in ("a", "b"):
                await handle.trigger(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
                await handle.delete()
                await create_paused(client, "idle", ScheduleSpec(), request_id=name)
            await handle.describe()
            spec = ScheduleSpec()
            excluded = StructuredCalendarSpec()
            for field, most in (("second", 59), ("minute", 59), ("hour", 23)):
                getattr(excluded, field).add(start=0, end=most)
            for field, first, last in (("day_of_month", 1, 31), ("month", 1, 12), ("day_of_week", 0, 6)):
                getattr(excluded, field).add(start=first, end=last)
            spec.CopyFrom(HOURLY)
            spec.exclude_structured_calendar.append(excluded)
            return (await handle.describe()).info.num_actions, await times(client, "never", DrawnSpec(spec, 0, 1 << 31))

    count, never = asyncio.run(run())
    assert (count, never) == (2, [])


def test_full_buffer_counts_as_skipped() -> None:
    class HoldingExecutor(ImmediateExecutor):
        """An executor whose runs never end."""

        async def run(self, dag: Any, run_context: RunContext) -> Completed:
            await asyncio.Event().wait()
            return await super().run(dag, run_context)

    async def run() -> Any:
        small = replace(SHORT_GRACE, max_buffer=1)
        async with running_app("sqlite://", {"temporal": HoldingExecutor()}, settings=small) as (_, client):
            handle = await create_paused(client, "full", ScheduleSpec())
            for _ in range(3):
                await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
            return (await handle.describe()).raw_description.info

    info = asyncio.run(run())
    assert (info.buffer_size, info.overlap_skipped, info.buffer_dropped) == (1, 1, 0)


def test_each_documented_exception_has_its_test() -> None:
    root = Path(__file__).parents[3]
    exceptions = (root / "docs" / "reference" / "temporal.md").read_text().partition("## Exceptions")[2]
    listed = [line.strip("|").split(" | ") for line in exceptions.splitlines() if line.startswith("| ")][1:]
    assert len(listed) > 20
    for title, *_, test in listed:
        file, _, name = test.strip(" |`").partition("::")
        candidates = [root / "tests" / folder / file for folder in ("conformance/temporal", "conformance", "")]
        [path] = [candidate for candidate in candidates if candidate.is_file()]
        assert f"def {name}(" in path.read_text(), title
        assert name != test_both_sides_respond_as_documented.__name__ or title.strip() in BOTH, title


SAME_SPECS = {
    "cron": ScheduleSpec(cron_string=["*/15 9-17 * * 1-5 # office", "0 12 1 * * 2030"]),
    "calendars": ScheduleSpec(calendar=[CalendarSpec(hour="3,5-9/2", day_of_month="*/10", month="jan-mar")]),
    "a zone before": ScheduleSpec(cron_string=["CRON_TZ=Europe/Rome 0 9 * * *"]),
    "every": ScheduleSpec(cron_string=["@every 90m/5m", "@daily"]),
    "weekdays to 7": ScheduleSpec(cron_string=["0 0 * * 3-7"]),
}


@pytest.mark.parametrize("name", SAME_SPECS)
def test_spec_is_described_in_the_same_form(temporal_address: str, tmp_path: Path, name: str) -> None:
    async def run() -> tuple[ScheduleSpec, ScheduleSpec]:
        async with both(temporal_address, tmp_path) as (ours, real):
            for client in (ours, real):
                await times(client, f"form {name}", DrawnSpec(SAME_SPECS[name], 0, 1))
            return await described_spec(ours, f"form {name}"), await described_spec(real, f"form {name}")

    here, there = asyncio.run(run())
    for interval in there.interval:
        interval.phase.SetInParent()
    assert here == there
