"""Soak test: an engine under load with all features, whose resources must stay bounded.

* :mod:`~tests.soak.load`: the schedules, their functions, and a client that pauses, edits and triggers.
* :mod:`~tests.soak.samples`: what is counted meanwhile, and what counts as growing.

``python -m tests.soak --minutes 60 --store postgresql`` is the long form.
"""
