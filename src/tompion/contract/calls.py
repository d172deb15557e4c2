"""The base of the classes whose methods are operations: the embedded app, the clients, and their resource groups."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ParamSpec, TypeVar

from tompion.contract.fields import ScheduleFields, SpecFields
from tompion.contract.stubs import OperationStub

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
FIELDS = "fields"
"""The parameter of a method that takes the fields of a schedule or a spec."""
_FIELD_TYPES = {"Unpack[ScheduleFields]": ScheduleFields, "Unpack[SpecFields]": SpecFields}


class AsyncCaller(ABC):
    """Runs operations asynchronously."""

    @abstractmethod
    async def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    async def _read(self, operation: OperationStub[..., T], arguments: Mapping[str, Any]) -> T:
        """Run an operation that writes nothing with the local variables of a method."""
        result: T = await self._run_operation(operation, (), passed_arguments(operation, arguments), writes=False)
        return result

    async def _write(self, operation: OperationStub[..., T], arguments: Mapping[str, Any]) -> T:
        """Run an operation that writes with the local variables of a method."""
        result: T = await self._run_operation(operation, (), passed_arguments(operation, arguments), writes=True)
        return result


class SyncCaller(ABC):
    """Runs operations synchronously."""

    @abstractmethod
    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        """Run an operation and return its result."""

    def _read(self, operation: OperationStub[..., T], arguments: Mapping[str, Any]) -> T:
        """Run an operation that writes nothing with the local variables of a method."""
        result: T = self._run_operation(operation, (), passed_arguments(operation, arguments), writes=False)
        return result

    def _write(self, operation: OperationStub[..., T], arguments: Mapping[str, Any]) -> T:
        """Run an operation that writes with the local variables of a method."""
        result: T = self._run_operation(operation, (), passed_arguments(operation, arguments), writes=True)
        return result


class AsyncGroup(AsyncCaller):
    """The methods of one kind of resource. They run the operations of the app or client that the group belongs to."""

    def __init__(self, api: AsyncCaller) -> None:
        self._api = api

    async def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return await self._api._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method


class SyncGroup(SyncCaller):
    """The methods of one kind of resource. They run the operations of the app or client that the group belongs to."""

    def __init__(self, api: SyncCaller) -> None:
        self._api = api

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return self._api._run_operation(operation, args, kwargs, writes=writes)  # noqa: SLF001 - as its method


def passed_arguments(operation: OperationStub[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without those that have their default."""
    defaults = _defaults(operation)
    passed = {
        name: value
        for name, value in arguments.items()
        if name not in ("self", FIELDS) and value is not ... and not _is_default(value, defaults.get(name, ...))
    }
    return {**passed, **arguments.get(FIELDS, {})}


@cache
def _defaults(operation: OperationStub[..., Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(operation).parameters.items()}


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(default, str):
        return isinstance(value, str) and value == default
    return value is default or (type(default) is int and type(value) is int and value == default)


def show_fields(method: F) -> F:
    """Expand the fields in the signature of a method, so that ``help()`` and editors show them."""
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())
    fields = _FIELD_TYPES[parameters.pop().annotation].__annotations__
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=annotation.__forward_arg__)
        for name, annotation in fields.items()
        if name not in signature.parameters
    ]
    method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions have it
    return method
