"""Executors: where runs are executed."""
