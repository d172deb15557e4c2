"""The benchmark of the executors runs. Speed is not asserted."""

import asyncio
import json
from itertools import count

import pytest

from bench.executors.__main__ import NAMES, main
from bench.executors.bare_clients import SETTINGS
from bench.executors.measures import BARE, SHARE, rate_of
from tompion.errors import LaunchError

pytestmark = pytest.mark.server


def test_every_executor_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (section,) = data["sections"]
    assert [row["label"].rpartition(" (")[0] for row in section["rows"]] == [setting.name for setting in SETTINGS]
    for row in section["rows"]:
        figures = row["figures"]
        assert figures[SHARE] == pytest.approx(100 * figures["per second"] / figures[BARE])
    (judged,) = [row for row in section["rows"] if "target" in row]
    assert (judged["label"], judged["target"]) == ("http (aiohttp)", "≥ 50 %")


def test_the_table_has_only_the_selected_executors(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--only", "function"])
    text = capsys.readouterr().out
    assert text.startswith("Tompion's executors · ")
    assert "function, async (a call)" in text
    assert "http" not in text


def test_the_requested_number_of_calls_is_concurrent() -> None:
    under_way, most, numbers = 0, 0, []

    async def call(number: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        numbers.append(number)

    assert asyncio.run(rate_of(call, 20, 4, count(1))) > 0
    assert (most, sorted(numbers)) == (4, list(range(1, 21)))


def test_a_failed_launch_fails_the_measurement() -> None:
    async def call(number: int) -> None:
        raise LaunchError(f"cannot reach {number}")

    with pytest.raises(LaunchError, match="cannot reach"):
        asyncio.run(rate_of(call, 2, 1, count(1)))


def test_command_line() -> None:
    for wrong in (["--rounds", "0"], ["--only", "nothing"]):
        with pytest.raises(SystemExit) as stopped:
            main(wrong)
        assert stopped.value.code == 2
    assert set(NAMES) == {"function", "command", "http", "nats", "redis", "celery", "temporal"}
