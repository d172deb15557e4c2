"""Where Foliot and a real Temporal server differ: each exception of docs/reference/temporal.md, shown on both."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.schedule.v1 import CalendarSpec, ScheduleSpec
from temporalio.api.workflowservice.v1 import DescribeScheduleRequest, UpdateScheduleRequest
from temporalio.client import Client, RPCError
from temporalio.service import RPCStatusCode

from tests.conformance.temporal.drawing import Drawn
from tests.conformance.temporal.test_side_by_side import both, shown_spec, times

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("temporal")]


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def compared(address: str, path: Path, name: str, drawn: Drawn) -> tuple[list[str], list[str]]:
    """The times of a schedule here and there, in UTC."""

    async def tell() -> tuple[list[str], list[str]]:
        async with both(address, path) as (ours, real):
            here, there = await times(ours, name, drawn), await times(real, name, drawn)
        return written(here), written(there)

    return asyncio.run(tell())


def written(moments: list[float]) -> list[str]:
    return [datetime.fromtimestamp(moment, UTC).strftime("%m-%d %H:%M") for moment in moments]


def test_east_of_greenwich_a_repeated_hour_runs_twice(temporal_address: str, tmp_path: Path) -> None:
    """Documented by Temporal for every zone; its server does so only west of Greenwich."""
    spec = ScheduleSpec(cron_string=["30 2 * * *"], timezone_name="Europe/Rome")
    drawn = Drawn(spec, at("2025-10-25T12:00"), at("2025-10-26T12:00"))
    here, there = compared(temporal_address, tmp_path, "rome", drawn)
    assert here == ["10-26 00:30", "10-26 01:30"]
    assert there == ["10-26 01:30"]


def test_west_of_greenwich_both_run_it_twice(temporal_address: str, tmp_path: Path) -> None:
    spec = ScheduleSpec(cron_string=["30 1 * * *"], timezone_name="America/New_York")
    drawn = Drawn(spec, at("2025-11-01T12:00"), at("2025-11-02T12:00"))
    here, there = compared(temporal_address, tmp_path, "new-york", drawn)
    assert here == there == ["11-02 05:30", "11-02 06:30"]


def test_the_weekdays_1_to_7_are_all_of_them(temporal_address: str, tmp_path: Path) -> None:
    """The server reads them as Monday to Saturday."""
    drawn = Drawn(ScheduleSpec(cron_string=["0 0 * * 1-7"]), at("2025-06-06T12:00"), at("2025-06-09T12:00"))
    here, there = compared(temporal_address, tmp_path, "week", drawn)
    assert here == ["06-07 00:00", "06-08 00:00", "06-09 00:00"]
    assert there == ["06-07 00:00", "06-09 00:00"]


def test_a_stale_conflict_token_is_refused(temporal_address: str, tmp_path: Path) -> None:
    """The server drops the update and reports success."""

    async def outcome(client: Client, name: str) -> Any:
        await times(client, name, Drawn(ScheduleSpec(cron_string=["0 0 * * *"]), 0, 1))
        request = DescribeScheduleRequest(namespace="default", schedule_id=name)
        found = await client.workflow_service.describe_schedule(request)
        update = UpdateScheduleRequest(
            namespace="default",
            schedule_id=name,
            schedule=found.schedule,
            conflict_token=bytes(byte ^ 0x55 for byte in found.conflict_token),
            request_id="u",
        )
        try:
            await client.workflow_service.update_schedule(update)
        except RPCError as error:
            return error.status
        return None

    async def tell() -> tuple[Any, Any]:
        async with both(temporal_address, tmp_path) as (ours, real):
            return await outcome(ours, "token"), await outcome(real, "token")

    assert asyncio.run(tell()) == (RPCStatusCode.FAILED_PRECONDITION, None)


SAME_SPECS = {
    "cron": ScheduleSpec(cron_string=["*/15 9-17 * * 1-5 # office", "0 12 1 * * 2030"]),
    "calendars": ScheduleSpec(calendar=[CalendarSpec(hour="3,5-9/2", day_of_month="*/10", month="jan-mar")]),
    "a zone before": ScheduleSpec(cron_string=["CRON_TZ=Europe/Rome 0 9 * * *"]),
    "every": ScheduleSpec(cron_string=["@every 90m/5m", "@daily"]),
    "weekdays to 7": ScheduleSpec(cron_string=["0 0 * * 3-7"]),
}


@pytest.mark.parametrize("name", SAME_SPECS)
def test_a_spec_is_shown_in_the_same_form(temporal_address: str, tmp_path: Path, name: str) -> None:
    async def tell() -> tuple[ScheduleSpec, ScheduleSpec]:
        async with both(temporal_address, tmp_path) as (ours, real):
            for client in (ours, real):
                await times(client, f"form {name}", Drawn(SAME_SPECS[name], 0, 1))
            return await shown_spec(ours, f"form {name}"), await shown_spec(real, f"form {name}")

    here, there = asyncio.run(tell())
    for interval in there.interval:
        interval.phase.SetInParent()
    assert here == there
