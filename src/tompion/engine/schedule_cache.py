"""The rules that an engine remembers, by schedule and version: a claim needs no second look at definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tompion.errors import TompionError
from tompion.model.rows import DefinitionRow
from tompion.model.schedule_state import ScheduleState
from tompion.model.spec import NamedCalendar
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.stored_definition import compiled_from_row, stored_calendar
from tompion.store.base import Transaction

REMEMBERED_RULES = 200_000
UNREADABLE = (TompionError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a definition that makes no sense can raise; an error of the database is none of these."""


class ScheduleCache:
    """A bounded memory of rules.  A version never changes, so nothing in it can be out of date."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: dict[tuple[int, int], CompiledSchedule] = {}
        self._newest: dict[int, CompiledSchedule] = {}
        self.broken: dict[int, str] = {}

    def of(self, transaction: Transaction, states: Iterable[ScheduleState]) -> dict[int, CompiledSchedule]:
        """Return the rules of dials, by schedule; one that cannot be compiled is left out and noted in ``broken``."""
        return self.of_versions(transaction, [(state.schedule_key, state.version) for state in states])

    def of_versions(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> dict[int, CompiledSchedule]:
        """Return the rules of versions, by schedule; of each there is one."""
        known = self._known_of(transaction, pairs)
        return {pair[0]: compiled for pair in pairs if (compiled := known.get(pair)) is not None}

    def by_version(
        self, transaction: Transaction, pairs: list[tuple[int, int]]
    ) -> dict[tuple[int, int], CompiledSchedule]:
        """Return the rules of versions, by schedule and version."""
        known = self._known_of(transaction, pairs)
        return {pair: compiled for pair in pairs if (compiled := known.get(pair)) is not None}

    def newest(self, schedule_key: int) -> CompiledSchedule | None:
        """Return the rule of a schedule that was read last, if any is remembered."""
        return self._newest.get(schedule_key)

    def newest_of(self, schedule_keys: Iterable[int]) -> list[CompiledSchedule | None]:
        """Return the rules of many schedules that were read last, in the same order."""
        return list(map(self._newest.get, schedule_keys))

    def problem(self, schedule_key: int) -> str:
        """Return why a schedule has no rule."""
        return self.broken.get(schedule_key, "its dial or its definition is missing")

    def _known_of(
        self, transaction: Transaction, pairs: list[tuple[int, int]]
    ) -> dict[tuple[int, int], CompiledSchedule]:
        missing = [pair for pair in pairs if pair not in self._known]
        if missing:
            self._load(transaction, missing)
        return self._known

    def _load(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> None:
        while len(self._known) + len(pairs) > REMEMBERED_RULES and self._known:
            forgotten = next(iter(self._known))
            self._known.pop(forgotten)
            self._newest.pop(forgotten[0], None)
        for row in transaction.version_list_definitions(pairs):
            try:
                compiled = compiled_from_row(row, _calendars(transaction, row))
            except UNREADABLE as error:
                self.broken[row.schedule_key] = f"{row.schedule_id}: {error}"
            else:
                self._known[row.schedule_key, row.version] = self._newest[row.schedule_key] = compiled
                self.broken.pop(row.schedule_key, None)


@lru_cache(maxsize=1_024)
def document_of(text: str) -> Any:
    """Return a workflow's document."""
    return json.loads(text)


def _calendars(transaction: Transaction, row: DefinitionRow) -> tuple[NamedCalendar, ...]:
    return tuple(stored_calendar(calendar.document) for calendar in transaction.calendar_list_for_version(row))
