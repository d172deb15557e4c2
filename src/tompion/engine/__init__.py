"""The engine: the only loops and timers. It wakes up, runs steps, executes runs and settles their outcomes.

* :mod:`~tompion.engine.engine`: builds an engine, applies the results of steps, stops gracefully.
* :mod:`~tompion.engine.finder`: the loop that claims due work.
* :mod:`~tompion.engine.outcome_writer`: the loop that writes outcomes.
* :mod:`~tompion.engine.maintenance`: heartbeat, audit chain, run watcher and sweep.
* :mod:`~tompion.engine.lease`: registration and lease of an instance.
* :mod:`~tompion.engine.step_runner`: runs a step in a transaction that holds the lease.
* :mod:`~tompion.engine.limits`: limits on concurrency and on the catch-up rate.
* :mod:`~tompion.engine.schedule_cache`: the compiled schedules.
* :mod:`~tompion.engine.health`: whether the engine works.
* :mod:`~tompion.engine.supervisor`: restarts loops that user code cancels.
* :mod:`~tompion.engine.steps`: one module per step: fire, planned, rescue, backfill, settle, remote results, sweep.
* :mod:`~tompion.engine.execution`: the launcher, which calls executors outside any transaction.
* :mod:`~tompion.engine.telemetry`: metrics, run events and traces.
* :mod:`~tompion.engine.notifications`: outbox, delivery and health ping.

A step is a function of a transaction: it loads rows, calls the planner, writes, and returns a ``StepResult``. After the
commit, ``Engine.apply`` acts on the result. Any number of instances may run any step at any time.
"""
