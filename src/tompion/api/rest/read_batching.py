"""Small questions that are asked at the same time: one transaction of the store answers several of them.

To begin and to end a transaction, and to wake a thread for it, costs more than such an answer.  Whoever asks while
others are being answered waits for the next transaction, which begins after the question: no answer is older than that.
Only questions about the same namespace wait for each other, and not for a transaction that is slow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from tompion.errors import TompionError
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, crud

MAX_BATCH = 32
TIMEOUT_S = 0.05
"""How long a transaction may take before others no longer wait for it."""
Plural = Callable[[OperationContext, Sequence[Any]], list[Any]]
"""An operation that takes the arguments of several questions; instead of an answer, it may return an error."""


class BatchKey(NamedTuple):
    """What one transaction can answer, however many ask: it sees one namespace."""

    operation: Callable[..., Any]
    namespace: str


class PendingRead(NamedTuple):
    """What somebody asks about, and where the answer is awaited."""

    argument: Any
    answer: asyncio.Future[Any]


class ReadBatcher:
    """Who asks, and who is being answered."""

    def __init__(self, runner: OperationRunner) -> None:
        """Take who answers."""
        self._runner = runner
        self._waiting: dict[BatchKey, deque[PendingRead]] = {}
        """Topics that a transaction is about, and who waits for the next one."""
        self._awaited: dict[BatchKey, object] = {}

    def ask(self, operation: Callable[..., Any], namespace: str, argument: Any) -> asyncio.Future[Any]:
        """Ask for what a light operation returns."""
        topic = BatchKey(operation, namespace)
        question = PendingRead(argument, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(topic, deque()).append(question)
        if topic not in self._awaited:
            self._go_on(topic)
        return question.answer

    def _go_on(self, topic: BatchKey) -> None:
        waiting = self._waiting[topic]
        if not waiting:
            del self._waiting[topic]
            return
        together = [waiting.popleft() for _ in range(min(len(waiting), MAX_BATCH))]
        self._awaited[topic] = awaited = object()
        self._send(topic, together, awaited)
        asyncio.get_running_loop().call_later(TIMEOUT_S, self._wait_no_longer, topic, awaited)

    def _wait_no_longer(self, topic: BatchKey, awaited: object) -> None:
        if self._awaited.get(topic) is awaited:
            del self._awaited[topic]
            self._go_on(topic)

    def _send(self, topic: BatchKey, questions: list[PendingRead], awaited: object) -> None:
        bound = partial(_answers, LIGHT[topic.operation], [question.argument for question in questions])
        try:
            sent = self._runner.send(bound, namespace=topic.namespace, actor="", writes=False)
        except RuntimeError as error:  # the store is being closed
            sent = Future()
            sent.set_exception(error)
        asyncio.wrap_future(sent).add_done_callback(partial(self._end, topic, questions, awaited))

    def _end(
        self, topic: BatchKey, questions: list[PendingRead], awaited: object, done: asyncio.Future[list[Any]]
    ) -> None:
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is None:
            for question, found in zip(questions, done.result(), strict=True):
                _settle(question, found)
        elif len(questions) == 1:
            _settle(questions[0], error)
        else:  # one of them has failed the transaction of all
            for question in questions:
                self._send(topic, [question], awaited)
        self._wait_no_longer(topic, awaited)


def one_by_one(operation: Callable[..., Any]) -> Plural:
    """Return the plural of an operation that has none of its own."""

    def each(session: OperationContext, arguments: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for argument in arguments:
            try:
                found.append(operation(session, argument))
            except TompionError as error:
                found.append(error)
        return found

    return each


def _answers(plural: Plural, arguments: Sequence[Any], session: OperationContext) -> list[Any]:
    return plural(session, arguments)


def _settle(question: PendingRead, found: Any) -> None:
    if question.answer.done():
        return  # nobody waits any more
    if isinstance(found, asyncio.CancelledError):
        question.answer.cancel()
    elif isinstance(found, BaseException):
        question.answer.set_exception(found)
    else:
        question.answer.set_result(found)


LIGHT: dict[Callable[..., Any], Plural] = {
    crud.get: crud.get_each,
    read.run: one_by_one(read.run),
    backfills.get_backfill: one_by_one(backfills.get_backfill),
}
"""Operations that read one thing by its name, which is all they take, and their plurals."""
