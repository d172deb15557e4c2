"""The clients load little, so that a script starts quickly and a serverless function stays small."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing

from tests.support.service import runner_of, serve_runner
from tompion.store.sqlite.driver import SqliteStore

MAX_MODULES = 39
MAX_MODULES_OF_A_CALL = 60
IMPORT = "import tompion.client"
CALL = """
from tompion.client import Client

with Client(sys.argv[1]) as client:
    client.create("report", cron="0 9 * * *", timezone="Europe/Berlin", function="json:dumps")
    assert client.get("report").cron == ("0 9 * * *",)
"""


def loaded_after(program: str, *arguments: str) -> list[str]:
    """Return the modules of ours that a program loads in a process of its own."""
    ours = "[name for name in sys.modules if name.split('.')[0] == 'tompion']"
    script = f"import sys\n{program}\nimport json\nprint(json.dumps({ours}))"
    command = [sys.executable, "-c", script, *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    modules: list[str] = json.loads(output)
    return modules


def test_the_import_loads_fewer_than_40_of_our_modules() -> None:
    modules = loaded_after(IMPORT)
    assert "tompion.client.sync_client" in modules
    assert len(modules) <= MAX_MODULES, modules


def test_neither_the_import_nor_a_call_loads_what_only_a_server_needs() -> None:
    servers = ("tompion.operations", "tompion.plan", "tompion.store", "tompion.engine", "tompion.config", "tompion.sdk")
    store = SqliteStore()
    with closing(store), serve_runner(runner_of(store)) as url:
        modules = loaded_after(CALL, url)
    assert "tompion.spec.document" in modules  # the call has decoded a schedule
    assert not [name for name in modules if name.startswith(servers)]
    assert len(modules) <= MAX_MODULES_OF_A_CALL, modules
