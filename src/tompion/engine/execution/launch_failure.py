"""Launches that failed: the run waits for its target, or the attempt has failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tompion.engine.context import EngineContext
from tompion.engine.execution.attempt import Attempt
from tompion.engine.execution.target_outages import TargetOutages
from tompion.errors import LaunchError, TargetUnreachable
from tompion.executors.base import Completed
from tompion.model.policy import LaunchErrors
from tompion.model.run import Reason, RunRow, RunState


class LaunchFailure(NamedTuple):
    """The outcome of a launch that failed.

    ``due_ms`` is when a run that waits for its target is launched again, and ``since_ms`` when it was launched first.
    ``retry_after_ms`` is the delay that the target demands before a retry. If ``is_refused``, a retry is useless.
    """

    completed: Completed
    reason: Reason = Reason.LAUNCH_FAILED
    due_ms: int | None = None
    since_ms: int | None = None
    retry_after_ms: int = 0
    is_refused: bool = False


class LaunchFailures:
    """Decides launches that failed, and records the outages of their targets."""

    def __init__(self, context: EngineContext, outages: TargetOutages) -> None:
        self._context = context
        self._outages = outages

    def outcome(self, attempt: Attempt, error: LaunchError) -> LaunchFailure:
        """Return the outcome of a launch that failed. The run waits if the launch did not reach its target."""
        events, settings = self._context.events, self._context.settings
        if isinstance(error, TargetUnreachable):
            self._record_outage(attempt, error)
            max_wait_ms = attempt.compiled.policy.launch_wait_ms(settings.launch_deadline_ms)
            if max_wait_ms and settings.launch_errors is LaunchErrors.WAIT and not attempt.is_cancelled:
                events.count("launches_postponed")
                return self._wait(attempt, error, max_wait_ms)
        elif self._outages.by_address:
            self._outages.record_contact(address_of(attempt))
        events.count("runs_failed_launch")
        return failed_attempt(error)

    def _record_outage(self, attempt: Attempt, error: TargetUnreachable) -> None:
        if not error.was_called:
            return
        if self._outages.record_failure(address_of(attempt), str(error), error.retry_after_s):
            self._context.events.warn(f"{error}. The runs of this target wait until it can be reached")

    def _wait(self, attempt: Attempt, error: LaunchError, max_wait_ms: int) -> LaunchFailure:
        outages = self._outages
        return wait_for_target(
            attempt.row,
            error,
            started_ms=attempt.started_ms,
            now_ms=outages.now_ms(),
            retry_ms=outages.retry_ms(address_of(attempt)),
            max_wait_ms=max_wait_ms,
        )


def address_of(attempt: Attempt) -> str:
    """Return the address of the target of an attempt, with its namespace and executor.

    Namespaces do not share outages, because a tenant may make its own part of a target fail.
    """
    executor, run_context = attempt.executor, attempt.run_context
    if executor is None or run_context is None:
        return ""
    try:
        return f"{run_context.namespace} {attempt.kind} {executor.address(attempt.dag, run_context)}"
    except Exception:  # noqa: BLE001 - a broken executor must not end the engine
        return f"{run_context.namespace} {attempt.kind}"


def failed_attempt(error: LaunchError) -> LaunchFailure:
    """Return the outcome of an attempt that counts as failed."""
    return LaunchFailure(
        Completed(RunState.FAILED, error=str(error), exception=error.__cause__),
        retry_after_ms=int((error.retry_after_s or 0) * 1000),
        is_refused=not error.retryable,
    )


def wait_for_target(  # noqa: PLR0913 - the instants that decide
    row: RunRow, error: LaunchError, *, started_ms: int, now_ms: int, retry_ms: int, max_wait_ms: int
) -> LaunchFailure:
    """Return the outcome of a launch that did not reach its target: the run waits, until the deadline ends it."""
    since_ms = row.started_ms if row.reason == Reason.TARGET_UNREACHABLE and row.started_ms else started_ms
    deadline_ms = since_ms + max_wait_ms
    if now_ms < deadline_ms:
        return LaunchFailure(
            Completed(RunState.ENQUEUED, error=str(error)),
            Reason.TARGET_UNREACHABLE,
            due_ms=min(retry_ms, deadline_ms),
            since_ms=since_ms,
        )
    text = f"{error}. The run waited for its target for {max_wait_ms / 1000:.0f} s, the maximum"
    return LaunchFailure(Completed(RunState.FAILED, error=text), is_refused=True)


def error_of_tries(errors: Sequence[str]) -> str:
    """Return the error of an attempt: the last of its quick tries, and how the earlier ones failed."""
    last = errors[-1]
    if len(errors) == 1:
        return last
    if all(error == last for error in errors):
        return f"{last} ({len(errors)} tries)"
    earlier = "; ".join(f"try {number}: {error}" for number, error in enumerate(errors[:-1], 1))
    return f"{last} (try {len(errors)}; {earlier})"
