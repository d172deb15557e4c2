"""Idempotent operations: a request id makes a change happen once."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial, wraps
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, TypeVar

from tompion.errors import InvalidField, RequestReused
from tompion.model.codec import from_plain, to_plain
from tompion.model.rows import RequestRow
from tompion.operations.context import OperationContext
from tompion.plan.stored_definition import compact

P = ParamSpec("P")
T = TypeVar("T")


def idempotent(
    kind: type[T],
) -> Callable[[Callable[Concatenate[OperationContext, P], T]], Callable[Concatenate[OperationContext, P], T]]:
    """Make an operation run once for each ``request_id``. ``kind`` is the type of its result."""

    def decorate(
        operation: Callable[Concatenate[OperationContext, P], T],
    ) -> Callable[Concatenate[OperationContext, P], T]:
        signature = inspect.signature(operation)
        assert "request_id" in signature.parameters, "a change takes a request id"

        @wraps(operation)
        def call(context: OperationContext, /, *args: P.args, **given: P.kwargs) -> T:
            request_id: Any = given.get("request_id")
            if request_id is None:
                return operation(context, *args, **given)
            bound = signature.bind(context, *args, **given)
            do = partial(operation, context, *args, **given)
            return answer_once(context, operation.__name__, request_id, _asked(bound), kind, do)

        return call

    return decorate


def answer_once(  # noqa: PLR0913 - the parts of one request
    context: OperationContext, operation: str, request_id: str, arguments: Any, kind: type[T], do: Callable[[], T]
) -> T:
    """Run an operation, or return the stored result if the same request was answered before."""
    most = context.settings.max_name_chars
    # A number would pass as text in SQLite only.
    if type(request_id) is not str or not 1 <= len(request_id) <= most or not request_id.isprintable():
        raise InvalidField("request_id", f"expected 1 to {most} printable characters")
    try:
        fingerprint = _fingerprint(operation, arguments)
    except (ValueError, RecursionError):
        return do()  # which refuses what contains itself, and says where
    known = context.transaction.request_get(context.namespace, request_id)
    if known is not None:
        if (known.operation, known.fingerprint) != (operation, fingerprint):
            raise RequestReused(f"request_id {request_id!r} was used for another request ({known.operation})")
        return from_plain(kind, json.loads(known.answer))
    answer = do()
    row = RequestRow(operation, fingerprint, compact(to_plain(answer)))
    context.transaction.request_insert(context.namespace, request_id, row, context.now_ms)
    return answer


def _asked(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return the arguments of a request, the same for positional and keyword arguments and for omitted defaults."""
    parameters = bound.signature.parameters
    return {
        name: value
        for name, value in bound.arguments.items()
        if name not in ("context", "request_id") and value is not parameters[name].default
    }


def _fingerprint(operation: str, arguments: Any) -> str:
    """Return a hash of a request. Arguments that are not JSON count with their repr, and the operation rejects them."""
    text = json.dumps([operation, to_plain(arguments)], default=repr, sort_keys=True)
    return sha256(text.encode()).hexdigest()
