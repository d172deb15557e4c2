"""Idempotent operations: a request id makes a change happen once.

Over REST the request id is the header ``Idempotency-Key``, which ``api/rest/request_binding.py`` reads.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial, wraps
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, TypeVar

from tompion.encoding.codec import from_plain, to_plain
from tompion.errors import InvalidField, RequestReused
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
        assert "request_id" in signature.parameters, "every change takes a request id"

        @wraps(operation)
        def call(context: OperationContext, /, *args: P.args, **kwargs: P.kwargs) -> T:
            request_id: Any = kwargs.get("request_id")
            if request_id is None:
                return operation(context, *args, **kwargs)
            bound = signature.bind(context, *args, **kwargs)
            operation_call = partial(operation, context, *args, **kwargs)
            return answer_once(context, operation.__name__, request_id, _request_arguments(bound), kind, operation_call)

        return call

    return decorate


def answer_once(  # noqa: PLR0913 - the parts of one request
    context: OperationContext,
    operation: str,
    request_id: str,
    arguments: Any,
    kind: type[T],
    operation_call: Callable[[], T],
) -> T:
    """Run an operation, or return the stored result if the same request was answered before."""
    most = context.settings.max_name_chars
    # SQLite alone would accept a number as text.
    if type(request_id) is not str or not 1 <= len(request_id) <= most or not request_id.isprintable():
        raise InvalidField("request_id", f"expected 1 to {most} printable characters")
    try:
        fingerprint = _fingerprint(operation, arguments)
    except (ValueError, RecursionError):
        return operation_call()  # it rejects an argument that contains itself, and names the field
    stored = context.transaction.request_get(context.namespace, request_id)
    if stored is not None:
        if (stored.operation, stored.fingerprint) != (operation, fingerprint):
            raise RequestReused(f"request_id {request_id!r} was used for another request ({stored.operation})")
        document = json.loads(stored.answer)
        if document["created"]:
            context.created.add(kind)
        return from_plain(kind, document["result"])
    answer = operation_call()
    document = {"result": to_plain(answer), "created": kind in context.created}
    row = RequestRow(operation, fingerprint, compact(document))
    context.transaction.request_insert(context.namespace, request_id, row, context.now_ms)
    return answer


def _request_arguments(bound: inspect.BoundArguments) -> dict[str, Any]:
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
