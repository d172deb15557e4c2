"""What an engine tells its listener about runs; nobody listens to an engine inside another program, usually."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.engine.instance import Instance
from foliot.engine.step import Launches, Settled
from foliot.model.run import RunId
from foliot.plan.settle import Outcome


def tell_launches(instance: Instance, launches: Launches) -> None:
    """Say what is launched, and why if there is a reason."""
    if instance.probe.listener is None:
        return
    for row, rule in launches:
        instance.probe.tell("launched", rule.schedule_id, row.reason or row.source, row.nominal_s)


def tell_outcomes(instance: Instance, outcomes: Sequence[Outcome], settled: Settled) -> None:
    """Say how runs ended, or that they are tried again; and whom a failure has paused."""
    if instance.probe.listener is None:
        return
    for outcome in outcomes:
        run = RunId(outcome.schedule_key, outcome.nominal_s, outcome.origin)
        if run not in settled.accepted:
            continue
        rule = instance.rules.newest(outcome.schedule_key)
        name = rule.schedule_id if rule is not None else str(outcome.schedule_key)
        text = str(outcome.state) if not outcome.error else f"{outcome.state}: {outcome.error.splitlines()[0]}"
        instance.probe.tell("retried" if run in settled.retried else "ended", name, text, outcome.nominal_s)
    for name, note in settled.paused:
        instance.probe.tell("paused", name, note)
