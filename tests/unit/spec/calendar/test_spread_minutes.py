"""``H`` instead of the minute, where the spec otherwise stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from tompion.spec.calendar.spread_minutes import spread_minutes
from tompion.spec.document import read_spec

CASES: list[tuple[dict[str, Any], tuple[str, ...] | None]] = [
    ({"cron": "0 9 * * MON-FRI"}, ("H 9 * * MON-FRI",)),
    ({"cron": "@daily"}, ("H 0 * * *",)),
    ({"cron": "CRON_TZ=Europe/Berlin 5 9 * * 1 # payroll"}, ("CRON_TZ=Europe/Berlin H 9 * * 1 # payroll",)),
    ({"cron": "30 15 9 * * *"}, ("30 H 9 * * *",)),
    ({"cron": ["0 9 * * *", "*/20 * * * *"]}, ("H 9 * * *", "H/20 * * * *")),
    ({"cron": "*/20 9-17 * * *"}, None),
    ({"cron": ["0 9 * * *", "15,45 * * * *"]}, None),
    ({"cron": "H 9 * * *"}, None),
    ({"cron": "@every 5m"}, None),
    ({"cron": "0 30 9 ? * MON", "dialect": "quartz"}, None),
    ({"cron": "0 9 * * *", "intervals": "1h"}, None),
    ({"intervals": "1h"}, None),
]


@pytest.mark.parametrize(("spec", "expected"), CASES, ids=str)
def test_minute_is_replaced_with_a_hash(spec: dict[str, Any], expected: tuple[str, ...] | None) -> None:
    assert spread_minutes(read_spec(spec)) == expected
