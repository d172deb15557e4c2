"""An engine under load for as long as one likes, with everything on: nothing may grow for ever.

* :mod:`~tests.soak.load`: the schedules, what they run, and somebody who pauses, edits and triggers.
* :mod:`~tests.soak.samples`: what is counted meanwhile, and what counts as growing.

``python -m tests.soak --minutes 60 --store postgresql`` is the long form.
"""
