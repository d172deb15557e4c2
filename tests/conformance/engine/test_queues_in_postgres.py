"""Queues in PostgreSQL: Procrastinate with a real worker, the function of pgmq, and a killed process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from importlib.resources import files
from typing import Any

import procrastinate
import pytest

from tests.conformance.engine import crashing_engine
from tests.conformance.engine.kit import UNTIL_DUE_S
from tests.conformance.engine.users import SETTINGS, Scene
from tompion.operations.runs import callbacks, read
from tompion.operations.schedules import control

pytestmark = pytest.mark.server

DEFER = "procrastinate_defer_jobs_v1"
PROCRASTINATE = {"functions": [f"{DEFER}(procrastinate_job_to_defer_v1[])"], "tables": ["procrastinate_jobs"]}
TASK_ARGS = {"key": "$key", "token": "$token", "scheduled_for": "$scheduled_for", "payload": "$payload"}
BY_FUNCTION = {
    "function": DEFER,
    "args": [[{"queue_name": "reports", "task_name": "send", "priority": 5, "args": TASK_ARGS}]],
}
BY_TABLE = {
    "table": "procrastinate_jobs",
    "columns": {"queue_name": "reports", "task_name": "send", "args": TASK_ARGS},
}
# The extension cannot be installed from a wheel. These functions have its names, parameters and results.
PGMQ = """
CREATE SCHEMA pgmq;
CREATE TABLE pgmq.q_reports (msg_id bigint GENERATED ALWAYS AS IDENTITY, message jsonb);
CREATE FUNCTION pgmq.send(queue_name text, msg jsonb) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN
    RETURN QUERY EXECUTE format('INSERT INTO pgmq.%I (message) VALUES ($1) RETURNING msg_id', 'q_' || queue_name)
    USING msg;
END $$;
CREATE FUNCTION pgmq.send(queue_name text, msg jsonb, delay integer) RETURNS SETOF bigint LANGUAGE sql AS
    $$ SELECT pgmq.send(queue_name, msg) $$;
CREATE FUNCTION pgmq.send(queue_name text, msg jsonb, headers jsonb) RETURNS SETOF bigint LANGUAGE sql AS
    $$ SELECT pgmq.send(queue_name, msg) $$;
"""


async def run_worker(scene: Scene) -> list[dict[str, Any]]:
    """Run a real worker of Procrastinate, and return the arguments of its tasks."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=scene.url))
    calls: list[dict[str, Any]] = []

    @app.task(name="send", queue="reports")
    async def send(**arguments: Any) -> None:
        calls.append(arguments)

    async with app.open_async():
        await app.run_worker_async(wait=False, install_signal_handlers=False, delete_jobs="never")
    return calls


def run_engine_and_worker(scene: Scene, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Run an engine for one tick, then a worker. Return the arguments of the tasks."""
    schema = files("procrastinate").joinpath("sql", "schema.sql").read_text()
    scene.sql(schema)
    scene.workflow(options=options)
    scene.schedule(payload={"to": "me"})

    async def scenario() -> list[dict[str, Any]]:
        async with scene.engine(configured=PROCRASTINATE):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")
            calls = await run_worker(scene)
            if options.get("done") == "reported":
                scene.call(callbacks.report_run, calls[0]["token"], "succeeded", result={"sent": 5})
                await scene.wait_for_events("ended", 2)
            return calls

    return asyncio.run(scenario())


@pytest.mark.parametrize("done", ["taken", "reported"])
@pytest.mark.parametrize("options", [BY_FUNCTION, BY_TABLE], ids=["function", "table"])
def test_procrastinate_worker_executes_the_job(scene: Scene, options: dict[str, Any], done: str) -> None:
    (arguments,) = run_engine_and_worker(scene, {**options, "done": done})
    (run,) = scene.call(read.runs, "report").items
    assert arguments["key"] == run.idempotency_key
    assert (arguments["scheduled_for"], arguments["payload"]) == ("2027-01-15T08:01:00+00:00", {"to": "me"})
    assert (run.status, run.result) == ("SUCCESS", {"sent": 5} if done == "reported" else None)
    jobs = scene.sql("SELECT id, status, queue_name FROM procrastinate_jobs")
    assert jobs == [(1, "succeeded", "reports")]
    assert run.execution_id == ("1" if options is BY_FUNCTION else None)
    assert scene.is_consistent()


@pytest.mark.parametrize(
    ("declared", "more"),
    [("pgmq.send(text, jsonb)", []), ("pgmq.send", []), ("pgmq.send(text, jsonb, integer)", [5])],
)
def test_run_is_sent_as_a_pgmq_message(scene: Scene, declared: str, more: list[Any]) -> None:
    scene.sql(PGMQ)
    message = {"dag": "$dag", "meta": "$meta", "callback": "$callback"}
    scene.workflow(options={"function": "pgmq.send", "args": ["reports", message, *more]}, dag={"steps": [1]})
    scene.schedule(user_id="u1")

    async def scenario() -> None:
        async with scene.engine(configured={"functions": [declared]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.wait_for_events("ended")

    asyncio.run(scenario())
    ((number, sent),) = scene.sql("SELECT msg_id, message FROM pgmq.q_reports")
    (run,) = scene.call(read.runs, "report").items
    assert (run.status, run.execution_id) == ("SUCCESS", str(number))
    meta = sent["meta"]
    assert (sent["dag"], meta["idempotency_key"], meta["user_id"]) == ({"steps": [1]}, run.idempotency_key, "u1")
    assert sent["callback"]["url"] == "https://tompion.example/api/v1/callbacks"


@pytest.mark.parametrize("moment", [crashing_engine.BEFORE, crashing_engine.AFTER])
def test_killed_process_leaves_a_run_with_its_row_or_neither(scene: Scene, moment: str) -> None:
    """The process kills itself inside the transaction or after its commit, and another engine takes over."""
    scene.workflow()
    scene.schedule()
    scene.schedule("marker", cron="0 0 1 1 *")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", crashing_engine.__name__, scene.url, moment]
    process = subprocess.run(command, env=environment, timeout=120, check=False)
    assert process.returncode == -signal.SIGKILL
    committed = moment == crashing_engine.AFTER
    assert (scene.runs(), len(scene.jobs())) == (([("SUCCESS", None, 1)], 1) if committed else ([], 0))

    async def scenario() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            if not committed:
                await scene.wait_for_events("ended")
            scene.clock.advance(SETTINGS.lock_ttl_ms / 1000 + 1)
            scene.call(control.trigger, "marker")  # the engine looks for expired leases before it claims this
            await scene.wait_for_events("ended", 1 if committed else 2)

    asyncio.run(scenario())
    assert scene.runs() == [("SUCCESS", None, 1), ("SUCCESS", None, 1)]
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == 2
    assert scene.is_consistent()
