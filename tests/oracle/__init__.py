"""A brute-force judge of the time engine that shares no code and no ideas with it.

The engine computes, the oracle enumerates. For a window of a few days it reads the local time of a zone from the
standard library for every second. It checks for every wall second, by the plainest reading of the expression, whether
the rule names it, and applies the few DST rules. The result is the complete list of ticks of the window. The expected
results of ``next`` and ``prev`` are read off that list.

Read it in this order, it takes ten minutes:

``walk``      read a wall clock second by second: which wall seconds occur once, twice or never
``cron``      the plainest evaluator of cron fields and structured calendars: is this day, this second named?
``brute``     a whole spec over a walk: sources, DST rules, exclusions, start and end give the list of ticks
``places``    zones, years, transitions found by scanning offsets, edges of the calendar
``draw``      random specs that are likely to touch what makes a place interesting
``judge``     compare an engine with the list of ticks at many instants, and shrink a disagreement to its core
``rounds``    one numbered round = one place and many specs, reproducible from (seed, number)

``python -m tests.oracle --seconds 60`` runs it for a given time.
"""
