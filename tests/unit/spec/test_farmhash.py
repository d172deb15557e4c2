"""Temporal's hash, compared with the delays of Temporal's own tests."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tompion.spec.farmhash import fingerprint32, go_time
from tompion.spec.jitter import temporal_delay_ms

HOUR_MS = 3_600_000

# nominal time, seed, maximum in milliseconds, and the delay in milliseconds
DELAYS = [
    ("2022-03-24T00:00", "", HOUR_MS, 2_124_276),
    ("2022-03-24T00:00", "seed-1", HOUR_MS, 372_519),
    ("2022-03-24T00:00", "seed-2", HOUR_MS, 2_356_922),
    ("2022-03-23T09:00", "", 1_000, 235),
    ("2022-03-23T10:30", "", 1_000, 139),
    ("2022-03-23T15:00", "", 1_000, 89),
    ("2022-03-23T16:30", "", 1_000, 687),
    ("2022-03-23T12:00", "", 90 * 60_000, 876_524),
    ("2022-04-07T13:55", "", HOUR_MS, 146_927),
    ("2022-06-01T01:00", "mynsid-myschedule", HOUR_MS, 2_962_594),
    ("2022-06-01T03:00", "mynsid-myschedule", HOUR_MS, 2_249_538),
]


@pytest.mark.parametrize(("moment", "seed", "most", "delay"), DELAYS)
def test_delay_equals_that_of_temporal(moment: str, seed: str, most: int, delay: int) -> None:
    tick = int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())
    assert temporal_delay_ms(seed, tick, most) == delay


def test_instant_has_the_binary_form_of_go() -> None:
    assert go_time(0).hex() == "010000000e7791f70000000000ffff"


def test_delay_is_less_than_its_limit() -> None:
    assert all(0 <= temporal_delay_ms("s", tick, 7) < 7 for tick in range(200))
    assert temporal_delay_ms("s", 0, 0) == 0
    assert temporal_delay_ms("s", 0, -5) == 0


# As the reference implementation has them: one for each way in which a length is treated.
@pytest.mark.parametrize("size", [0, 1, 4, 5, 12, 13, 24, 25, 40, 41, 100])
def test_inputs_of_every_length_have_different_fingerprints(size: int) -> None:
    data = bytes(range(1, size + 1))
    assert 0 <= fingerprint32(data) < 1 << 32
    assert size == 0 or fingerprint32(data[:-1] + b"\xff") != fingerprint32(data)
