"""Registered search attributes of a namespace."""

from __future__ import annotations

from collections.abc import Mapping

from tompion.errors import AlreadyExists, InvalidField
from tompion.model.search_attribute import AttributeType
from tompion.operations.context import OperationContext
from tompion.operations.schedules.attributes import check_attribute_name
from tompion.operations.schedules.repository import AuditEntry, audit_other

MAX_REGISTERED = 1_000


def search_attribute_types(context: OperationContext) -> dict[str, str]:
    """Return the registered search attributes of a namespace with their types."""
    return context.transaction.search_attribute_list(context.namespace)


def add_search_attributes(context: OperationContext, types: Mapping[str, str]) -> None:
    """Register search attributes. A registered name keeps its type."""
    registered = search_attribute_types(context)
    requested = {check_attribute_name(name, context.settings): AttributeType(kind) for name, kind in types.items()}
    for name, kind in requested.items():
        if registered.get(name, kind) != kind:
            raise AlreadyExists(f"the search attribute {name!r} has the type {registered[name]}")
    if len(registered | requested) > MAX_REGISTERED:
        raise InvalidField(
            "search_attributes", f"the namespace would have more than {MAX_REGISTERED} of them; reuse existing names"
        )
    for name, kind in requested.items():
        if name not in registered:
            context.transaction.search_attribute_insert(context.namespace, name, kind)
            audit_other(context, AuditEntry("add_search_attribute", after={"name": name, "type": str(kind)}))
