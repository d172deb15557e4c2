"""The only loops and timers: wake, fire, launch, settle, rescue, sweep.

* :mod:`~tompion.engine.engine`: the loops of one instance, and its graceful end.
* :mod:`~tompion.engine.steps.fire`: the fire transaction.
* :mod:`~tompion.engine.steps.planned`: planned runs whose time has come.
* :mod:`~tompion.engine.steps.rescue`: runs that nobody holds.
* :mod:`~tompion.engine.steps.backfill`: the next ticks of backfills.
* :mod:`~tompion.engine.steps.settle`: outcomes, and what they set free.
* :mod:`~tompion.engine.execution.launcher`: executors, called outside any transaction.
* :mod:`~tompion.engine.steps.sweep`: zombies, retention, new zone tables.
* :mod:`~tompion.engine.telemetry.events`: what an instance has done, counted.

Every step is a function of a transaction that loads, asks the planner and writes; any number of instances may run any
of them at any time.
"""
