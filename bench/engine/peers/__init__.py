"""Other durable schedulers in Python with the same work on the same machine.

``runner`` is what a benchmark calls::

    from bench.engine.peers.runner import PEERS, burst, steady

    for peer in PEERS:
        print(burst(peer, "sqlite:////path/to/file.db", schedules=10_000, timeout_s=120))
        print(steady(peer, "postgresql://user@host:port/name", schedules=1_000, seconds=20))

``burst`` lets all schedules be due in one second, ``steady`` lets each be due every second.  Both return a ``Result``,
whatever happens: a peer that cannot be installed, or that crashes, yields one with an ``error``.  The store behind the
URL is the caller's, and a peer empties what it uses of it: its tables in SQLite, a schema of its own in PostgreSQL, the
whole database in Valkey (``valkey`` starts a server to throw away).

Each peer runs as a program of its own (``scripts``) in an environment of its own (``environments``, pinned in
``requirements``), tuned as an expert would. Its docstring describes how.  The job only records the time.  Peers that
hand their work to a broker or a queue are counted when the hand-over is done, with no worker beside them, which favours
them. ``Peer.counted`` records that.

``python -m bench.engine.peers [--quick]`` prints a table of all of them.
"""
