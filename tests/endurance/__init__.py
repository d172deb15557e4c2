"""Behaviour under failover, full disks, clock steps, large tables and many tenants.

* :mod:`~tests.endurance.failover`: the primary PostgreSQL dies in the middle of firing, and its standby is promoted.
* :mod:`~tests.endurance.process`: a real ``tompion worker``, for tests that fill its disk or set its clock.
* :mod:`~tests.endurance.tenants`: very many namespaces.

``python -m tests.endurance.failover --seconds 300`` is a long form. ``docs/how-to/check-the-engine.md`` lists them all.
"""
