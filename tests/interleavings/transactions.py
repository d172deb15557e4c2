"""The transaction types: the real work of engines and users, and the answers that their callers get."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from tests.interleavings.initial_database import NEWEST, SETTINGS, Fixture, InitialState, run_line
from tests.support.operations import SECONDS, when
from tompion.engine.context import EngineContext
from tompion.engine.lease import Lease
from tompion.engine.step_runner import StepRunner
from tompion.engine.steps.backfill import BackfillStep
from tompion.engine.steps.fire import FireStep
from tompion.engine.steps.rescue import RescueStep
from tompion.engine.steps.result import StepResult
from tompion.engine.steps.settle import SettleStep
from tompion.engine.telemetry.events import EngineEvents
from tompion.errors import TompionError
from tompion.model.run import RunState
from tompion.operations.context import OperationContext
from tompion.operations.schedules import control, crud, hints
from tompion.plan.outcome import Outcome
from tompion.runtime.thread_pool import ThreadPool
from tompion.store.base import Transaction, Work
from tompion.store.postgres.driver import PostgresMigrator, PostgresStore

LIMIT = 100
SCRIPT = """
ALTER TABLE schedule_runs ADD CONSTRAINT added CHECK (attempt >= 0);
ALTER TABLE schedule_state ADD CONSTRAINT added CHECK (in_flight >= 0);
CREATE INDEX state_added ON schedule_state (version) WHERE in_flight > 0;
"""
"""A migration of a later release. It locks both tables that every fire writes, as a new column would, but can be undone
without a trace."""

Launches = tuple[tuple[Any, ...], ...]


class CountingEvents(EngineEvents):
    """Counts warnings instead of logging them, because the answers show their causes."""

    def warn(self, text: str) -> None:
        self.count("warnings")


class Participant:
    """One of the two sides, with its own store, instance number and thread."""

    def __init__(self, store: PostgresStore, url: str, name: str, number: int, fixture: Fixture) -> None:
        self.store = store
        self.url = url
        self.name = name
        self.number = number
        self.fixture = fixture
        self.thread_pool = ThreadPool(1, f"interleaving-{name}")

    def engine_context(self, number: int) -> EngineContext:
        """Return a new instance with an empty cache, so that it reads definitions inside its transaction."""
        context = EngineContext(SETTINGS, CountingEvents())
        context.number = number
        return context

    def session(self, transaction: Transaction) -> OperationContext:
        return OperationContext(transaction, SETTINGS, actor=self.name)

    def write(self, work: Work[Any]) -> Future[Any]:
        return self.store.write(work)

    def under_lease(self, context: EngineContext, work: Work[Any]) -> Work[Any]:
        """Return the work as an engine does it, which requires a valid lease."""
        lease = Lease(self.store, context, self.name, "", int)
        return StepRunner(self.store, context, lease).in_transaction(work)


class TransactionType(NamedTuple):
    """A transaction, and the transaction that its loop sends after both sides have ended."""

    send: Callable[[Participant], Future[Any]]
    repeat: Callable[[Participant], Future[Any]] | None = None
    paused: bool = False
    adaptive: bool = False
    divides: bool = False
    """It claims runs one by one and skips locked ones, so that each run may be before or after the other's work."""


# --- engines ---------------------------------------------------------------------------------------------------------


def _fire(participant: Participant) -> Future[Any]:
    """Fire. The first participant is the instance with the expired lease, and does not know it yet."""
    return _fire_as(participant, participant.fixture.expired if participant.name == "first" else participant.number)


def _fire_again(participant: Participant) -> Future[Any]:
    """Fire with the same instance, or with a new one if the lease was lost."""
    future = _fire(participant)
    return future if future.result(SECONDS) is not None else _fire_as(participant, participant.number)


def _fire_as(participant: Participant, number: int) -> Future[Any]:
    instance = participant.engine_context(number)
    return participant.write(participant.under_lease(instance, lambda t: FireStep(instance).on_time(t, LIMIT)))


def _rescue(participant: Participant) -> Future[Any]:
    instance = participant.engine_context(participant.number)
    return participant.write(participant.under_lease(instance, lambda t: RescueStep(instance).claim(t, LIMIT)))


def _run_backfill_chunk(participant: Participant) -> Future[Any]:
    instance = participant.engine_context(participant.number)
    return participant.write(participant.under_lease(instance, lambda t: BackfillStep(instance).due(t, LIMIT)))


def _outcomes(participant: Participant) -> list[Outcome]:
    return [Outcome(*held, RunState.SUCCESS, result='"done"') for held in participant.fixture.held]


def _settle(participant: Participant) -> Future[Any]:
    """Write the outcomes of the worker with the expired lease."""
    instance = participant.engine_context(participant.fixture.expired)
    return participant.write(
        participant.under_lease(instance, lambda t: SettleStep(instance).settle(t, _outcomes(participant)))
    )


def _settle_late(participant: Participant) -> Future[Any]:
    """Write the same outcomes with a new lease. Only the fences of its runs are the same."""
    return participant.write(
        lambda t: SettleStep(participant.engine_context(participant.number)).settle(t, _outcomes(participant))
    )


# --- users -----------------------------------------------------------------------------------------------------------


def _request(operation: Callable[..., Any], **fields: Any) -> Callable[[Participant], Future[Any]]:
    def send(participant: Participant) -> Future[Any]:
        request_id = f"{participant.name}-{operation.__name__}"
        return participant.write(lambda t: operation(participant.session(t), "report", request_id=request_id, **fields))

    return send


def _update(participant: Participant) -> Future[Any]:
    """A user changes the cron expression and the payload, with the token that was read before."""

    def update(transaction: Transaction) -> Any:
        fields: dict[str, Any] = {
            "cron": ["*/2 * * * *"],
            "description": participant.name,
            "payload": [participant.name],
        }
        return crud.patch(
            participant.session(transaction), "report", conflict_token=participant.fixture.token, **fields
        )

    return participant.write(update)


def _migrate(participant: Participant) -> Future[Any]:
    return participant.thread_pool.submit(lambda: PostgresMigrator(participant.url).apply(NEWEST + 1, SCRIPT))


TRANSACTION_TYPES: dict[str, TransactionType] = {
    "fire": TransactionType(_fire, _fire_again),
    "settle": TransactionType(_settle, _settle_late),
    "rescue": TransactionType(_rescue, _rescue, divides=True),
    "pause": TransactionType(_request(control.pause, note="stop")),
    "resume": TransactionType(_request(control.resume, on_resume="fire_once"), paused=True),
    "update": TransactionType(_update),
    "delete": TransactionType(_request(crud.delete)),
    "trigger": TransactionType(_request(control.trigger, overlap="queue")),
    "backfill": TransactionType(_run_backfill_chunk),
    "skip": TransactionType(_request(control.skip, at=[when("08:02")])),
    "hint": TransactionType(_request(hints.hint, interval_ms=90_000), adaptive=True),
    "migrate": TransactionType(_migrate, _migrate),
}
PAIRS: tuple[tuple[str, str], ...] = tuple(combinations_with_replacement(TRANSACTION_TYPES, 2))


def initial_state_of(pair: tuple[str, str]) -> InitialState:
    """Return the initial state in which both transactions have work to do."""
    types = [TRANSACTION_TYPES[name] for name in pair]
    is_adaptive = any(transaction_type.adaptive for transaction_type in types)
    idle = is_adaptive and not {"settle", "rescue"} & set(pair)
    return InitialState(any(transaction_type.paused for transaction_type in types), is_adaptive, idle)


# --- answers ---------------------------------------------------------------------------------------------------------


def needs_repeat(answers: list[Any]) -> bool:
    """Return whether the loop repeats the step: it skipped a locked row, has lost its lease, or has to retry."""
    last = answers[-1]
    if isinstance(last, TompionError):
        return last.retryable
    return last is None or (
        isinstance(last, StepResult) and not last.outcomes and (last.claimed > 0 or len(answers) == 1)
    )


def launches(answers: list[Any]) -> Launches:
    """Return the launches in the answers."""
    steps = [answer for answer in answers if isinstance(answer, StepResult)]
    return tuple(sorted((*row.id, row.attempt, row.version) for step in steps for row, _ in step.launches))


def answer_lines(answers: list[Any]) -> tuple[str, ...]:
    """Return the answers of a caller as lines, over all its transactions."""
    lines = [run_line(run[:3], f"launch {run[3:]}") for run in launches(answers)]
    for answer in answers:
        if isinstance(answer, StepResult) and not answer.outcomes:
            lines += [run_line(row.id, "end") for row in answer.to_end]
            lines += [run_line(row.id, "discard") for row, _ in answer.discarded]
        elif isinstance(answer, StepResult):
            lines.append(repr(("settled", sorted(answer.accepted), sorted(answer.retried), answer.stale)))
        elif not isinstance(answer, TompionError):
            lines += [] if answer is None else [repr(answer)]
        elif not answer.retryable:
            lines.append(repr(f"{type(answer).__name__}: {answer}"))
    return tuple(sorted(lines))
