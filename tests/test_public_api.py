"""The public API: each class that a public signature mentions can be imported from ``tompion``."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import tompion
from tompion.contract.calls import AsyncGroup, SyncGroup

BUILT_BY_TOMPION = (tompion.RunContext, tompion.RunLauncher, AsyncGroup, SyncGroup)
"""Classes whose constructor takes parts of the engine or an app. Users receive them, or pass an app."""


def test_each_class_in_a_public_signature_is_public() -> None:
    """Otherwise a user cannot annotate a variable, catch an error or build an argument without a private import."""
    public = {getattr(tompion, name) for name in tompion.__all__}
    unknown: dict[str, str] = {}
    pending = list(public)
    seen: set[Any] = set()
    while pending:
        item = pending.pop()
        if item in seen:
            continue
        seen.add(item)
        for where, mentioned in mentions(item):
            if mentioned not in public:
                unknown.setdefault(f"{mentioned.__module__}.{mentioned.__qualname__}", where)
            pending.append(mentioned)
    assert [f"{name}, in {where}" for name, where in sorted(unknown.items())] == []


def mentions(item: Any) -> Iterator[tuple[str, type]]:
    """Yield the classes of Tompion that the signatures of a public class or function mention."""
    for name, function in signatures(item):
        for hint in hints_of(function).values():
            for mentioned in classes_in(hint):
                yield f"{item.__qualname__}.{name}", mentioned


def signatures(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield a function, or the public methods, properties and fields of a class."""
    if not inspect.isclass(item):
        yield "()", item
        return
    if dataclasses.is_dataclass(item) or typing.is_typeddict(item) or hasattr(item, "_fields"):
        yield "fields", item
    for name, member in inspect.getmembers_static(item):
        is_public = name == "__init__" or not name.startswith("_")
        is_internal = name == "__init__" and issubclass(item, BUILT_BY_TOMPION)
        if is_public and not is_internal:
            function = function_of(member)
            if function is not None and (function.__module__ or "").startswith("tompion"):
                yield name, function


def function_of(member: Any) -> Callable[..., Any] | None:
    """Return the function whose signature a member has: of a method, a property or an operation."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, classmethod | staticmethod):
        return member.__func__
    operation = getattr(member, "operation", member)
    return operation if inspect.isfunction(operation) else None


def hints_of(item: Any) -> dict[str, Any]:
    """Return the types in a signature, or of the fields of a class."""
    names = names_for_types(item.__module__)
    hints = typing.get_type_hints(item, globalns=names, localns=names, include_extras=True)
    return {name: hint for name, hint in hints.items() if not name.startswith("_") and name != "context"}


def names_for_types(module_name: str) -> dict[str, Any]:
    """Return the names of a module, and those that it imports for type checkers only."""
    module = sys.modules[module_name]
    names = dict(vars(module))
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and statement.module:
                    source = importlib.import_module(statement.module)
                    names |= {alias.asname or alias.name: getattr(source, alias.name) for alias in statement.names}
    return names


def classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes of Tompion in a type."""
    if isinstance(hint, list | tuple):
        for part in hint:
            yield from classes_in(part)
    elif typing.get_origin(hint) is not None:
        yield from classes_in(typing.get_origin(hint))
        yield from classes_in(typing.get_args(hint))
    elif isinstance(hint, type) and hint.__module__.startswith("tompion"):
        yield hint
