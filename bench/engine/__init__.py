"""The benchmark of the engine: ``python -m bench.engine``.

One run, one machine, the same stores and the same job that does nothing, for Tompion, for its ``peers`` and for a bare
script that only moves the rows (``baseline``).  ``burst`` lets Tompion fire a burst or a steady stream, each time in a
process of its own (``child``) on a store of its own (``stores``), as every peer does. ``idle`` measures an engine with
a million schedules that are not due.  ``measures`` collects the figures, ``report`` prints them next to the targets,
and ``profiling`` shows where the time of a burst goes.
"""
