"""Every named limit: a value at the limit is accepted, and one more is rejected with the limit in the message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tompion import AsyncTompion, Tompion
from tompion.config.settings import Settings
from tompion.errors import InvalidInput, LimitExceeded
from tompion.executors.base import RunContext
from tompion.model.run import FINAL
from tompion.operations import validation
from tompion.operations.insight import preview
from tompion.operations.schedules import schedule_document
from tompion.operations.schedules.attributes import MAX_ATTRIBUTES
from tompion.spec import document, icalendar
from tompion.spec.calendar import cron

TESTS = Path(__file__).parents[1]
SMALL = Settings(
    max_backfill_ticks=50,
    max_backfills=3,
    max_page=20,
    max_schedules_per_calendar=2,
    max_schedules_per_namespace=30,
    max_result_bytes=100,
    max_payload_bytes=4_000,
    max_name_chars=40,
)
PAST = datetime(2026, 1, 1, tzinfo=UTC)
FIELDS: dict[str, Any] = {"cron": "0 0 * * *", "function": "tasks:work"}


@pytest.fixture(scope="module")
def tompion(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tompion]:
    store = f"sqlite:///{tmp_path_factory.mktemp('limits') / 'limits.db'}"
    with Tompion(store, engine=False, settings=SMALL) as opened:
        yield opened


def put(tompion: Tompion, **fields: Any) -> Any:
    return tompion.put("limited", **{**FIELDS, **fields})


def payload(size: int) -> dict[str, str]:
    return {"x": "y" * (size - len('{"x":""}'))}


def workflow(tompion: Tompion, size: int) -> Any:
    def read(text: str) -> dict[str, Any]:
        return {"executor": "http", "options": {"url": "http://example.org/", "note": text}}

    around = len('{"executor":"http","options":{"note":"","url":"http://example.org/"}}')
    return tompion.workflows.put("limited", read("y" * (size - around)))


def many(count: int) -> list[str]:
    return [f"{number % 60} {number // 60} 1 1 *" for number in range(count)]


def days(count: int) -> dict[str, Any]:
    first = date(2027, 1, 1)
    return {"dates": [(first + timedelta(days=number)).isoformat() for number in range(count)]}


def labels(count: int) -> dict[str, str]:
    return {f"l{number}": "x" for number in range(count)}


def attributes(count: int) -> dict[str, Any]:
    return {f"a{number}": {"type": "Keyword", "value": "x"} for number in range(count)}


def backfill_ticks(tompion: Tompion, count: int) -> Any:
    tompion.put("past", cron="* * * * *", function="tasks:work")
    (backfill,) = tompion.backfill("past", PAST, PAST + timedelta(minutes=count - 1))
    return tompion.schedules.cancel_backfill(backfill.backfill_id)


def ranges(tompion: Tompion, count: int) -> Any:
    tompion.put("ranges", cron="* * * * *", function="tasks:work")
    begun = [PAST + timedelta(days=number) for number in range(count)]
    backfills = tompion.backfill("ranges", ranges=[(start, start) for start in begun])
    return [tompion.schedules.cancel_backfill(backfill.backfill_id) for backfill in backfills]


def users(tompion: Tompion, count: int) -> Any:
    tompion.calendars.put({"name": "shared", "dates": ["2027-01-01"]})
    for number in range(count):
        tompion.put(f"user-{number}", **FIELDS, exclude={"named": ["shared"]})
    return tompion.calendars.put({"name": "shared", "dates": ["2027-01-01", f"2027-02-{count:02}"]})


def crowd(tompion: Tompion, count: int) -> None:
    with Tompion("sqlite://", engine=False, settings=SMALL) as crowded:
        for number in range(count):
            crowded.put(f"one-{number}", **FIELDS)


LIMITS: dict[str, tuple[int | str, Callable[[Tompion, int], Any]]] = {
    "payload": ("max_payload_bytes", lambda tompion, size: put(tompion, payload=payload(size))),
    "payload of a trigger": (
        "max_payload_bytes",
        lambda tompion, size: put(tompion) and tompion.trigger("limited", payload=payload(size)),
    ),
    "memo": ("max_payload_bytes", lambda tompion, size: put(tompion, memo=payload(size))),
    "workflow": ("max_payload_bytes", workflow),
    "schedule id": ("max_name_chars", lambda tompion, size: tompion.put("n" * size, **FIELDS)),
    "workflow id": ("max_name_chars", lambda tompion, size: tompion.workflows.put("w" * size, {"executor": "http"})),
    "queue": ("max_name_chars", lambda tompion, size: put(tompion, queue="q" * size)),
    "time limit of a run": ("max_execution_ms", lambda tompion, limit: put(tompion, max_execution_ms=limit)),
    "label": ("max_name_chars", lambda tompion, size: put(tompion, labels={"l" * size: "v" * size})),
    "value of a label": ("max_name_chars", lambda tompion, size: put(tompion, labels={"l": "v" * size})),
    "labels": (schedule_document.MAX_LABELS, lambda tompion, size: put(tompion, labels=labels(size))),
    "description": (
        schedule_document.MAX_DESCRIPTION_CHARS,
        lambda tompion, size: put(tompion, description="d" * size),
    ),
    "note": (
        validation.MAX_NOTE_CHARS,
        lambda tompion, size: put(tompion) and tompion.pause("limited", note="n" * size),
    ),
    "search attributes": (
        MAX_ATTRIBUTES,
        lambda tompion, size: put(tompion, search_attributes=attributes(size)),
    ),
    "cron strings": (document.MAX_SOURCES, lambda tompion, size: put(tompion, cron=many(size))),
    "length of a cron string": (
        cron.MAX_TEXT_CHARS,
        lambda tompion, size: put(tompion, cron="0 0 " + " " * (size - len("0 0 * * *")) + "* * *"),
    ),
    "excluded dates": (document.MAX_DATES, lambda tompion, size: put(tompion, exclude=days(size))),
    "dates of a calendar": (
        icalendar.MAX_EVENTS,
        lambda tompion, size: tompion.calendars.put({"name": "c", **days(size)}),
    ),
    "schedules of a namespace": ("max_schedules_per_namespace", crowd),
    "schedules of a calendar": ("max_schedules_per_calendar", users),
    "ticks of a backfill": ("max_backfill_ticks", backfill_ticks),
    "backfills": ("max_backfills", ranges),
    "page": ("max_page", lambda tompion, size: tompion.schedules.list(limit=size)),
    "page of runs": ("max_page", lambda tompion, size: put(tompion) and tompion.runs.list("limited", limit=size)),
    "preview": (preview.MAX_PREVIEW, lambda tompion, size: tompion.preview(cron="0 0 * * *", count=size)),
}
"""The limit or its setting, and a function that uses it up."""
ELSEWHERE = {
    "max_active_launches": "unit/engine/test_fire_ahead.py::test_fires_ahead_obey_the_concurrency_limit",
    "max_buffer": "unit/plan/test_decide.py::test_ticks_beyond_the_buffer_are_skipped",
    "max_catchup_per_tick": "conformance/operations/test_catch_up.py::test_one_pass_is_limited_per_schedule",
    "max_clock_skew_ms": "unit/engine/test_slow_store.py::test_clock_skew_up_to_the_limit_is_accepted",
    "max_launch_backoff_ms": "unit/engine/test_unreachable_targets.py::test_delay_between_calls_of_a_target_is_limited",
    "max_metric_namespaces": "endurance/test_namespaces.py::test_tenant_cost_depends_on_its_own_rows_on_sqlite",
    "max_pickups": "conformance/engine/test_transactional.py::test_run_of_a_silent_target_fails_after_max_pickups",
    "max_result_bytes": "endurance/test_limits.py::test_results_and_errors_beyond_the_limit_are_truncated",
    "max_dropped_range_ticks": "unit/plan/test_due_ticks.py::test_missed_ticks_are_walked_in_chunks",
    "max_threads": "unit/executors/test_function.py::test_run_without_a_free_thread_waits",
}
"""Limits that refuse nothing, but bound what an engine does at a time: where that is seen."""


def test_every_limit_has_a_test() -> None:
    named = {field.name for field in fields(Settings) if field.name.startswith("max_")}
    here = {limit for limit, _ in LIMITS.values() if isinstance(limit, str)}
    assert sorted([*here, *ELSEWHERE]) == sorted(named)
    for place in ELSEWHERE.values():
        path, _, name = place.partition("::")
        assert f"\ndef {name}(" in (TESTS / path).read_text(), place


@pytest.mark.parametrize("name", LIMITS)
def test_value_at_the_limit_is_accepted_and_one_more_is_rejected(tompion: Tompion, name: str) -> None:
    chosen, do = LIMITS[name]
    limit: int = getattr(SMALL, chosen) if isinstance(chosen, str) else chosen
    do(tompion, limit)
    with pytest.raises((InvalidInput, LimitExceeded), match=r"\d"):
        do(tompion, limit + 1)


def answer(launch: RunContext) -> str:
    """Return a text whose JSON has ``size`` bytes."""
    size: int = launch.payload
    return "r" * (size - 2)


def fail(launch: RunContext) -> None:
    """Fail with a text of ``size`` bytes."""
    raise ValueError("e" * launch.payload)


@pytest.mark.parametrize("more", [0, 1, 1_000_000])
def test_results_and_errors_beyond_the_limit_are_truncated(tmp_path: Path, more: int) -> None:
    async def run_function(function: str, size: int) -> Any:
        async with AsyncTompion(f"sqlite:///{tmp_path / 'cut.db'}", settings=SMALL) as tompion:
            name = f"{__name__}:{function}"
            await tompion.put(function, cron="0 0 1 1 *", function=name)
            run = await tompion.trigger(function, payload=size)
            async with asyncio.timeout(30):
                while (current := await tompion.runs.get(run.run_id)).status not in FINAL:
                    await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.01)
        return current

    limit = SMALL.max_result_bytes
    result = asyncio.run(run_function("answer", limit + more))
    assert result.status == "SUCCESS"
    assert (result.result == "r" * (limit - 2)) == (more == 0)
    assert len(str(result.result).encode()) <= limit
    error = asyncio.run(run_function("fail", limit + more))
    assert error.status == "FAILED"
    assert len(error.error.encode()) <= limit + len("…".encode())
