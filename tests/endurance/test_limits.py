"""Every named limit: what is as large as it may be is taken, and one more is refused by a text that says how many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot import Foliot, SyncFoliot
from foliot.errors import InvalidInput, LimitExceeded
from foliot.launch.base import Launch
from foliot.model.run import FINAL
from foliot.operations import drafting, preview, stating
from foliot.settings import Settings
from foliot.spec import cron, document, icalendar

SMALL = Settings(
    max_backfill_ticks=50,
    max_backfills=3,
    max_page=20,
    max_schedules_per_calendar=2,
    max_result_bytes=100,
    max_payload_bytes=4_000,
    max_name_chars=40,
)
PAST = datetime(2026, 1, 1, tzinfo=UTC)
FIELDS: dict[str, Any] = {"cron": "0 0 * * *", "function": "tasks:work"}


@pytest.fixture(scope="module")
def foliot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncFoliot]:
    store = f"sqlite:///{tmp_path_factory.mktemp('limits') / 'limits.db'}"
    with SyncFoliot(store, engine=False, settings=SMALL) as opened:
        yield opened


def put(foliot: SyncFoliot, **fields: Any) -> Any:
    return foliot.upsert("limited", **{**FIELDS, **fields})


def payload(size: int) -> dict[str, str]:
    return {"x": "y" * (size - len('{"x":""}'))}


def workflow(foliot: SyncFoliot, size: int) -> Any:
    def read(text: str) -> dict[str, Any]:
        return {"executor": "http", "options": {"url": "http://example.org/", "note": text}}

    around = len('{"executor":"http","options":{"note":"","url":"http://example.org/"}}')
    return foliot.put_workflow("limited", read("y" * (size - around)))


def many(count: int) -> list[str]:
    return [f"{number % 60} {number // 60} 1 1 *" for number in range(count)]


def days(count: int) -> dict[str, Any]:
    first = date(2027, 1, 1)
    return {"dates": [(first + timedelta(days=number)).isoformat() for number in range(count)]}


def labels(count: int) -> dict[str, str]:
    return {f"l{number}": "x" for number in range(count)}


def attributes(count: int) -> dict[str, Any]:
    return {f"a{number}": {"type": "Keyword", "value": "x"} for number in range(count)}


def backfilled(foliot: SyncFoliot, count: int) -> Any:
    foliot.upsert("past", cron="* * * * *", function="tasks:work")
    (made,) = foliot.backfill("past", PAST, PAST + timedelta(minutes=count - 1))
    return foliot.cancel_backfill(made.backfill_id)


def ranges(foliot: SyncFoliot, count: int) -> Any:
    foliot.upsert("ranges", cron="* * * * *", function="tasks:work")
    begun = [PAST + timedelta(days=number) for number in range(count)]
    made = foliot.backfill("ranges", ranges=[(each, each) for each in begun])
    return [foliot.cancel_backfill(each.backfill_id) for each in made]


def users(foliot: SyncFoliot, count: int) -> Any:
    foliot.put_calendar({"name": "shared", "dates": ["2027-01-01"]})
    for number in range(count):
        foliot.upsert(f"user-{number}", **FIELDS, exclude={"named": ["shared"]})
    return foliot.put_calendar({"name": "shared", "dates": ["2027-01-01", f"2027-02-{count:02}"]})


def crowd(foliot: SyncFoliot, count: int) -> None:
    with SyncFoliot("sqlite://", engine=False, settings=Settings(max_schedules_per_namespace=2)) as crowded:
        for number in range(count):
            crowded.upsert(f"one-{number}", **FIELDS)


LIMITS: dict[str, tuple[int, Callable[[SyncFoliot, int], Any]]] = {
    "payload": (SMALL.max_payload_bytes, lambda foliot, size: put(foliot, payload=payload(size))),
    "payload of a trigger": (
        SMALL.max_payload_bytes,
        lambda foliot, size: put(foliot) and foliot.trigger("limited", payload=payload(size)),
    ),
    "memo": (SMALL.max_payload_bytes, lambda foliot, size: put(foliot, memo=payload(size))),
    "workflow": (SMALL.max_payload_bytes, workflow),
    "schedule id": (SMALL.max_name_chars, lambda foliot, size: foliot.upsert("n" * size, **FIELDS)),
    "workflow id": (SMALL.max_name_chars, lambda foliot, size: foliot.put_workflow("w" * size, {"executor": "http"})),
    "queue": (SMALL.max_name_chars, lambda foliot, size: put(foliot, queue="q" * size)),
    "label": (SMALL.max_name_chars, lambda foliot, size: put(foliot, labels={"l" * size: "v" * size})),
    "value of a label": (SMALL.max_name_chars, lambda foliot, size: put(foliot, labels={"l": "v" * size})),
    "labels": (drafting.MAX_LABELS, lambda foliot, size: put(foliot, labels=labels(size))),
    "description": (drafting.MAX_DESCRIPTION_CHARS, lambda foliot, size: put(foliot, description="d" * size)),
    "note": (drafting.MAX_NOTE_CHARS, lambda foliot, size: put(foliot) and foliot.pause("limited", note="n" * size)),
    "search attributes": (stating.MAX_ATTRIBUTES, lambda foliot, size: put(foliot, search_attributes=attributes(size))),
    "cron strings": (document.MAX_SOURCES, lambda foliot, size: put(foliot, cron=many(size))),
    "length of a cron string": (
        cron.MAX_TEXT,
        lambda foliot, size: put(foliot, cron="0 0 " + " " * (size - len("0 0 * * *")) + "* * *"),
    ),
    "excluded dates": (document.MAX_DATES, lambda foliot, size: put(foliot, exclude=days(size))),
    "dates of a calendar": (
        icalendar.MAX_EVENTS,
        lambda foliot, size: foliot.put_calendar({"name": "c", **days(size)}),
    ),
    "schedules of a namespace": (SMALL.max_schedules_per_calendar, crowd),
    "schedules of a calendar": (SMALL.max_schedules_per_calendar, users),
    "ticks of a backfill": (SMALL.max_backfill_ticks, backfilled),
    "backfills": (SMALL.max_backfills, ranges),
    "page": (SMALL.max_page, lambda foliot, size: foliot.list_schedules(limit=size)),
    "page of runs": (SMALL.max_page, lambda foliot, size: put(foliot) and foliot.runs("limited", limit=size)),
    "preview": (preview.MAX_PREVIEW, lambda foliot, size: foliot.preview(cron="0 0 * * *", count=size)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_at_its_limit_is_taken_and_one_more_is_not(foliot: SyncFoliot, name: str) -> None:
    limit, do = LIMITS[name]
    do(foliot, limit)
    with pytest.raises((InvalidInput, LimitExceeded), match=r"\d"):
        do(foliot, limit + 1)


def answer(launch: Launch) -> str:
    """Return a text whose JSON has so many bytes."""
    size: int = launch.payload
    return "r" * (size - 2)


def fail(launch: Launch) -> None:
    """Fail with a text of so many bytes."""
    raise ValueError("e" * launch.payload)


@pytest.mark.parametrize("more", [0, 1, 1_000_000])
def test_results_and_errors_beyond_their_limit_are_cut(tmp_path: Path, more: int) -> None:
    async def ran(function: str, size: int) -> Any:
        async with Foliot(f"sqlite:///{tmp_path / 'cut.db'}", settings=SMALL) as foliot:
            name = f"{__name__}:{function}"
            await foliot.upsert(function, cron="0 0 1 1 *", function=name)
            run = await foliot.trigger(function, payload=size)
            async with asyncio.timeout(30):
                while (found := await foliot.get_run(run.run_id)).state not in FINAL:
                    await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.01)
        return found

    limit = SMALL.max_result_bytes
    result = asyncio.run(ran("answer", limit + more))
    assert result.state == "SUCCESS"
    assert (result.result == "r" * (limit - 2)) == (more == 0)
    assert len(str(result.result).encode()) <= limit
    error = asyncio.run(ran("fail", limit + more))
    assert error.state == "FAILED"
    assert len(error.error.encode()) <= limit + len("…".encode())
