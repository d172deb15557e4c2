"""Models of the core in TLA+, and how they are checked.

* ``Planner.tla``: what the planner decides, as operators; ``Fire.tla`` and ``Pause.tla`` make steps of it.
* ``Lease.tla``, ``Overlap.tla``, ``Backfill.tla``: each a part of its own.
* ``FireTrace.tla``, ``LeaseTrace.tla``, ``OverlapTrace.tla``: hold recorded stories against the first, the third and the
  fourth of these (:mod:`tests.models`).
* :mod:`~models.table`: every configuration, and what it must answer.
* :mod:`~models.checking`: TLC, from packages, and what it says.

``python -m models`` checks them all in their small form, ``--long`` in their large one.
"""
