"""The benchmark of the executors: ``python -m bench.executors``.

Each executor hands runs to a real target, beside the bare client library that does the same with what was prepared for
it. Both take turns in one process.  ``bare_clients`` has the calls of both, ``target`` is a server that does next to
nothing, and ``measures`` lets them take turns.
"""
