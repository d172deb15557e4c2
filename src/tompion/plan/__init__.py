"""Pure decisions: ``(state, now) → what to write``.

* :mod:`~tompion.plan.compiled_schedule`: a definition, compiled.
* :mod:`~tompion.plan.stored_definition`: stored texts to definitions and back.
* :mod:`~tompion.plan.context`: the inputs of a decision besides the schedule.
* :mod:`~tompion.plan.due_ticks`: which ticks are due, late or missed, and how missed ticks are caught up.
* :mod:`~tompion.plan.overlap`: whether a due tick starts, waits or is skipped.
* :mod:`~tompion.plan.decide`: both together, for one schedule at one moment: the writes of the fire transaction.
* :mod:`~tompion.plan.fast_path`: the same for a tick that starts on time.
* :mod:`~tompion.plan.outcome`: how an outcome changes its run and the schedule's state.
* :mod:`~tompion.plan.release`: which waiting runs start when a slot is free.
* :mod:`~tompion.plan.counters`: counters, corrected by the result of a write.
* :mod:`~tompion.plan.adaptive`: when an adaptive schedule runs next.
* :mod:`~tompion.plan.edit`: how a control operation changes a schedule's state.
* :mod:`~tompion.plan.pause`: pause and resume.
* :mod:`~tompion.plan.upcoming`: upcoming ticks.
* :mod:`~tompion.plan.backfill`: the next ticks of a backfill.

Nothing here reads a clock, a database or a random number.
"""
