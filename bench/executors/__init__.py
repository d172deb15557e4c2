"""The benchmark of the executors: ``python -m bench.executors``.

Each executor hands runs to a real target, beside the bare client library that does the same with what was prepared for
it; both take turns in one process.  ``rivals`` knows how each is called, ``target`` is a server that does next to
nothing, and ``measures`` lets them take turns.
"""
