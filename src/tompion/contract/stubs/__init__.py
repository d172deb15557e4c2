"""The signatures of all operations, without what they need to run.

``python -m tests.documentation.stubs`` generates the modules from ``tompion.operations``. The clients need only
signatures, so they load neither the planner nor the store. An app imports an operation with its first call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from importlib import import_module
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


class OperationStub(Generic[P, T]):
    """The name, signature and documentation of an operation. A call imports the operation and runs it."""

    __name__: str

    def __init__(self, module: str, declaration: Callable[Concatenate[Any, P], T]) -> None:
        update_wrapper(self, declaration)
        self.module: str = f"tompion.operations.{module}"

    @cached_property
    def operation(self) -> Callable[Concatenate[Any, P], T]:
        """The operation itself. Its module is imported on first access."""
        return cast("Callable[Concatenate[Any, P], T]", getattr(import_module(self.module), self.__name__))

    def __call__(self, context: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the operation."""
        return self.operation(context, *args, **kwargs)


def operation_in(module: str) -> Callable[[Callable[Concatenate[Any, P], T]], OperationStub[P, T]]:
    """Return a decorator that turns a declaration into the stub of an operation in a module."""

    def decorate(declaration: Callable[Concatenate[Any, P], T]) -> OperationStub[P, T]:
        return OperationStub(module, declaration)

    return decorate
