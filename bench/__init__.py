"""Benchmarks: each subpackage measures one part of Foliot and is run with ``python -m bench.<part>``."""
