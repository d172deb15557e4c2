"""Benchmarks: each subpackage measures one part of Tompion and is run with ``python -m bench.<part>``."""
