"""The time engine: which ticks a spec produces.

Pure functions of (spec, time zone tables, instant): nothing here reads a clock, the machine's own time zone
database or anything else that could differ between two instances.

A compiled spec is built in layers, each of which can be read by itself:

1. ``fields`` and ``cron`` turn text into bit masks and day rules; ``calendar`` does so for structured calendars.
2. ``days`` answers "which days match" from one bit mask a month; ``daytimes`` "at which seconds of a day".
3. ``wall`` puts both together: the *wall times* that a rule names, with day and time exclusions already taken away.
4. ``zone`` holds each zone's offsets as sorted tables; ``zoned`` maps wall times to instants and decides what happens
   in a gap and in an overlap.
5. ``compiled`` unites sources and cuts at ``start_at`` and ``end_at``; ``jitter`` moves fire times, never ticks.

Times are integers: an *epoch* is UTC seconds; a *local* is a wall time counted as if it were UTC.
"""
