"""The real engine, planner and SQLite store in virtual time, with injected faults. Each seed is one scenario.

* :mod:`~tests.simulation.scenario`: runs one seed from start to end.
* :mod:`~tests.simulation.workload`: draws the schedules and the requests of users.
* :mod:`~tests.simulation.observer`: checks the database after every commit.
* :mod:`~tests.simulation.checkers`: checks the ledger at the end, without using the engine's code.
* :mod:`~tests.simulation.defects`, :mod:`~tests.simulation.defects_of_endings`,
  :mod:`~tests.simulation.defects_of_guards`, :mod:`~tests.simulation.defects_of_hints` and
  :mod:`~tests.simulation.defects_of_notifications`: planted defects, which the checks must detect. See
  :mod:`~tests.support.planting`.
* :mod:`~tests.simulation.expected_detections`: the rule that detects each planted defect.

``python -m tests.simulation --seeds 10000`` runs many scenarios. ``--seed 4711`` runs one scenario again.
"""
