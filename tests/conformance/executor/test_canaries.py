"""Secrets in every place that accepts one appear in no response, event, log or error."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.executor.subjects import SECRET
from tests.support.app import QUICK, Home
from tests.support.executors import CANARY, ReceivedRequest, Server, http_server, python
from tests.support.servers import LOOPBACK, free_port
from tests.support.service import Http, serve_runner
from tompion.contract.json import encode
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.errors import InvalidField, TompionError
from tompion.executors.base import Executor
from tompion.executors.celery import CeleryExecutor
from tompion.executors.command import CommandExecutor
from tompion.executors.http import HttpExecutor
from tompion.executors.nats import NatsExecutor
from tompion.executors.options import ExecutorEnv
from tompion.executors.redis import RedisExecutor
from tompion.executors.temporal.executor import TemporalExecutor
from tompion.model.policy import LaunchErrors
from tompion.model.run import RunState
from tompion.operations.runner import OperationRunner

SITE = ExecutorEnv()
HEADERS = {"Authorization": f"Bearer {CANARY}"}
DETAIL_ROUTES = {
    "/api/v1/schedules/{schedule_id}",
    "/api/v1/schedules/{schedule_id}/describe",
    "/api/v1/schedules/{schedule_id}/versions",
    "/api/v1/runs/{run_id}",
    "/api/v1/workflows/{workflow_id}",
}
"""Routes of one schedule, run or workflow. They show its payload or its document, and no other secret."""
pytestmark = pytest.mark.server


@pytest.fixture
def server() -> Iterator[Server]:
    """Run a server that echoes the headers of requests, with several status codes."""

    def answer(seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
        status = {"/refused": 400, "/away": 503}.get(seen.path.partition("?")[0], 200)
        return status, {}, json.dumps({"you sent": seen.headers}).encode()

    with ExitStack() as stack:
        running = stack.enter_context(http_server())
        running.answer = answer
        yield running


def executors(server: Server) -> dict[str, Executor]:
    """Return an executor of each kind that accepts a secret. Most of their targets are unreachable."""

    def unreachable(scheme: str) -> str:
        return f"{scheme}://user:{CANARY}@{LOOPBACK}:{free_port()}"

    programs = {"fails": "import sys; sys.exit(3)", "works": "pass"}
    commands = {name: {"argv": python(code), "env": {"TOKEN": CANARY}} for name, code in programs.items()}
    broker = unreachable("redis")
    return {
        "http": HttpExecutor({"allow": [LOOPBACK], "secrets": {"team": SECRET}}, SITE),
        "command": CommandExecutor({"commands": commands}, SITE),
        "nats": NatsExecutor({"servers": unreachable("nats"), "timeout_ms": 200}, SITE),
        "redis": RedisExecutor({"url": unreachable("redis"), "timeout_ms": 200}, SITE),
        "celery": CeleryExecutor({"broker": broker, "backend": broker}, SITE),
        "temporal": TemporalExecutor({"address": f"{LOOPBACK}:{free_port()}", "api_key": CANARY, "tls": False}, SITE),
    }


def workflows(server: Server) -> dict[str, tuple[str, dict[str, Any], RunState]]:
    """Return the executor, the options and the expected state of each workflow."""

    def url(path: str, at: str = server.url) -> dict[str, Any]:
        return {"url": f"{at}/{path}?token={CANARY}", "headers": HEADERS, "secret": "team"}

    temporal = {"workflow": "w", "task_queue": "q", "memo": {"token": CANARY}, "args": [CANARY]}
    return {
        "answered": ("http", url("answered"), RunState.SUCCESS),
        "refused": ("http", url("refused"), RunState.FAILED),
        "away": ("http", url("away"), RunState.FAILED),
        "unreachable": ("http", url("gone", f"http://{LOOPBACK}:{free_port()}"), RunState.FAILED),
        "forbidden": ("http", url("inside", "http://10.0.0.1"), RunState.FAILED),
        "with-a-user": ("http", {"url": f"http://user:{CANARY}@{LOOPBACK}/"}, RunState.FAILED),
        "unsent": ("http", {"url": server.url, "headers": {"X-Token": f"{CANARY}\n"}}, RunState.FAILED),
        "unknown-option": ("http", {"url": server.url, "colour": CANARY}, RunState.FAILED),
        "works": ("command", {"command": "works"}, RunState.SUCCESS),
        "fails": ("command", {"command": "fails"}, RunState.FAILED),
        "nats": ("nats", {"subject": "s"}, RunState.FAILED),
        "redis": ("redis", {"stream": "s"}, RunState.FAILED),
        "celery": ("celery", {"task": "t"}, RunState.FAILED),
        "temporal": ("temporal", temporal, RunState.FAILED),
    }


async def run_workflows(home: Home, planned: dict[str, tuple[str, dict[str, Any], RunState]]) -> dict[str, RunState]:
    """Run every workflow twice, with the payload of its schedule and with a payload of the trigger."""
    for name, (kind, options, _) in planned.items():
        document = {"executor": kind, "options": options, "dag": {"token": CANARY}}
        trigger = {"cron": "0 0 1 1 *", "payload": {"token": CANARY}}
        await home.workflows.put(name, {**document, "triggers": [trigger]})
    runs = [await home.trigger(name) for name in planned]
    await asyncio.gather(*(home.wait_until_final(run) for run in runs))
    again = [await home.trigger(name, payload={"other": CANARY}) for name in planned]
    await asyncio.gather(*(home.wait_until_final(run) for run in again))
    await home.patch("works", payload=[CANARY, 2])
    await home.pause("works", note="enough")
    return {name: (await home.runs.list(name)).items[0].status for name in planned}


async def read_through_python(home: Home, names: list[str]) -> dict[str, str]:
    """Return every list, event and counter of the Python API, by its name."""
    responses: dict[str, Any] = {
        "schedules": await home.schedules.list(),
        "workflows": await home.workflows.list(),
        "changes": await home.audit.list(),
        "events": home.events,
        "counts": home.counts,
    }
    for name in names:
        responses[f"runs of {name}"] = await home.runs.list(name)
        responses[f"changes of {name}"] = await home.schedules.history(name)
        responses[f"dropped ranges of {name}"] = await home.schedules.dropped_ranges(name)
        responses[f"backfills of {name}"] = await home.schedules.backfills(name)
    return {where: f"{page!r} {json.dumps(encode(page), default=str)}" for where, page in responses.items()}


def read_through_rest(runner: OperationRunner, names: list[str], run_ids: list[str]) -> dict[str, str]:
    """Return the response of every GET route, for each of the ids."""
    ids = {"schedule_id": names, "workflow_id": names, "run_id": run_ids}
    paths = [route.full_path for route in ROUTES if route.method == "GET" and ids.keys() >= set(route.path_parameters)]
    paths += [
        route.full_path for route in SYSTEM_ROUTES if route.method == "GET" and route.media_type != "text/event-stream"
    ]
    with serve_runner(runner) as url:
        http = Http(url)
        responses = {}
        for path in paths:
            (name,) = re.findall(r"{(\w+)}", path) or [""]
            for value in ids.get(name, [""]):
                answer = http("GET", path.replace(f"{{{name}}}", value))
                assert (answer.status == 200) != path.endswith("/hints"), (path, answer)  # no engine accepts hints here
                text = answer.body.decode()
                if path in DETAIL_ROUTES:
                    assert CANARY in text
                    text = repr(json.loads(text, object_hook=_without_payload_and_document))
                responses[f"{path} of {value}"] = f"{answer.headers} {text}"
        http.close()
    assert {"/metrics of ", "/api/v1/problems of ", f"/api/v1/runs/{{run_id}} of {run_ids[0]}"} <= responses.keys()
    return responses


def _without_payload_and_document(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ("payload", "document")}


def test_secrets_appear_only_in_requested_payloads_and_documents(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    planned = workflows(server)

    async def scenario() -> tuple[dict[str, RunState], dict[str, str], str]:
        settings = replace(QUICK, launch_errors=LaunchErrors.FAIL)
        async with Home(f"sqlite:///{tmp_path}/tompion.db", executors(server), settings) as home:
            states = await run_workflows(home, planned)
            details = f"{await home.get('works')} {await home.workflows.get('answered')}"
            run_ids = [run.run_id for name in planned for run in (await home.runs.list(name)).items]
            responses = await asyncio.to_thread(read_through_rest, home._runner, list(planned), run_ids)
            return states, {**await read_through_python(home, list(planned)), **responses}, details

    states, responses, details = asyncio.run(scenario())
    assert states == {name: state for name, (_, _, state) in planned.items()}
    assert [where for where, text in {**responses, "log": caplog.text}.items() if CANARY in text] == []
    assert CANARY not in "".join(capfd.readouterr())
    assert details.count(CANARY) >= 4, "the canaries are stored"
    assert all(CANARY in request.headers.get("authorization", CANARY) for request in server.seen)
    assert server.seen


@pytest.mark.parametrize(
    ("make", "configured"),
    [
        (HttpExecutor, {"secrets": CANARY}),
        (HttpExecutor, {"secrets": {"team": CANARY}}),
        (HttpExecutor, {"secrets": {"team": [SECRET, 5]}}),
        (HttpExecutor, {"secrets": {"team": {"key": CANARY}}}),
        (NatsExecutor, {"servers": {"url": CANARY, "other": 5}, "colour": CANARY}),
        (NatsExecutor, {"servers": [5, CANARY]}),
        (RedisExecutor, {"url": f"http://user:{CANARY}@{LOOPBACK}"}),
        (CeleryExecutor, {"broker": f"redis://user:{CANARY}@{LOOPBACK}", "app": "proj:app"}),
        (TemporalExecutor, {"api_key": [CANARY]}),
        (TemporalExecutor, {"api_key": CANARY, "tls": CANARY}),
        (CommandExecutor, {"commands": {"it": {"argv": ["it"], "env": {"TOKEN": [CANARY]}}}}),
    ],
)
def test_error_of_an_invalid_configuration_does_not_quote_it(make: Any, configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField) as caught:
        make(configured, SITE)
    assert CANARY not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize(
    "document",
    [CANARY, {"options": CANARY}, {"executor": "http", "options": [CANARY]}, {"dag": {CANARY, 1}}],
    ids=["document", "options", "a list", "no JSON"],
)
def test_error_of_an_invalid_document_does_not_quote_it(document: Any) -> None:
    async def scenario() -> None:
        async with Home("sqlite://", {}, engine=False) as home:
            with pytest.raises(TompionError) as caught:
                await home.workflows.put("flow", document)
            assert CANARY not in f"{caught.value} {caught.value!r}"
            with pytest.raises(TompionError) as caught:
                await home.create("job", cron="* * * * *", workflow_id="flow", payload={CANARY, 1})
            assert CANARY not in f"{caught.value} {caught.value!r}"

    asyncio.run(scenario())
