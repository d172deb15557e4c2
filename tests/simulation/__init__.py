"""The real engine, planner and SQLite store in virtual time, under faults; every seed is a story.

* :mod:`~tests.simulation.story`: one seed from beginning to end.
* :mod:`~tests.simulation.workload`: which schedules there are and what people do to them.
* :mod:`~tests.simulation.observer`: looks at the database after every commit.
* :mod:`~tests.simulation.checkers`: the invariants, stated without looking at the engine's code.
* :mod:`~tests.simulation.defects`, :mod:`~tests.simulation.defects_of_endings`,
  :mod:`~tests.simulation.defects_of_hints` and :mod:`~tests.simulation.defects_of_notifications`: mistakes planted on
  purpose; each must be caught (:mod:`~tests.support.planting` is how).

``python -m tests.simulation --seeds 10000`` is the long form; ``--seed 4711`` tells one story again.
"""
