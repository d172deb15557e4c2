"""Specs as ranges: the same ticks, and a list of the parts that ranges cannot express."""

from __future__ import annotations

import random
from itertools import islice

import pytest

import tompion
from tests.support.corpus import Syntax, draw_expression
from tompion.errors import InvalidSpec
from tompion.model.spec import Range
from tompion.spec.calendar.ranges import in_one_zone, ranges_of
from tompion.spec.compiler import compile_spec

FROM, MOST = 1_750_000_000, 300
WHOLE = Syntax(seconds=True, years=True, wraps=True, open_steps=True, together=True)


@pytest.mark.parametrize("seed", range(150))
def test_ranges_have_the_same_ticks(seed: int) -> None:
    cron = draw_expression(random.Random(seed), WHOLE)
    spec = tompion.Spec(cron=cron, dst_profile="temporal", timezone="Europe/Berlin")
    ranged = ranges_of(spec)
    assert (ranged.spec.cron, ranged.left) == ((), ())
    ours, theirs = (
        list(islice(compile_spec(document).between_epochs(FROM, 2 * FROM), MOST)) for document in (spec, ranged.spec)
    )
    assert ours == theirs, cron


@pytest.mark.parametrize("cron", ["0 9 L * *", "0 9 15W * *", "0 9 * * 5#3", "H 9 * * *"])
def test_parts_that_ranges_cannot_express_are_listed(cron: str) -> None:
    ranged = ranges_of(
        tompion.Spec(cron=["0 1 * * *", cron], times="2030-01-01T00:00:00Z", exclude={"dates": ["2030-02-01"]})
    )
    assert ranged.left == ("cron[1]", "times", "exclude.dates")
    assert ranged.spec.cron == (cron,)
    assert ranged.spec.calendars[0].hour == (Range(1, 1),)


def test_common_zone_prefix_becomes_the_timezone() -> None:
    spec = tompion.Spec(cron=["TZ=Europe/Rome 0 9 * * *", "TZ=Europe/Rome 0 10 * * *"])
    assert ranges_of(spec).spec.timezone == in_one_zone(spec).timezone == "Europe/Rome"
    mixed = tompion.Spec(cron=["TZ=Europe/Rome 0 9 * * *", "0 10 * * *"])
    assert ranges_of(mixed).left == ("cron[0]",)
    with pytest.raises(InvalidSpec, match="different zones"):
        in_one_zone(mixed)
