"""Secrets are planted wherever they may be, and looked for wherever they must not be: none is found."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.executor.subjects import SECRET
from tests.support.app import Home
from tests.support.executors import CANARY, ReceivedRequest, Server, http_server, python
from tests.support.servers import LOOPBACK, free_port
from tests.support.service import Http
from tests.support.service import serving as service
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
from tompion.model.run import RunState
from tompion.operations.runner import OperationRunner

SITE = ExecutorEnv()
HEADERS = {"Authorization": f"Bearer {CANARY}"}
BY_ITSELF = {
    "/api/v1/schedules/{schedule_id}",
    "/api/v1/schedules/{schedule_id}/describe",
    "/api/v1/schedules/{schedule_id}/versions",
    "/api/v1/runs/{run_id}",
    "/api/v1/workflows/{workflow_id}",
    "/schedules/{schedule_id}",
}
"""Whoever asks for one schedule, run or workflow by itself is shown its payload or its document, and nothing else."""
pytestmark = pytest.mark.server


@pytest.fixture
def server() -> Iterator[Server]:
    """It repeats what it was asked, as some do, and is not always content."""

    def answer(seen: ReceivedRequest) -> tuple[int, dict[str, str], bytes]:
        status = {"/refused": 400, "/away": 503}.get(seen.path.partition("?")[0], 200)
        return status, {}, json.dumps({"you sent": seen.headers}).encode()

    with ExitStack() as stack:
        made = stack.enter_context(http_server())
        made.answer = answer
        yield made


def executors(server: Server) -> dict[str, Executor]:
    """One of each that takes a secret; there is nobody at most of their targets."""

    def nowhere(scheme: str) -> str:
        return f"{scheme}://user:{CANARY}@{LOOPBACK}:{free_port()}"

    programs = {"fails": "import sys; sys.exit(3)", "works": "pass"}
    commands = {name: {"argv": python(code), "env": {"TOKEN": CANARY}} for name, code in programs.items()}
    broker = nowhere("redis")
    return {
        "http": HttpExecutor({"allow": [LOOPBACK], "secrets": {"team": SECRET}}, SITE),
        "command": CommandExecutor({"commands": commands}, SITE),
        "nats": NatsExecutor({"servers": nowhere("nats"), "timeout_ms": 200}, SITE),
        "redis": RedisExecutor({"url": nowhere("redis"), "timeout_ms": 200}, SITE),
        "celery": CeleryExecutor({"broker": broker, "backend": broker}, SITE),
        "temporal": TemporalExecutor({"address": f"{LOOPBACK}:{free_port()}", "api_key": CANARY, "tls": False}, SITE),
    }


def workflows(server: Server) -> dict[str, tuple[str, dict[str, Any], RunState]]:
    """What is executed by whom, with which options, and how that ends."""

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


async def planted(home: Home, planned: dict[str, tuple[str, dict[str, Any], RunState]]) -> dict[str, RunState]:
    """Run every workflow twice, with the payload of its schedule and with one of the trigger."""
    for name, (kind, options, _) in planned.items():
        document = {"executor": kind, "options": options, "dag": {"token": CANARY}}
        trigger = {"cron": "0 0 1 1 *", "payload": {"token": CANARY}}
        await home.put_workflow(name, {**document, "triggers": [trigger]})
    runs = [await home.trigger(name) for name in planned]
    await asyncio.gather(*(home.wait_until_final(run) for run in runs))
    again = [await home.trigger(name, payload={"other": CANARY}) for name in planned]
    await asyncio.gather(*(home.wait_until_final(run) for run in again))
    await home.patch("works", payload=[CANARY, 2])
    await home.pause("works", note="enough")
    return {name: (await home.runs(name)).items[0].state for name in planned}


async def shown(home: Home, names: list[str]) -> dict[str, str]:
    """What people and programs see without asking for one schedule or workflow by itself."""
    pages: dict[str, Any] = {
        "schedules": await home.list_schedules(),
        "workflows": await home.list_workflows(),
        "changes": await home.history(),
        "events": home.events,
        "counts": home.counts,
    }
    for name in names:
        pages[f"runs of {name}"] = await home.runs(name)
        pages[f"changes of {name}"] = await home.history(name)
        pages[f"spans of {name}"] = await home.dropped_ranges(name)
        pages[f"backfills of {name}"] = await home.backfills(name)
    return {where: f"{page!r} {json.dumps(encode(page), default=str)}" for where, page in pages.items()}


def answered(runner: OperationRunner, names: list[str], run_ids: list[str]) -> dict[str, str]:
    """What REST answers at every address that is read, with the ids at hand, and the metrics."""
    at_hand = {"schedule_id": names, "workflow_id": names, "run_id": run_ids}
    paths = [each.full_path for each in ROUTES if each.method == "GET" and at_hand.keys() >= set(each.path_parameters)]
    paths += [
        each.full_path for each in SYSTEM_ROUTES if each.method == "GET" and each.media_type != "text/event-stream"
    ]
    with service(runner) as url:
        http = Http(url)
        found = {}
        for path in paths:
            (name,) = re.findall(r"{(\w+)}", path) or [""]
            for value in at_hand.get(name, [""]):
                answer = http("GET", path.replace(f"{{{name}}}", value))
                assert (answer.status == 200) != path.endswith("/hints"), (path, answer)  # nobody here takes hints
                text = answer.body.decode()
                if path in BY_ITSELF:
                    assert CANARY in text
                    text = repr(json.loads(text, object_hook=_without_what_was_asked_for))
                found[f"{path} of {value}"] = f"{answer.headers} {text}"
        http.close()
    assert {"/metrics of ", "/api/v1/problems of ", f"/api/v1/runs/{{run_id}} of {run_ids[0]}"} <= found.keys()
    return found


def _without_what_was_asked_for(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in ("payload", "document")}


def test_no_canary_is_found(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    planned = workflows(server)

    async def story() -> tuple[dict[str, RunState], dict[str, str], str]:
        async with Home(f"sqlite:///{tmp_path}/tompion.db", executors(server)) as home:
            states = await planted(home, planned)
            kept = f"{await home.get('works')} {await home.get_workflow('answered')}"
            run_ids = [run.run_id for name in planned for run in (await home.runs(name)).items]
            said = await asyncio.to_thread(answered, home.runner, list(planned), run_ids)
            return states, {**await shown(home, list(planned)), **said}, kept

    states, seen, kept = asyncio.run(story())
    assert states == {name: state for name, (_, _, state) in planned.items()}
    assert [where for where, text in {**seen, "log": caplog.text}.items() if CANARY in text] == []
    assert CANARY not in "".join(capfd.readouterr())
    assert kept.count(CANARY) >= 4, "the canaries are alive"
    assert all(CANARY in each.headers.get("authorization", CANARY) for each in server.seen)
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
def test_a_wrong_configuration_is_not_quoted(make: Any, configured: dict[str, Any]) -> None:
    with pytest.raises(InvalidField) as caught:
        make(configured, SITE)
    assert CANARY not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize(
    "document",
    [CANARY, {"options": CANARY}, {"executor": "http", "options": [CANARY]}, {"dag": {CANARY, 1}}],
    ids=["document", "options", "a list", "no JSON"],
)
def test_a_wrong_document_is_not_quoted(document: Any) -> None:
    async def story() -> None:
        async with Home("sqlite://", {}, engine=False) as home:
            with pytest.raises(TompionError) as caught:
                await home.put_workflow("flow", document)
            assert CANARY not in f"{caught.value} {caught.value!r}"
            with pytest.raises(TompionError) as caught:
                await home.create("job", cron="* * * * *", workflow_id="flow", payload={CANARY, 1})
            assert CANARY not in f"{caught.value} {caught.value!r}"

    asyncio.run(story())
