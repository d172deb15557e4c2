"""The time engine: the ticks of a spec.

Pure functions of (spec, time zone tables, instant). Nothing here reads a clock, the machine's own time zone database or
anything else that could differ between two instances.

A compiled spec is built in layers:

1. ``calendar.fields`` and ``calendar.cron`` turn text into bit masks and day rules. ``calendar.structured`` does the
   same for structured calendars.
2. ``calendar.days`` finds matching days from one bit mask per month, ``calendar.times`` finds seconds of a day.
3. ``calendar.wall_clock`` combines both: the *wall times* that a rule names, without excluded days and times.
4. ``zone.tables`` holds the offsets of each zone as sorted tables. ``zone.zoned`` maps wall times to instants and
   handles gaps and overlaps.
5. ``compiler`` combines sources and applies ``start_at`` and ``end_at``. ``jitter`` moves fire times, never ticks.

Times are integers. An *epoch* is UTC seconds. A *local* is a wall time counted as if it were UTC.
"""
