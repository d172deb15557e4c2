"""Models of the core in TLA+, and their checks.

* ``Planner.tla``, ``Attempt.tla``, ``Admission.tla``, ``BackfillPlan.tla``: the decisions and writes of the code, as
  operators.
* ``Fire.tla``, ``Pause.tla``, ``Lease.tla``, ``Overlap.tla``, ``Backfill.tla``: steps built from these operators, and
  the guarantees.
* ``FireTrace.tla``, ``LeaseTrace.tla``, ``OverlapTrace.tla``, ``BackfillTrace.tla``: compare recorded scenarios with
  the same operators (:mod:`tests.models`).
* :mod:`~models.table`: every configuration and its expected verdict.
* :mod:`~models.checking`: runs TLC, which is installed from packages, and reads its output.

``python -m models`` checks the small configurations, and with ``--long`` the large ones, too.
"""
