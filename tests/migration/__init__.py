"""Upgrades: what an older release has written, and older processes that are still at work.

``releases``     the wheels of releases, built from their commits. The next one is the present code and ``next/*.sql``
``filling``      a program of the old release that leaves rows in every table
``stores``       SQLite files and PostgreSQL databases, looked at without any code of ours
``upgrading``    workers of several releases on one store, and the reckoning afterwards

``python -m tests.migration COMMIT`` prints the pin of a release, for ``releases.json``.
"""
