"""Chaos tests: real processes on a real PostgreSQL with faults. Afterwards every tick is accounted for.

* :mod:`~tests.chaos.worker`: one worker process, and :mod:`~tests.chaos.recorder`: the log of launches it leaves.
* :mod:`~tests.chaos.workload`: which schedules there are, and which ticks each of them must have had.
* :mod:`~tests.chaos.traffic`: a client that triggers, pauses and edits, and retries failed requests.
* :mod:`~tests.chaos.faults`: the faults.
* :mod:`~tests.chaos.history`: every change of the ledger, recorded by the database itself.
* :mod:`~tests.chaos.reconcile`: compares plan, ledger, history and logs. Any difference is a violation.
* :mod:`~tests.chaos.trial`: one trial from beginning to end.

``python -m tests.chaos --seconds 300 --seed 4711 --workers 3`` is the long form.
"""
