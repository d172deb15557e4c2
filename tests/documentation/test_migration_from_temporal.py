"""The how-to about moving from Temporal, on a real cluster with ``tompion serve --temporal-address``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from temporalio.client import Client, Schedule, ScheduleActionStartWorkflow, ScheduleSpec

from tests.documentation.pages import blocks, commands, python_of, run, run_service, write_files
from tests.support.servers import LOOPBACK, free_port
from tests.support.servers.temporal import find_binary
from tests.support.temporal_workflows import QUEUE, temporal_worker

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.xdist_group("temporal")]
PAGE = "how-to/move-from-temporal.md"
SECONDS = 120


async def create_schedule(cluster: str) -> None:
    """Create a schedule on the cluster."""
    client = await Client.connect(cluster)
    action = ScheduleActionStartWorkflow("echo", args=["monthly"], id="report", task_queue=QUEUE)
    spec = ScheduleSpec(cron_expressions=["0 6 1 * *"], time_zone_name="Europe/Rome")
    await client.create_schedule("report", Schedule(action=action, spec=spec), memo={"owner": "books"})


async def run_page_code(code: str, here: str, cluster: str) -> Any:
    """Run the SDK code of the page while a worker serves the cluster, and return the resulting action."""
    text = code.replace('"127.0.0.1:7234"', repr(here)).replace("tpn_…", "tpn_not-needed")
    scope: dict[str, Any] = {"Client": Client}
    exec("async def page():\n" + "".join(f"    {line}\n" for line in text.splitlines()), scope)  # noqa: S102 - our own page
    async with asyncio.timeout(SECONDS), temporal_worker(cluster):
        await scope["page"]()
        handle = (await Client.connect(here)).get_schedule_handle("report")
        while True:
            description = await handle.describe()
            actions = description.raw_description.info.recent_actions
            if actions and actions[0].start_workflow_status == 2:  # completed
                return description, actions


def get(address: str, path: str) -> Any:
    with urlopen(f"{address}{path}", timeout=SECONDS) as answer:
        body = answer.read()
        return json.loads(body) if "json" in answer.headers["content-type"] else body.decode()


def test_the_steps_of_the_how_to_work(temporal_address: str, tmp_path: Path) -> None:
    asyncio.run(create_schedule(temporal_address))
    assert write_files(PAGE, tmp_path) == ["tompion.toml"]
    file = tmp_path / "tompion.toml"
    file.write_text(file.read_text().replace("127.0.0.1:7233", temporal_address))
    page_blocks = [
        command.replace("127.0.0.1:7233", temporal_address)
        for block in blocks(PAGE)
        if block.language == "sh"
        for command in commands(block.text)
    ]
    look, copy, serve, pause, start = page_blocks
    assert "upcoming times are equal" in run(look, tmp_path)
    assert "state: a shadow in Tompion" in run(copy, tmp_path)
    assert serve == "tompion serve"
    here = f"{LOOPBACK}:{free_port()}"
    with run_service(tmp_path, "--temporal-address", here) as address:
        run(pause, tmp_path, {"temporal": [str(find_binary())]}, HOME="/nonexistent")
        run(start, tmp_path, TOMPION_URL=address)
        [python] = python_of(PAGE)
        description, actions = asyncio.run(run_page_code(python, here, temporal_address))
        ours = get(address, "/api/v1/schedules/report")
        [ran] = get(address, "/api/v1/schedules/report/runs")["items"]
        assert "<html" in get(address, "/")
    assert (description.schedule.spec.time_zone_name, len(actions)) == ("Europe/Rome", 1)
    assert (ours["status"], ours["memo"], ours["counters"]["starts"]) == ("active", {"owner": "books"}, 1)
    assert (ran["source"], ran["status"]) == ("trigger", "SUCCESS")
    assert actions[0].start_workflow_result.workflow_id.startswith("report-20")
