"""Pure decisions: ``(state, now) → what to write``.

* :mod:`~foliot.plan.rule`: a definition, compiled.
* :mod:`~foliot.plan.generate`: which ticks are due, late or missed, and what catch-up makes of the missed ones.
* :mod:`~foliot.plan.admit`: whether a due tick starts, waits or is skipped.
* :mod:`~foliot.plan.decide`: the two together, for one schedule and one moment: what the fire transaction writes.
* :mod:`~foliot.plan.settle`: what an outcome does to its run and to the runs that wait.
* :mod:`~foliot.plan.govern`: when an adaptive schedule runs next.
* :mod:`~foliot.plan.edit`: what a control operation does to a dial.
* :mod:`~foliot.plan.ahead`: the ticks that are to come.
* :mod:`~foliot.plan.backfill`: the next few ticks of a backfill.

Nothing here reads a clock, a database or a random number.
"""
