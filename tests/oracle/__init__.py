"""A brute-force judge of the time engine that shares no code and no ideas with it.

The engine computes; the oracle looks. For a window of a few days it asks the standard library, for every single
second, what the clock on the wall of a zone shows; it asks of every wall second, by the plainest reading of the
expression, whether the rule names it; it applies the few sentences of the DST rules; and so it has the complete
list of ticks of the window. What ``next`` and ``prev`` must answer is then read off that list.

Read it in this order, it takes ten minutes:

``walk``      watch a wall clock second by second: which wall seconds are shown once, twice or never
``cron``      the plainest evaluator of cron fields and structured calendars: is this day, this second named?
``brute``     a whole spec over a walk: sources, DST rules, exclusions, start and end give the list of ticks
``places``    where to look: zones, years, transitions found by scanning offsets, edges of the calendar
``draw``      random specs that are likely to touch what makes a place interesting
``judge``     compare an engine with the list of ticks at many instants; shrink a disagreement to its core
``rounds``    one numbered round = one place and many specs, reproducible from (seed, number)

``python -m tests.oracle --seconds 60`` runs it for as long as one likes.
"""
