"""Where Tompion and a real Temporal server differ: the exceptions of docs/reference/temporal.md; each has a test."""

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

from tests.conformance.temporal.drawing import Drawn
from tests.conformance.temporal.kit import HASTY, Written, opened
from tests.conformance.temporal.test_side_by_side import both, shown_spec, times
from tests.support.temporal_schedules import ACTION
from tompion.executors.base import Completed, RunContext

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


# --- each side asked the same -----------------------------------------------------------------------------------------

FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
HOURLY = ScheduleSpec(cron_string=["0 * * * *"])
Case = Callable[[Client, str], Awaitable[Any]]


async def made(client: Client, name: str, spec: ScheduleSpec = HOURLY, **more: Any) -> Any:
    """Create a schedule that is paused."""
    message = Schedule(spec=spec, action=more.pop("action", ACTION), state=ScheduleState(paused=True))
    names = {"namespace": "default", "schedule_id": name, "request_id": more.pop("request_id", name)}
    await client.workflow_service.create_schedule(CreateScheduleRequest(**names, schedule=message, **more))
    return client.get_schedule_handle(name)


async def future_backfill(client: Client, name: str) -> None:
    handle = await made(client, name)
    await handle.backfill(ScheduleBackfill(FUTURE, FUTURE))


async def end_first(client: Client, name: str) -> None:
    spec = ScheduleSpec(cron_string=["0 * * * *"])
    spec.start_time.seconds, spec.end_time.seconds = 4_000_000_000, 3_900_000_000
    await made(client, name, spec)


async def own_zone(client: Client, name: str) -> None:
    rome = resources.files("tzdata").joinpath("zoneinfo", "Europe", "Rome").read_bytes()
    await made(client, name, ScheduleSpec(cron_string=["0 * * * *"], timezone_data=rome))


async def timeless(client: Client, name: str) -> str:
    await made(client, name, ScheduleSpec(timezone_name="Europe/Rome"))
    return (await shown_spec(client, name)).timezone_name


async def unregistered(client: Client, name: str) -> None:
    payload = Payload(metadata={"encoding": b"json/plain", "type": b"Keyword"}, data=b'"x"')
    await made(client, name, search_attributes=SearchAttributes(indexed_fields={"Nobody": payload}))


async def updated(client: Client, name: str) -> bool:
    handle = await made(client, name)
    await handle.unpause()
    info: Any = (await handle.describe()).raw_description.info
    return bool(info.HasField("update_time"))


async def large(client: Client, name: str) -> None:
    action = ScheduleAction()
    action.CopyFrom(ACTION)
    action.start_workflow.input.payloads.add(data=bytes(300 * 1024))
    await made(client, name, action=action)


async def long_id(client: Client, name: str) -> None:
    await made(client, name + "x" * 200)


async def own_memo(client: Client, name: str) -> bool:
    payload = Payload(metadata={"encoding": b"json/plain"}, data=b'"mine"')
    handle = await made(client, name, memo=Memo(fields={"tompion": payload}))
    return bool((await handle.describe()).raw_description.memo.fields["tompion"].data == b'"mine"')


REFUSED = RPCStatusCode.INVALID_ARGUMENT
BOTH: dict[str, tuple[Case, Any, Any]] = {
    "a backfill of the future": (future_backfill, REFUSED, None),
    "an end before the start": (end_first, REFUSED, None),
    "`timezone_data`": (own_zone, REFUSED, None),
    "a spec without any times": (timeless, "", "Europe/Rome"),
    "search attributes that nobody registered": (unregistered, None, REFUSED),
    "`update_time`": (updated, True, False),
    "a payload of more than 256 KiB in all": (large, REFUSED, None),
    "schedule ids": (long_id, REFUSED, None),
    "a memo field `tompion` of one's own": (own_memo, False, True),
}
"""What is asked of both, and what each answers: a code, if it refuses."""


def named(title: str) -> str:
    return "each " + "".join(filter(str.isalnum, title))


def test_what_each_side_does(temporal_address: str, tmp_path: Path) -> None:
    async def outcome(client: Client, title: str) -> Any:
        try:
            return await BOTH[title][0](client, named(title))
        except RPCError as error:
            return error.status

    async def tell() -> dict[str, tuple[Any, Any]]:
        async with both(temporal_address, tmp_path) as (ours, real):
            found = {title: (await outcome(ours, title), await outcome(real, title)) for title in BOTH}
            for title, (_, there) in found.items():
                if there is not REFUSED:  # other tests copy what is on this server
                    name = named(title) + ("x" * 200 if title == "schedule ids" else "")
                    await real.get_schedule_handle(name).delete()
            return found

    assert asyncio.run(tell()) == {title: (here, there) for title, (_, here, there) in BOTH.items()}


def test_what_only_tompion_does() -> None:
    """A full buffer is counted as skipped, what has nothing to do stays, and counting goes on after a delete."""

    async def tell() -> Any:
        small = replace(HASTY, max_buffer=1)
        async with opened("sqlite://", {"temporal": Written()}, settings=small) as (_, client):
            handle = await made(client, "idle", ScheduleSpec())
            for name in ("a", "b"):
                await handle.trigger(overlap=ScheduleOverlapPolicy.ALLOW_ALL)
                await handle.delete()
                await made(client, "idle", ScheduleSpec(), request_id=name)
            await handle.describe()
            spec = ScheduleSpec()
            excluded = StructuredCalendarSpec()
            for field, most in (("second", 59), ("minute", 59), ("hour", 23)):
                getattr(excluded, field).add(start=0, end=most)
            for field, first, last in (("day_of_month", 1, 31), ("month", 1, 12), ("day_of_week", 0, 6)):
                getattr(excluded, field).add(start=first, end=last)
            spec.CopyFrom(HOURLY)
            spec.exclude_structured_calendar.append(excluded)
            return (await handle.describe()).info.num_actions, await times(client, "never", Drawn(spec, 0, 1 << 31))

    count, never = asyncio.run(tell())
    assert (count, never) == (2, [])


def test_a_full_buffer_is_counted_as_skipped() -> None:
    class Holding(Written):
        """Never ends what it starts."""

        async def run(self, dag: Any, meta: RunContext) -> Completed:
            await asyncio.Event().wait()
            return await super().run(dag, meta)

    async def tell() -> Any:
        small = replace(HASTY, max_buffer=1)
        async with opened("sqlite://", {"temporal": Holding()}, settings=small) as (_, client):
            handle = await made(client, "full", ScheduleSpec())
            for _ in range(3):
                await handle.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ALL)
            return (await handle.describe()).raw_description.info

    info = asyncio.run(tell())
    assert (info.buffer_size, info.overlap_skipped, info.buffer_dropped) == (1, 1, 0)


def test_each_exception_names_its_test() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "reference" / "temporal.md").read_text().partition("## Exceptions")[2]
    listed = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(listed) > 20
    for title, *_, test in listed:
        file, _, name = test.strip(" |`").partition("::")
        places = [root / "tests" / folder / file for folder in ("conformance/temporal", "conformance", "")]
        [found] = [place for place in places if place.is_file()]
        assert f"def {name}(" in found.read_text(), title
        assert name != test_what_each_side_does.__name__ or title.strip() in BOTH, title


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
