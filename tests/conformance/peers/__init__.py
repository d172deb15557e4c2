"""Tompion beside other implementations of the same rules: croniter, cronsim, croner and a Temporal server.

* ``corpus`` draws expressions in the shapes people write, and places to ask about;
* ``comparing`` asks both sides and gives every disagreement the code of the documented difference that predicts it;
* ``croniter_peer``, ``cronsim_peer``, ``croner_peer``, ``temporal_server`` know one peer each;
* the tests fail on a disagreement that nothing predicts, and on a difference that no longer occurs.

``docs/explanation/differences.md`` is the same for readers.
"""
