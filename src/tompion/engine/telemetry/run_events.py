"""Run events for the log and the listener. They are built only if the log or a listener wants them."""

from __future__ import annotations

import logging

from tompion.engine.context import EngineContext
from tompion.engine.steps.result import StepResult
from tompion.engine.telemetry.events import Event
from tompion.model.run import FAILURES, MISSED, Reason, RunId, RunRow, idempotency_key
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.outcome import Outcome
from tompion.spec.explain.words import count_text


class RunEvents:
    """Emits one event for each run of a committed step."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._events = context.events

    def record(self, result: StepResult) -> None:
        """Emit the outcomes, decisions and launches of a step, in this order."""
        events = self._events
        has_info = events.wants(logging.INFO)
        outcomes = result.outcomes
        if not has_info:
            outcomes = [outcome for outcome in outcomes if outcome.state in FAILURES and not outcome.is_logged]
        for outcome in outcomes:
            self._emit_outcome(outcome, result)
        for compiled, note in result.paused:
            events.emit_event(Event("paused", compiled.schedule_id, note, namespace=compiled.namespace))
        self._emit_dropped(result)
        if has_info:
            self._emit_decisions(result)
            for row, compiled in result.launches:
                if row.reason == Reason.TARGET_UNREACHABLE:
                    continue  # an event per backoff of each waiting run would fill the log
                events.emit_event(self._run_event("launched", row.reason or row.source, row, compiled))

    def _emit_outcome(self, outcome: Outcome, result: StepResult) -> None:
        """Emit the event of an accepted outcome. Only the first wait for an unreachable target is an event."""
        run = RunId(outcome.schedule_key, outcome.nominal_s, outcome.origin)
        if run not in result.accepted:
            return
        compiled = self._context.schedules.newest(outcome.schedule_key)
        kind = "retried" if run in result.retried else "ended"
        if outcome.reason is Reason.TARGET_UNREACHABLE:
            kind = "waiting"
            if outcome.row is not None and outcome.row.reason == Reason.TARGET_UNREACHABLE:
                return
        error = outcome.error.splitlines()[0] if outcome.error else None
        text = str(outcome.state) if error is None else f"{outcome.state}: {error}"
        if compiled is None or outcome.row is None:
            self._events.emit(kind, str(outcome.schedule_key), text, outcome.nominal_s)
            return
        event = self._run_event(kind, text, outcome.row, compiled)
        event = event._replace(status=outcome.state, reason=outcome.reason, error=error)
        self._events.emit_event(event, logging.INFO if outcome.is_logged else None)

    def _emit_decisions(self, result: StepResult) -> None:
        """Emit skipped runs, and runs that another run ended."""
        for row, compiled in result.skipped:
            self._events.emit_event(self._run_event("skipped", row.reason or "", row, compiled))
        for row, compiled in result.ended:
            self._events.emit_event(self._run_event("ended", f"{row.state}: {row.reason}", row, compiled))

    def _emit_dropped(self, result: StepResult) -> None:
        """Emit ticks that were dropped together."""
        for dropped_range, compiled in result.dropped_ranges:
            self._events.emit_event(
                Event(
                    kind="missed" if dropped_range.reason in MISSED else "skipped",
                    schedule_id=compiled.schedule_id,
                    text=f"{count_text(dropped_range.ticks, 'tick')}: {dropped_range.reason}",
                    nominal_s=dropped_range.until_s,
                    namespace=compiled.namespace,
                    reason=dropped_range.reason,
                    ticks=dropped_range.ticks,
                )
            )

    def _run_event(self, kind: str, text: str, row: RunRow, compiled: CompiledSchedule) -> Event:
        """Return an event with the identity and state of a run."""
        names = (compiled.namespace, compiled.schedule_id)
        key = idempotency_key(*names, row.source, row.nominal_s, row.origin, row.request_id)
        tracing = self._context.tracing
        return Event(
            kind=kind,
            schedule_id=compiled.schedule_id,
            text=text,
            nominal_s=row.nominal_s,
            namespace=compiled.namespace,
            run_id=str(row.id),
            idempotency_key=key,
            source=row.source,
            status=row.state,
            reason=row.reason,
            attempt=row.attempt,
            trace_id=None if tracing is None else tracing.trace_id(key),
        )
