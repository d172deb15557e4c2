"""``tompion serve`` as a user meets it: a real process, a real socket."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.support.command_line import run
from tompion import Tompion

README = Path(__file__).parents[2] / "README.md"
JSON = {"Content-Type": "application/json"}
TOMPION = [sys.executable, "-m", "tompion", "serve"]


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the service on a free port, with its store in its own directory."""
    command = [*TOMPION, "--port", "0", *arguments]
    surroundings = {name: value for name, value in os.environ.items() if name != "TOMPION_STORE"}
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            result = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert result, line
            places = [process.stdout.readline() for _ in range(4)]
            assert all(len(item) <= 80 for item in [line, *places])
            here = result.group()
            assert [item.split()[-1] for item in places[:3]] == [
                f"{here}/",
                f"{here}/api/v1",
                f"{here}/api/v1/openapi.json",
            ]
            yield process, here
        finally:
            process.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the service with an engine and stop it as a supervisor does."""
    with serving(tmp_path_factory.mktemp("serve")) as (process, result):
        yield result
        process.terminate()
        assert process.wait(timeout=120) == 0


def post(url: str, body: object) -> tuple[int, dict[str, object], str]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer), answer.headers["Content-Type"]
    except HTTPError as error:
        return error.code, json.load(error), error.headers["Content-Type"]


def test_the_web_ui_and_the_health_check_respond(address: str) -> None:
    with urlopen(f"{address}/", timeout=120) as answer:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "<title>Tompion" in answer.read().decode()
    with urlopen(f"{address}/healthz", timeout=120) as answer:
        assert json.load(answer)["status"] == "ok"


def test_a_preview_explains_lists_and_lints(address: str) -> None:
    body = {"spec": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, "after": "2027-03-27T12:00:00Z", "count": 2}
    status, seen, _kind = post(f"{address}/api/v1/preview", body)
    assert status == 200
    ticks = seen["ticks"]
    assert isinstance(ticks, list)
    assert [tick["at"] for tick in ticks] == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    assert ticks[0]["dst_adjustment"] == "gap"
    assert "02:30" in str(seen["explanation"])
    assert [finding["code"] for finding in seen["findings"]] == ["dst-gap", "dst-overlap"]  # type: ignore[attr-defined] # parsed JSON


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"cron": "0 9 * * FRY"}, "cron.day_of_week"),
        ({"cron": "@daily", "timezone": "Mars/X"}, "timezone"),
        ({"crom": "x"}, None),
    ],
)
def test_a_bad_spec_is_a_problem_that_names_the_field(address: str, spec: dict[str, str], field: str | None) -> None:
    status, problem, kind = post(f"{address}/api/v1/preview", {"spec": spec})
    assert (status, kind) == (400, "application/problem+json")
    assert problem.get("field") == field
    assert problem["detail"]


def test_a_request_with_another_host_is_rejected(address: str) -> None:
    """A web page on another site must not reach a loopback service by DNS rebinding."""
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{address}/healthz", headers={"Host": "rebound.example"}), timeout=120)
    assert refused.value.code == 400
    refused.value.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])  # noqa: S104 - what must be refused
def test_an_open_service_listens_only_on_loopback(host: str) -> None:
    left = subprocess.run([*TOMPION, "--host", host], capture_output=True, text=True, check=False, timeout=120)
    assert left.returncode == 2
    assert left.stderr.count("\n") == 1
    assert "loopback" in left.stderr


def test_a_port_in_use_is_a_one_line_error(address: str) -> None:
    port = address.rpartition(":")[2]
    left = subprocess.run([*TOMPION, "--port", port], capture_output=True, text=True, check=False, timeout=120)
    assert left.returncode == 2
    assert "--port" in left.stderr


@pytest.mark.parametrize(
    "body", [{}, {"spec": {"cron": "@daily"}, "count": 0}, {"spec": {"cron": "@daily"}, "after": "x"}]
)
def test_a_malformed_body_is_a_problem_document(address: str, body: object) -> None:
    status, problem, kind = post(f"{address}/api/v1/preview", body)
    assert (status, kind, problem["code"]) == (400, "application/problem+json", "invalid_field")
    assert problem["field"]


def test_the_printed_addresses_respond(address: str) -> None:
    for path in ("/", "/api/v1/schedules", "/api/v1/openapi.json"):
        with urlopen(f"{address}{path}", timeout=120) as answer:
            assert answer.status == 200


def test_the_commands_of_the_readme_work(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = README.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith("curl ")]
    assert len(lines) == 3
    answers = [curl(shlex.split(line)[1:], address) for line in lines]
    assert answers[0]["schedule_id"] == "report"
    assert len(answers[1]["next_ticks"]) == 10
    assert (answers[2]["status"], answers[2]["note"]) == ("paused", "holidays")
    (where,) = [line for line in text.splitlines() if line.startswith("export TOMPION_URL=")]
    monkeypatch.setenv("TOMPION_URL", where.partition("=")[2].replace("http://127.0.0.1:8640", address))
    typed = [line for line in text.splitlines() if line.startswith(".venv/bin/tompion ")]
    assert len(typed) == 4
    for line in typed:
        left = run(shlex.split(line, comments=True)[1:])
        assert left.code == 0, (line, left)
    assert json.loads(run(["schedules", "get", "report", "-o", "json"]).out)["status"] == "active"


def curl(words: list[str], address: str) -> dict[str, Any]:
    """Send the request of a curl command of the README."""
    fields = dict(zip(words[1::2], words[2::2], strict=True)) if not words[0].startswith("-") else {}
    url = words[0]
    if words[0].startswith("-"):
        fields, url = {words[0]: words[1], **dict(zip(words[3::2], words[4::2], strict=True))}, words[2]
    assert set(fields) <= {"-X", "--json"}
    body = fields["--json"].encode() if "--json" in fields else None
    method = fields.get("-X") or ("POST" if body else "GET")
    request = Request(url.replace("http://127.0.0.1:8640", address), body, JSON, method=method)
    with urlopen(request, timeout=120) as answer:
        result: dict[str, Any] = json.load(answer)
    return result


# --- with an engine beside it -----------------------------------------------------------------------------------


def test_one_interrupt_stops_the_service_and_its_engine(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("def report():\n    return 1\n")
    store = f"sqlite:///{tmp_path / 'tompion.db'}"
    with Tompion(store, engine=False) as tompion:
        tompion.create("report", cron="* * * * * *", function="tasks:report")
    with serving(tmp_path) as (process, address):
        assert process.stdout is not None
        assert process.stdout.readline() == "running the schedules of sqlite:///tompion.db, queue default\n"
        ended = next(line for line in process.stdout if "ended" in line)
        assert re.search(r" report +ended +SUCCESS in ", ended), ended
        with urlopen(f"{address}/healthz", timeout=120) as answer:
            assert json.load(answer)["status"] == "ok"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode == 130
    with Tompion(store, engine=False) as tompion:
        assert tompion.get("report").in_flight == 0
        assert tompion.schedules.verify("report").ok


def test_no_engine_starts_only_the_service(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-engine") as (process, address):
        with urlopen(f"{address}/healthz", timeout=120) as answer:
            assert answer.status == 200
        process.terminate()
        assert process.communicate(timeout=120)[0] == ""
    assert process.returncode == 0


def test_an_unusable_store_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text("hello " * 200)
    command = [*TOMPION, "--port", "0", "--store", "sqlite:///bad.db"]
    left = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (left.returncode, left.stdout) == (2, "")
    assert left.stderr == "tompion: cannot open the SQLite file bad.db: file is not a database\n"
