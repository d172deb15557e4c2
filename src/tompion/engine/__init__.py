"""The only loops and timers: wake, fire, launch, settle, rescue, sweep.

* :mod:`~tompion.engine.host`: the loops of one instance, and its graceful end.
* :mod:`~tompion.engine.firing`: the fire transaction.
* :mod:`~tompion.engine.releasing`: planned runs whose time has come.
* :mod:`~tompion.engine.rescuing`: runs that nobody holds.
* :mod:`~tompion.engine.backfilling`: the next ticks of backfills.
* :mod:`~tompion.engine.settling`: outcomes, and what they set free.
* :mod:`~tompion.engine.launching`: executors, called outside any transaction.
* :mod:`~tompion.engine.sweeping`: zombies, retention, new zone tables.
* :mod:`~tompion.engine.probe`: what an instance has done, counted.

Every step is a function of a transaction that loads, asks the planner and writes; any number of instances may run any
of them at any time.
"""
