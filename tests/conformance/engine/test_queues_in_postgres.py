"""Queues that live in PostgreSQL: Procrastinate with a real worker, pgmq's function, and a process that is killed."""

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

from tests.conformance.engine import suicidal
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
# The extension cannot be installed from a wheel: this is its function's name, its parameters and what it returns.
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


async def executed(scene: Scene) -> list[dict[str, Any]]:
    """Let a real worker of Procrastinate execute what is there; return what the task was given."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=scene.url))
    given: list[dict[str, Any]] = []

    @app.task(name="send", queue="reports")
    async def send(**arguments: Any) -> None:
        given.append(arguments)

    async with app.open_async():
        await app.run_worker_async(wait=False, install_signal_handlers=False, delete_jobs="never")
    return given


def deferred(scene: Scene, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Let an engine meet a tick of a workflow, and then a worker; return what it was given."""
    schema = files("procrastinate").joinpath("sql", "schema.sql").read_text()
    scene.sql(schema)
    scene.workflow(options=options)
    scene.schedule(payload={"to": "me"})

    async def story() -> list[dict[str, Any]]:
        async with scene.engine(configured=PROCRASTINATE):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")
            given = await executed(scene)
            if options.get("done") == "reported":
                scene.ask(callbacks.report_run, given[0]["token"], "succeeded", result={"sent": 5})
                await scene.told("ended", 2)
            return given

    return asyncio.run(story())


@pytest.mark.parametrize("done", ["taken", "reported"])
@pytest.mark.parametrize("options", [BY_FUNCTION, BY_TABLE], ids=["function", "table"])
def test_a_worker_of_procrastinate_executes_the_job(scene: Scene, options: dict[str, Any], done: str) -> None:
    (given,) = deferred(scene, {**options, "done": done})
    (run,) = scene.ask(read.runs, "report").items
    assert given["key"] == run.key
    assert (given["scheduled_for"], given["payload"]) == ("2027-01-15T08:01:00+00:00", {"to": "me"})
    assert (run.state, run.result) == ("SUCCESS", {"sent": 5} if done == "reported" else None)
    jobs = scene.sql("SELECT id, status, queue_name FROM procrastinate_jobs")
    assert jobs == [(1, "succeeded", "reports")]
    assert run.execution_id == ("1" if options is BY_FUNCTION else None)
    assert scene.is_whole()


@pytest.mark.parametrize(
    ("declared", "more"),
    [("pgmq.send(text, jsonb)", []), ("pgmq.send", []), ("pgmq.send(text, jsonb, integer)", [5])],
)
def test_a_message_of_pgmq(scene: Scene, declared: str, more: list[Any]) -> None:
    scene.sql(PGMQ)
    message = {"dag": "$dag", "meta": "$meta", "callback": "$callback"}
    scene.workflow(options={"function": "pgmq.send", "args": ["reports", message, *more]}, dag={"steps": [1]})
    scene.schedule(user_id="u1")

    async def story() -> None:
        async with scene.engine(configured={"functions": [declared]}):
            scene.clock.advance(UNTIL_DUE_S)
            await scene.told("ended")

    asyncio.run(story())
    ((number, sent),) = scene.sql("SELECT msg_id, message FROM pgmq.q_reports")
    (run,) = scene.ask(read.runs, "report").items
    assert (run.state, run.execution_id) == ("SUCCESS", str(number))
    assert (sent["dag"], sent["meta"]["idempotency_key"], sent["meta"]["user_id"]) == ({"steps": [1]}, run.key, "u1")
    assert sent["callback"]["url"] == "https://tompion.example/api/v1/callbacks"


@pytest.mark.parametrize("moment", [suicidal.BEFORE, suicidal.AFTER])
def test_a_process_that_is_killed_leaves_a_run_with_its_row_or_neither(scene: Scene, moment: str) -> None:
    """It kills itself by SIGKILL, inside the transaction or when that has been committed, and another takes over."""
    scene.workflow()
    scene.schedule()
    scene.schedule("marker", cron="0 0 1 1 *")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", suicidal.__name__, scene.url, moment]
    process = subprocess.run(command, env=environment, timeout=120, check=False)
    assert process.returncode == -signal.SIGKILL
    committed = moment == suicidal.AFTER
    assert (scene.runs(), len(scene.jobs())) == (([("SUCCESS", None, 1)], 1) if committed else ([], 0))

    async def story() -> None:
        async with scene.engine():
            scene.clock.advance(UNTIL_DUE_S)
            if not committed:
                await scene.told("ended")
            scene.clock.advance(SETTINGS.lock_ttl_ms / 1000 + 1)
            scene.ask(control.trigger, "marker")  # whoever takes this has looked for leases that are over before
            await scene.told("ended", 1 if committed else 2)

    asyncio.run(story())
    assert scene.runs() == [("SUCCESS", None, 1), ("SUCCESS", None, 1)]
    assert len({key for key, _ in scene.jobs()}) == len(scene.jobs()) == 2
    assert scene.is_whole()
