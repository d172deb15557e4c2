"""Models of the core in TLA+, and how they are checked.

* ``Planner.tla``, ``Attempt.tla``, ``Admission.tla``, ``Filling.tla``: what the code decides and writes, as operators.
* ``Fire.tla`` and ``Pause.tla``, ``Lease.tla``, ``Overlap.tla``, ``Backfill.tla``: make steps of them, and say what is
  promised.
* ``FireTrace.tla``, ``LeaseTrace.tla``, ``OverlapTrace.tla``, ``BackfillTrace.tla``: hold recorded stories against the
  same operators (:mod:`tests.models`).
* :mod:`~models.table`: every configuration, and what it must answer.
* :mod:`~models.checking`: TLC, from packages, and what it says.

``python -m models`` checks them all in their small form, ``--long`` in their large one.
"""
