"""A service whose engine is busy still answers."""

from __future__ import annotations

import os
from pathlib import Path

from tests.e2e.test_shutdown import connect, interrupt, serving
from tompion.client import Client

BLOCKING = """
async def block():
    print("blocked", flush=True)
    with open("go") as pipe:
        return pipe.read()
"""


def test_health_check_responds_while_a_run_blocks_the_engine(tmp_path: Path) -> None:
    """Regression: ``/healthz`` took up to 7.1 s, because the engine and the service shared an event loop."""
    (tmp_path / "tasks.py").write_text(BLOCKING)
    os.mkfifo(tmp_path / "go")
    with serving(tmp_path) as (process, url):
        with Client(url) as client:
            client.create("report", cron="0 0 1 1 *", function="tasks:block")
            client.trigger("report")
        next(line for line in process.stdout or () if line == "blocked\n")
        for _ in range(3):
            connection = connect(url)
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
            connection.close()
        (tmp_path / "go").write_text("done")
        interrupt(process)
