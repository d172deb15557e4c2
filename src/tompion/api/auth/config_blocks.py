"""Blocks of a file that say whom to believe: read strictly, and refused with the file, the block and the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tompion.contract.roles import Role
from tompion.errors import InvalidField, display

ROLES = {role.name.lower(): role for role in Role if role is not Role.PUBLIC}
MAX_NAME_CHARS = 200
MAX_FILE_BYTES = 256 * 1024


class Block:
    """One block: its fields, and how errors name it."""

    def __init__(self, where: str, fields: Mapping[str, Any], known: Sequence[str]) -> None:
        """Take the fields; one that is not among the known ones is refused."""
        self._where = where
        self._fields = fields
        for name in fields:
            if name not in known:
                self.refuse(name, f"there is no such field; expected one of {', '.join(known)}")

    def refuse(self, field: str, problem: str) -> NoReturn:
        """Raise what is wrong with a field."""
        raise InvalidField(f"{self._where}: {field}", problem)

    def given(self, *names: str) -> list[str]:
        """Return which of some fields are there."""
        return [name for name in names if name in self._fields]

    def text(self, field: str) -> str:
        """Return a text that must be there."""
        return self._checked_text(field, self._present(field))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return texts of which one must be there; a single one may stand without brackets."""
        value = self._present(field)
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(field, "it is empty; expected text, or a list of texts")
        return tuple(self._checked_text(field, each) for each in values)

    def seconds(self, field: str, default: int, least: int, most: int) -> int:
        """Return a number of seconds."""
        value = self._fields.get(field, default)
        if type(value) is not int or not least <= value <= most:
            self.refuse(field, f"{display(value)}; expected a whole number of seconds from {least} to {most}")
        return value

    def file(self, field: str) -> bytes:
        """Return what stands in the file that a field names."""
        path = Path(self.text(field))
        try:
            with path.open("rb") as file:
                found = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            self.refuse(field, f"{path}: {error.strerror}")
        if len(found) > MAX_FILE_BYTES:
            self.refuse(field, f"{path}: more than {MAX_FILE_BYTES} bytes")
        return found

    def table(self, field: str) -> Mapping[str, Any]:
        """Return a table that has something in it."""
        value = self._present(field)
        if not isinstance(value, Mapping) or not value:
            self.refuse(field, f"{display(value)}; expected a table such as {{ default = 'reader' }}")
        return value

    def roles(self, field: str, table: Any = None) -> dict[str, Role]:
        """Return the roles by namespace that a table holds: the field's own, or one inside it."""
        table = self.table(field) if table is None else table
        found = roles_of(table)
        if not found:
            problem = "expected a table of namespaces and roles, such as { default = 'reader' }; roles are"
            self.refuse(field, f"{display(table)}; {problem} {', '.join(ROLES)}")
        return found

    def _present(self, field: str) -> Any:
        if field not in self._fields:
            self.refuse(field, "it must be there")
        return self._fields[field]

    def _checked_text(self, field: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not value.isprintable() or len(value) > MAX_NAME_CHARS:
            self.refuse(field, f"{display(value)}; expected text of up to {MAX_NAME_CHARS} characters")
        return value


def roles_of(table: Any) -> dict[str, Role] | None:
    """Return the roles by namespace that something says, or nothing if any part of it cannot be read."""
    if not isinstance(table, Mapping):
        return None
    found: dict[str, Role] = {}
    for namespace, role in table.items():
        right = isinstance(role, str) and role in ROLES and namespace.isprintable()
        if not right or not 0 < len(namespace) <= MAX_NAME_CHARS:
            return None
        found[namespace] = ROLES[role]
    return found
