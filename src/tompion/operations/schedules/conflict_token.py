"""Conflict tokens: the number that a change compares with the stored one, as ``If-Match`` does."""

from __future__ import annotations

from tompion.errors import InvalidField, StaleToken, display
from tompion.model.rows import ScheduleRow


class _AnyToken(int):
    """A token that no schedule has and that matches every schedule."""


ANY_TOKEN = _AnyToken(-1)
"""Stands for a token if a schedule must exist, whatever its token is: ``If-Match: *``."""


def check_conflict_token(row: ScheduleRow, conflict_token: int | None) -> None:
    """Raise if the caller has read an older state of the schedule. Without a token, the last write wins."""
    if conflict_token is None or conflict_token is ANY_TOKEN:
        return
    if type(conflict_token) is not int:
        raise InvalidField(
            "conflict_token",
            f"{display(conflict_token)} is not a conflict token; send the one of the schedule that you read",
        )
    if conflict_token != row.token:
        raise StaleToken(conflict_token, row.token)
