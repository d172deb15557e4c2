"""The only loops and timers: wake, fire, launch, settle, rescue, sweep.

* :mod:`~foliot.engine.host`: the loops of one instance, and its graceful end.
* :mod:`~foliot.engine.firing`: the fire transaction.
* :mod:`~foliot.engine.releasing`: planned runs whose time has come.
* :mod:`~foliot.engine.rescuing`: runs that nobody holds.
* :mod:`~foliot.engine.backfilling`: the next ticks of backfills.
* :mod:`~foliot.engine.settling`: outcomes, and what they set free.
* :mod:`~foliot.engine.launching`: executors, called outside any transaction.
* :mod:`~foliot.engine.sweeping`: zombies, retention, new zone tables.
* :mod:`~foliot.engine.probe`: what an instance has done, counted.

Every step is a function of a transaction that loads, asks the planner and writes; any number of instances may run any
of them at any time.
"""
