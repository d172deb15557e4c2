"""Pure decisions: ``(state, now) → what to write``.

* :mod:`~tompion.plan.compiled_schedule`: a definition, compiled.
* :mod:`~tompion.plan.due_ticks`: which ticks are due, late or missed, and what catch-up makes of the missed ones.
* :mod:`~tompion.plan.overlap`: whether a due tick starts, waits or is skipped.
* :mod:`~tompion.plan.decide`: the two together, for one schedule and one moment: what the fire transaction writes.
* :mod:`~tompion.plan.outcome`: what an outcome does to its run and to the runs that wait.
* :mod:`~tompion.plan.adaptive`: when an adaptive schedule runs next.
* :mod:`~tompion.plan.edit`: what a control operation does to a dial.
* :mod:`~tompion.plan.upcoming`: the ticks that are to come.
* :mod:`~tompion.plan.backfill`: the next few ticks of a backfill.

Nothing here reads a clock, a database or a random number.
"""
