"""Differential tests: the same scenario on two sides must give the same results.

``generator``   scenarios, generated from a seed: requests, engine steps and the passing of time
``sides``       a side runs a scenario: a store called directly, or the REST client with a real server
``reference``   a model of the semantics in plain dicts, without a store, a transaction or an engine
``comparison``  runs a scenario on two sides, finds the first difference and minimises the scenario

``python -m tests.differential --minutes 10`` searches for differences. Add what it finds to ``corpus.json``, which the
suite runs again.
"""
