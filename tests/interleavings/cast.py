"""The transactions: the work that engines and people really send, and what each says to whoever sent it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from tests.interleavings.world import SETTINGS, Cast, Kind, of_run
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
"""As a later release may: it locks both of the tables that every fire writes as a new column would, which would leave a
trace each time it is taken back."""

Launched = tuple[tuple[Any, ...], ...]


class Nobody(EngineEvents):
    """What an engine warns of is in its answers."""

    def warn(self, text: str) -> None:
        self.count("warnings")


class Actor:
    """One of the two: a store of its own, an instance of its own, and what it is known by."""

    def __init__(self, store: PostgresStore, url: str, name: str, number: int, cast: Cast) -> None:
        self.store = store
        self.url = url
        self.name = name
        self.number = number
        self.cast = cast
        self.threads = ThreadPool(1, f"interleaving-{name}")

    def instance(self, number: int) -> EngineContext:
        """A fresh instance: it remembers no rule, so that it reads definitions inside its transaction."""
        made = EngineContext(SETTINGS, Nobody())
        made.number = number
        return made

    def session(self, transaction: Transaction) -> OperationContext:
        return OperationContext(transaction, SETTINGS, actor=self.name)

    def write(self, work: Work[Any]) -> Future[Any]:
        return self.store.write(work)

    def led(self, context: EngineContext, work: Work[Any]) -> Work[Any]:
        """Work as an engine does it: with its lease in force, or not at all."""
        lease = Lease(self.store, context, self.name, "", int)
        return StepRunner(self.store, context, lease).in_transaction(work)


class Part(NamedTuple):
    """One kind of transaction: what it sends, and what is sent after both have ended, as a loop would."""

    send: Callable[[Actor], Future[Any]]
    again: Callable[[Actor], Future[Any]] | None = None
    paused: bool = False
    adaptive: bool = False
    divides: bool = False
    """It takes runs one by one, and passes over what somebody holds: each may come before or after the other's work."""


# --- engines ---------------------------------------------------------------------------------------------------------


def _fire(actor: Actor) -> Future[Any]:
    """The first is the instance whose lease is over, and which nobody has told so yet."""
    return _fired(actor, actor.cast.lapsed if actor.name == "first" else actor.number)


def _fire_again(actor: Actor) -> Future[Any]:
    """Fire as before, or, if the lease was taken away, as an instance that has joined anew."""
    future = _fire(actor)
    return future if future.result(SECONDS) is not None else _fired(actor, actor.number)


def _fired(actor: Actor, number: int) -> Future[Any]:
    instance = actor.instance(number)
    return actor.write(actor.led(instance, lambda t: FireStep(instance).on_time(t, LIMIT)))


def _rescue(actor: Actor) -> Future[Any]:
    instance = actor.instance(actor.number)
    return actor.write(actor.led(instance, lambda t: RescueStep(instance).claim(t, LIMIT)))


def _chunk(actor: Actor) -> Future[Any]:
    instance = actor.instance(actor.number)
    return actor.write(actor.led(instance, lambda t: BackfillStep(instance).due(t, LIMIT)))


def _outcomes(actor: Actor) -> list[Outcome]:
    return [Outcome(*held, RunState.SUCCESS, result='"done"') for held in actor.cast.held]


def _settle(actor: Actor) -> Future[Any]:
    """The worker whose lease is over says how its runs have ended."""
    instance = actor.instance(actor.cast.lapsed)
    return actor.write(actor.led(instance, lambda t: SettleStep(instance).settle(t, _outcomes(actor))))


def _settle_late(actor: Actor) -> Future[Any]:
    """The same once it has joined anew: only its fences are left of what it held."""
    return actor.write(lambda t: SettleStep(actor.instance(actor.number)).settle(t, _outcomes(actor)))


# --- people ----------------------------------------------------------------------------------------------------------


def _person(operation: Callable[..., Any], **given: Any) -> Callable[[Actor], Future[Any]]:
    def send(actor: Actor) -> Future[Any]:
        request_id = f"{actor.name}-{operation.__name__}"
        return actor.write(lambda t: operation(actor.session(t), "report", request_id=request_id, **given))

    return send


def _update(actor: Actor) -> Future[Any]:
    """Somebody changes what he has read: every other minute, and what runs."""

    def update(transaction: Transaction) -> Any:
        given: dict[str, Any] = {"cron": ["*/2 * * * *"], "description": actor.name, "payload": [actor.name]}
        return crud.patch(actor.session(transaction), "report", token=actor.cast.token, **given)

    return actor.write(update)


def _migrate(actor: Actor) -> Future[Any]:
    return actor.threads.submit(lambda: PostgresMigrator(actor.url).apply(2, SCRIPT))


PARTS: dict[str, Part] = {
    "fire": Part(_fire, _fire_again),
    "settle": Part(_settle, _settle_late),
    "rescue": Part(_rescue, _rescue, divides=True),
    "pause": Part(_person(control.pause, note="stop")),
    "resume": Part(_person(control.resume, on_resume="fire_once"), paused=True),
    "update": Part(_update),
    "delete": Part(_person(crud.delete)),
    "trigger": Part(_person(control.trigger, overlap="queue")),
    "backfill": Part(_chunk),
    "skip": Part(_person(control.skip, at=[when("08:02")])),
    "hint": Part(_person(hints.hint, interval_ms=90_000), adaptive=True),
    "migrate": Part(_migrate, _migrate),
}
PAIRS: tuple[tuple[str, str], ...] = tuple(combinations_with_replacement(PARTS, 2))


def kind_of(pair: tuple[str, str]) -> Kind:
    """The world in which both have something to do."""
    parts = [PARTS[name] for name in pair]
    is_adaptive = any(part.adaptive for part in parts)
    idle = is_adaptive and not {"settle", "rescue"} & set(pair)
    return Kind(any(part.paused for part in parts), is_adaptive, idle)


# --- answers ---------------------------------------------------------------------------------------------------------


def is_left_out(answers: list[Any]) -> bool:
    """Whether its loop comes again: it passed over what the other held, has lost its lease, or is to try again."""
    last = answers[-1]
    if isinstance(last, TompionError):
        return last.retryable
    return last is None or (
        isinstance(last, StepResult) and not last.outcomes and (last.claimed > 0 or len(answers) == 1)
    )


def launched(answers: list[Any]) -> Launched:
    """The launches that answers ask for."""
    steps = [answer for answer in answers if isinstance(answer, StepResult)]
    return tuple(sorted((*row.id, row.attempt, row.version) for step in steps for row, _ in step.launches))


def shown(answers: list[Any]) -> tuple[str, ...]:
    """What a caller was told, in all: however many transactions that took."""
    told = [of_run(run[:3], f"launch {run[3:]}") for run in launched(answers)]
    for answer in answers:
        if isinstance(answer, StepResult) and not answer.outcomes:
            told += [of_run(row.id, "end") for row in answer.to_end]
            told += [of_run(row.id, "discard") for row, _ in answer.discarded]
        elif isinstance(answer, StepResult):
            told.append(repr(("settled", sorted(answer.accepted), sorted(answer.retried), answer.stale)))
        elif not isinstance(answer, TompionError):
            told += [] if answer is None else [repr(answer)]
        elif not answer.retryable:
            told.append(repr(f"{type(answer).__name__}: {answer}"))
    return tuple(sorted(told))
