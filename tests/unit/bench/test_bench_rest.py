"""The benchmark of the REST service runs. Speed is not asserted."""

import asyncio
import json

import pytest

from bench.rest.__main__ import QUICK, main
from bench.rest.load import NAMES, rate, request
from bench.rest.measures import BARE, SHARE, running

pytestmark = pytest.mark.server


def test_every_request_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json"]) == 0
    requests, lists = json.loads(capsys.readouterr().out)["sections"]
    assert [row["label"] for row in requests["rows"]] == [
        "SQLite, reads", "SQLite, upserts", "PostgreSQL, reads", "PostgreSQL, upserts",
    ]  # fmt: skip
    for row in requests["rows"]:
        figures = row["figures"]
        assert figures[SHARE] == pytest.approx(100 * figures["per second"] / figures[BARE])
    assert [row["target"] for row in requests["rows"] if "target" in row] == ["≥ 40 %"] * 2
    assert [row["figures"]["schedules"] >= QUICK.schedules for row in lists["rows"]] == [True, True]


def test_a_rejected_request_fails_the_measurement() -> None:
    with running("bench.rest.bare_app") as url, pytest.raises(RuntimeError, match="404"):
        asyncio.run(rate(url, "get", 4, 1))


def test_requests_have_the_same_shape() -> None:
    assert request("get", 5).startswith(b"GET /api/v1/schedules/s5 HTTP/1.1\r\n")
    assert request("put", NAMES + 5).startswith(b"PUT /api/v1/schedules/s5 HTTP/1.1\r\n")
