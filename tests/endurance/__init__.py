"""What must hold when machines fail or fill up, clocks are set, and tables and tenants become many.

* :mod:`~tests.endurance.failover`: the primary PostgreSQL dies in the middle of firing, and its standby is promoted.

``python -m tests.endurance.failover --seconds 300`` is a long form; ``docs/how-to/check-the-engine.md`` lists them all.
"""
