"""The benchmark of the web UI runs. Speed is not asserted."""

from __future__ import annotations

import pytest

from bench.web.__main__ import QUICK, main, measure
from bench.web.measures import LIVE, PARTS
from tompion.web.app import BUILT

pytestmark = pytest.mark.server


@pytest.mark.browser
def test_memory_of_live_updates_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert BUILT.joinpath("index.html").is_file(), "the web UI has not been built: python hatch_build.py"
    report = measure(QUICK, (LIVE,), lambda _: None)
    sent, live = report.sections
    assert sent.rows[0].reached
    assert [row.figures["events"] for row in live.rows] == [60, 60, 90]
    assert all(figure for row in live.rows for figure in row.figures.values())


def test_zero_rounds_are_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--rounds", "0"])
    assert "--rounds: at least 1" in capsys.readouterr().err
    assert LIVE in PARTS
