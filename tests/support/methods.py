"""The methods of the Python API by their path, such as ``schedules.list``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tompion.contract.async_methods import AsyncMethods
from tompion.contract.async_schedules import AsyncVerbs
from tompion.contract.calls import AsyncGroup, SyncGroup
from tompion.contract.sync_methods import SyncMethods
from tompion.contract.sync_schedules import SyncVerbs

VERBS = (AsyncVerbs, SyncVerbs)


def methods_of(kind: type[AsyncMethods | SyncMethods]) -> dict[str, Callable[..., Any]]:
    """Return the methods of a class and of its groups. The everyday verbs of schedules are listed once."""
    methods: dict[str, Callable[..., Any]] = dict(public_functions(kind))
    for group_name, group in groups_of(kind).items():
        verbs = {name for base in VERBS if base in group.__mro__ for name in vars(base)}
        methods |= {f"{group_name}.{name}": member for name, member in public_functions(group) if name not in verbs}
    return methods


def groups_of(kind: type[AsyncMethods | SyncMethods]) -> dict[str, type[AsyncGroup | SyncGroup]]:
    """Return the resource groups of a class by their name."""
    properties = inspect.getmembers(kind, lambda member: isinstance(member, property))
    groups = {name: inspect.signature(member.fget, eval_str=True).return_annotation for name, member in properties}
    return {
        name: group
        for name, group in groups.items()
        if isinstance(group, type) and issubclass(group, AsyncGroup | SyncGroup)
    }


def public_functions(kind: type) -> list[tuple[str, Callable[..., Any]]]:
    """Return the public methods of a class by name."""
    return [(name, member) for name, member in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
