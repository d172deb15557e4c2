"""``tompion attention`` and ``tompion forecast``: what somebody should look at, and when much is to come at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli import render
from tompion.cli.asking import Ask, Limit, given, taking, watched
from tompion.cli.figures import ROWS, Within, seconds
from tompion.cli.tables import Column, absolute, heading, now, relative, table

if TYPE_CHECKING:
    from tompion.model.attention import Attention
    from tompion.model.effect import Effect
    from tompion.model.forecast import Forecast

MARKS = {"stays": " ", "goes": "-", "comes": "+"}
"""How a tick to come is marked, as in a comparison of two texts."""

Stretches = Annotated[
    int | None, typer.Option("--stretches", metavar="N", help="Into how many equal parts the time is cut.")
]


@taking(ask=watched)
def attention_command(ask: Ask, limit: Limit = None) -> None:
    """Show what somebody should look at, the most urgent first.

    Example: tompion attention --watch 10
    """
    ask.show(lambda home: home.attention(**given(limit=limit)), concerns)


@taking(ask=watched)
def forecast_command(ask: Ask, within: Within = None, stretches: Stretches = None) -> None:
    """Show how many fires are to come, of all schedules, and where they come in herds.

    Example: tompion forecast --for 24h --stretches 24
    """
    options = given(seconds=seconds(within), stretches=stretches)
    ask.show(lambda home: home.forecast(**options), lambda found: loads(found, stretches or ROWS))


def concerns(found: Attention) -> None:
    """Print what somebody should look at."""
    if not found.concerns:
        render.note("nothing needs attention")
        return
    present = now()
    columns = (Column("urgency"), Column("about", 12), Column("since", extra=True), Column("what", 20, prose=True))
    rows = [(each.urgency, each.subject, relative(each.since, present), each.text) for each in found.concerns]
    table(columns, rows)
    if found.more:
        render.note("there is more: --limit")


def loads(found: Forecast, rows: int) -> None:
    """Print how many fires are to come, and the herds among them."""
    size = -(-len(found.stretches) // rows)
    groups = [found.stretches[start : start + size] for start in range(0, len(found.stretches), size)]
    table(
        (Column("from"), Column("fires")),
        [(absolute(each[0].start), f"{sum(load.fires for load in each):,}") for each in groups],
    )
    if found.herds:
        heading("many at once")
        columns = (Column("at"), Column("fires"), Column("what to do", 20, prose=True))
        table(columns, [(absolute(each.start), f"{each.fires:,}", each.advice) for each in found.herds])
    if found.one_in > 1:
        render.note(f"the specs of one in {found.one_in} schedules were read; the others are estimated")
    if found.others:
        render.note(f"of {found.others:,} schedules only the next fire is counted")
    if found.capped:
        render.note("there are more schedules than were counted")


def effect_lines(found: Effect) -> None:
    """Print which ticks to come would stay, go and come."""
    for tick in found.ticks:
        render.line(f"{MARKS[tick.change]} {absolute(tick.at)}  {tick.local:%a %Y-%m-%d %H:%M:%S}")
    ends = "" if found.complete_until is None else f" until {absolute(found.complete_until)}"
    render.note(f"{found.staying} stay, {found.going} go, {found.coming} come{ends}; nothing is written")
