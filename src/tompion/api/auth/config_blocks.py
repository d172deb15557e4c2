"""Configuration blocks of issuers and certificates: read strictly. Errors name the file, the block and the field."""

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
    """The fields of one block. ``where`` names the block in errors."""

    def __init__(self, where: str, fields: Mapping[str, Any], names: Sequence[str]) -> None:
        self._where = where
        self._fields = fields
        for name in fields:
            if name not in names:
                self.refuse(name, f"unknown field; expected one of {', '.join(names)}")

    def refuse(self, field: str, problem: str) -> NoReturn:
        """Raise an error about a field."""
        raise InvalidField(f"{self._where}: {field}", problem)

    def present(self, *names: str) -> list[str]:
        """Return the names of the fields that the block has."""
        return [name for name in names if name in self._fields]

    def text(self, field: str) -> str:
        """Return the value of a required text field."""
        return self._checked_text(field, self._required(field))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return the values of a required field that holds one text or a list of strings."""
        value = self._required(field)
        values = value if isinstance(value, list) else [value]
        if not values:
            self.refuse(field, "empty list; expected text, or a list of strings")
        return tuple(self._checked_text(field, text) for text in values)

    def seconds(self, field: str, default: int, minimum: int, maximum: int) -> int:
        """Return the value of a field in seconds."""
        value = self._fields.get(field, default)
        if type(value) is not int or not minimum <= value <= maximum:
            self.refuse(field, f"{display(value)}; expected a whole number of seconds from {minimum} to {maximum}")
        return value

    def file(self, field: str) -> bytes:
        """Return the content of the file that a field names."""
        path = Path(self.text(field))
        try:
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            self.refuse(field, f"{path}: {error.strerror}")
        if len(content) > MAX_FILE_BYTES:
            self.refuse(field, f"{path}: more than {MAX_FILE_BYTES} bytes")
        return content

    def table(self, field: str) -> Mapping[str, Any]:
        """Return the value of a required table that is not empty."""
        value = self._required(field)
        if not isinstance(value, Mapping) or not value:
            self.refuse(field, f"{display(value)}; expected a table such as {{ default = 'reader' }}")
        return value

    def roles(self, field: str, table: Any = None) -> dict[str, Role]:
        """Return the roles by namespace in a table: the field's own, or one inside it."""
        table = self.table(field) if table is None else table
        roles = roles_of(table)
        if not roles:
            problem = "expected a table of namespaces and roles, such as { default = 'reader' }; roles are"
            self.refuse(field, f"{display(table)}; {problem} {', '.join(ROLES)}")
        return roles

    def _required(self, field: str) -> Any:
        if field not in self._fields:
            self.refuse(field, "required field is missing")
        return self._fields[field]

    def _checked_text(self, field: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not value.isprintable() or len(value) > MAX_NAME_CHARS:
            self.refuse(field, f"{display(value)}; expected text of up to {MAX_NAME_CHARS} characters")
        return value


def roles_of(table: Any) -> dict[str, Role] | None:
    """Return the roles by namespace in a table. Returns ``None`` if any part of it is not valid."""
    if not isinstance(table, Mapping):
        return None
    roles: dict[str, Role] = {}
    for namespace, role in table.items():
        is_valid = isinstance(role, str) and role in ROLES and namespace.isprintable()
        if not is_valid or not 0 < len(namespace) <= MAX_NAME_CHARS:
            return None
        roles[namespace] = ROLES[role]
    return roles
