"""Runs that callers start one by one, and schedules without ticks."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.operations import Bench
from tompion import AsyncTompion, RunLauncher
from tompion.engine.telemetry.events import Event
from tompion.errors import InvalidField, RequestReused
from tompion.executors.base import RunContext
from tompion.operations.resources import workflows
from tompion.operations.runs import read, start
from tompion.operations.schedules import control, crud, history

KEY = "ab" * 32
WHEN = datetime(2027, 1, 1, tzinfo=UTC)


def test_a_key_starts_one_run_and_is_stored_unchanged(bench: Bench) -> None:
    bench.ask(workflows.put_workflow, "flow", {"function": "tasks:a"})
    for _ in range(2):
        assert bench.ask(start.start_run, "flow", 1, "u1", WHEN, idempotency_key=KEY) is True
    (run,) = bench.ask(read.runs, "run-launcher/flow").items
    assert (run.idempotency_key, run.source, run.run_at, run.status) == (KEY, "launch", WHEN, "ENQUEUED")
    with pytest.raises(RequestReused):
        bench.ask(start.start_run, "other", idempotency_key=KEY)


def test_start_without_a_document_returns_false_and_records_the_run(bench: Bench) -> None:
    assert bench.ask(start.start_run, "nowhere", idempotency_key=KEY) is False
    assert len(bench.ask(read.runs, "run-launcher/nowhere").items) == 1


def test_a_run_has_the_requested_version_and_user(bench: Bench) -> None:
    for user, version in (("u1", 1), ("u2", 2), ("u2", 2)):
        bench.ask(start.start_run, "flow", version, user, idempotency_key=f"{user}-{len(bench.dump()['requests'])}")
    versions = bench.ask(history.versions, "run-launcher/flow")
    assert [
        (version.definition.action.user_id, version.definition.action.workflow_version) for version in versions
    ] == [
        ("u2", 2),
        ("u1", 1),
    ]


@pytest.mark.parametrize("fields", [{"idempotency_key": ""}, {"idempotency_key": KEY, "version": 0}])
def test_invalid_starts_are_rejected(bench: Bench, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidField):
        bench.ask(start.start_run, "flow", **fields)


def test_a_schedule_without_ticks_runs_on_a_trigger(bench: Bench) -> None:
    schedule = bench.ask(crud.create, "manual", spec={}, function="tasks:a")
    assert (schedule.status, schedule.next_run_at) == ("exhausted", None)
    assert bench.ask(control.trigger, "manual").status == "ENQUEUED"
    changed = bench.ask(crud.patch, "manual", cron="@daily")
    assert changed.next_run_at is not None


def test_a_missing_source_of_ticks_is_rejected(bench: Bench) -> None:
    for fields in ({}, {"timezone": "Europe/Berlin"}, {"spec": {"timezone": "Europe/Berlin"}}):
        with pytest.raises(InvalidField, match="there is no source of ticks"):
            bench.ask(crud.create, "manual", function="tasks:a", **fields)


def test_the_executor_receives_the_context_of_the_launcher(tmp_path: Path) -> None:
    ended = threading.Event()
    messages: list[str] = []

    def listen(event: Event) -> None:
        if event.kind == "ended":
            messages.append(event.text)
            ended.set()

    async def start_two_runs() -> tuple[bool, bool]:
        async with AsyncTompion(f"sqlite:///{tmp_path / 'tompion.db'}", listener=listen) as tompion:
            await tompion.workflows.put("flow", {"function": f"{__name__}:report"})
            launcher = RunLauncher(tompion)
            done = await launcher.start("flow", 1, "u1", WHEN, KEY)
            missing = await launcher.start("nowhere", 1, "u1", WHEN, "other")
            await asyncio.get_running_loop().run_in_executor(None, ended.wait, 30)
            return done, missing

    SEEN.clear()
    assert asyncio.run(start_two_runs()) == (True, False)
    assert {name: SEEN[name] for name in ("idempotency_key", "user_id", "workflow_id", "workflow_version")} == {
        "idempotency_key": KEY,
        "user_id": "u1",
        "workflow_id": "flow",
        "workflow_version": 1,
    }


SEEN: dict[str, object] = {}


def report(run: RunContext) -> None:
    SEEN.update(run.meta)
