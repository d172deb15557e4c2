"""The benchmark of the time engine: ``python -m bench.spec``.

One process, one run, one workload for everybody: expressions from a seeded generator (``expressions``), in ten zones,
asked about random instants (``workload``).  Tompion and the libraries that it is compared with take turns, round by
round, and only the ratio within a round counts (``contest``), so that a busy machine slows all of them alike.  What is
measured stands in ``measures``, ``memory`` and ``details``; ``report`` prints it next to the target.
"""
