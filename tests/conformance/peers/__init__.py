"""Tompion beside other implementations of the same rules: croniter, cronsim, croner and a Temporal server.

* ``tests.support.corpus`` draws common forms of expressions, and instants in time zones.
* ``comparison`` queries both sides, and finds the documented difference that predicts a disagreement.
* ``croniter_peer``, ``cronsim_peer`` and ``croner_peer`` describe one peer each.
* The tests fail on a disagreement that no difference predicts, and on a difference that no longer occurs.

``docs/explanation/differences.md`` lists the differences for readers.
"""
