"""Run events for the engine's listener."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import Launches, Notes, Settled
from tompion.engine.telemetry.events import Event
from tompion.model.run import MISSED, RunId, RunRow, idempotency_key
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome


def tell_launches(instance: EngineContext, launches: Launches) -> None:
    """Say what is launched, and why if there is a reason."""
    if instance.probe.listener is None:
        return
    for row, compiled in launches:
        instance.probe.pass_on(_event(instance, "launched", row.reason or row.source, row, compiled))


def tell_outcomes(instance: EngineContext, outcomes: Sequence[Outcome], settled: Settled) -> None:
    """Say how runs ended, or that they are tried again; and whom a failure has paused."""
    if instance.probe.listener is None:
        return
    for outcome in outcomes:
        run = RunId(outcome.schedule_key, outcome.nominal_s, outcome.origin)
        if run not in settled.accepted:
            continue
        compiled = instance.schedules.newest(outcome.schedule_key)
        kind = "retried" if run in settled.retried else "ended"
        error = outcome.error.splitlines()[0] if outcome.error else None
        text = str(outcome.state) if error is None else f"{outcome.state}: {error}"
        if compiled is None or outcome.row is None:
            instance.probe.tell(kind, str(outcome.schedule_key), text, outcome.nominal_s)
            continue
        event = _event(instance, kind, text, outcome.row, compiled)
        instance.probe.pass_on(event._replace(state=outcome.state, reason=outcome.reason, error=error))
    for paused, note in settled.paused:
        instance.probe.pass_on(Event("paused", paused.schedule_id, note, namespace=paused.namespace))


def tell_notes(instance: EngineContext, notes: Notes) -> None:
    """Say what was skipped or missed, and why."""
    if instance.probe.listener is None:
        return
    for row, compiled in notes.skipped:
        instance.probe.pass_on(_event(instance, "skipped", row.reason or "", row, compiled))
    for dropped_range, compiled in notes.dropped_ranges:
        ticks = "1 tick" if dropped_range.ticks == 1 else f"{dropped_range.ticks} ticks"
        kind = "missed" if dropped_range.reason in MISSED else "skipped"
        event = Event(
            kind, compiled.schedule_id, f"{ticks}: {dropped_range.reason}", dropped_range.until_s, compiled.namespace
        )
        instance.probe.pass_on(event._replace(reason=dropped_range.reason, ticks=dropped_range.ticks))


def tell_ends(instance: EngineContext, ended: Iterable[tuple[RunRow, CompiledSchedule]]) -> None:
    """Say whose runs have ended because another one took their place."""
    if instance.probe.listener is None:
        return
    for row, compiled in ended:
        instance.probe.pass_on(_event(instance, "ended", f"{row.state}: {row.reason}", row, compiled))


def _event(instance: EngineContext, kind: str, text: str, row: RunRow, compiled: CompiledSchedule) -> Event:
    names = (compiled.namespace, compiled.schedule_id)
    key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
    return Event(
        kind,
        compiled.schedule_id,
        text,
        row.nominal_s,
        compiled.namespace,
        run_id=str(row.id),
        key=key,
        source=row.source,
        state=row.state,
        reason=row.reason,
        attempt=row.attempt,
        trace_id=None if instance.tracing is None else instance.tracing.trace_id(key),
    )
