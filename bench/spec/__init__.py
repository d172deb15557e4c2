"""The benchmark of the time engine: ``python -m bench.spec``.

One process and one workload for all libraries: expressions from a seeded generator (``expressions``), in ten zones,
at random instants (``workload``).  Tompion and the libraries that it is compared with take turns, round by
round, and only the ratio within a round counts (``timing``), so that a busy machine slows all of them alike.  The
measurements are in ``measures``, ``memory`` and ``details``. ``report`` prints them next to the targets.
"""
