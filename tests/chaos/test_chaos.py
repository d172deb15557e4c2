"""The short form: every kind of fault at least once, and not one tick out of place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.faults import WEIGHTS
from tests.chaos.trial import Options, run

pytestmark = [pytest.mark.slow, pytest.mark.server]


def test_faults_lose_or_repeat_no_run(tmp_path: Path) -> None:
    report = run(Options(seed=20_260, seconds=11, gap_s=1.2), tmp_path)
    assert not report.violations, "\n".join(report.lines())
    assert set(report.faults) == set(WEIGHTS)
    assert report.ticks > 100
    assert report.requests["trigger"] > 0
    assert report.ended["CANCELLED cancel_requested"] > 0
    assert report.ended["TERMINATED superseded"] > 0
