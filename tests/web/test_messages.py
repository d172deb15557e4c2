"""The message catalogue of the web UI covers the codes of the API."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

import pytest

from tests.web.kit import UI
from tompion.contract.roles import Role
from tompion.model.policy import CatchUp, Overlap
from tompion.model.run import Reason, RunSource, RunState
from tompion.model.schedule import ScheduleStatus
from tompion.model.spec import Severity

CATALOGUE = "".join(path.read_text(encoding="utf-8") for path in sorted((UI / "src" / "messages" / "en").glob("*.ts")))
CODES: dict[str, Iterable[str]] = {
    "catchup": CatchUp,
    "overlap": Overlap,
    "role": [role.name.lower() for role in Role if role is not Role.PUBLIC],
    "runReason": Reason,
    "runSource": RunSource,
    "runState": RunState,
    "scheduleState": ScheduleStatus,
    "severity": get_args(Severity),
}


@pytest.mark.parametrize("group", CODES)
def test_every_code_of_the_api_has_a_message(group: str) -> None:
    keys = re.findall(rf"^  '{group}\.(\w+)':", CATALOGUE, re.MULTILINE)
    assert sorted(keys) == sorted(CODES[group])
