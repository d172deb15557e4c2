"""Cache of compiled schedules, by schedule and version, so that a claim needs no second query."""

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
from tompion.plan.zone_tables import current_zones_text
from tompion.spec.zone.tables import TZDATA_VERSION
from tompion.store.base import Transaction

MAX_CACHED_SCHEDULES = 200_000
UNREADABLE = (TompionError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Errors that a damaged definition can raise. Errors of the database are not among them."""


class ScheduleCache:
    """Bounded cache of compiled schedules. A version never changes, so no entry can be outdated.

    ``tzdata`` is the release of the time zone data that the schedules are compiled with.
    """

    tzdata = TZDATA_VERSION

    def __init__(self) -> None:
        self._by_version: dict[tuple[int, int], CompiledSchedule] = {}
        self._newest: dict[int, CompiledSchedule] = {}
        self.broken: dict[int, str] = {}
        """Why a schedule cannot be compiled, by schedule key."""

    def of(self, transaction: Transaction, states: Iterable[ScheduleState]) -> dict[int, CompiledSchedule]:
        """Return the compiled schedules of states, by schedule key, without those that cannot be compiled."""
        return self.of_versions(transaction, [(state.schedule_key, state.version) for state in states])

    def of_versions(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> dict[int, CompiledSchedule]:
        """Return the compiled schedules of one version per schedule, by schedule key."""
        cached = self._loaded(transaction, pairs)
        return {pair[0]: compiled for pair in pairs if (compiled := cached.get(pair)) is not None}

    def by_version(
        self, transaction: Transaction, pairs: list[tuple[int, int]]
    ) -> dict[tuple[int, int], CompiledSchedule]:
        """Return compiled schedules, by schedule key and version."""
        cached = self._loaded(transaction, pairs)
        return {pair: compiled for pair in pairs if (compiled := cached.get(pair)) is not None}

    def newest(self, schedule_key: int) -> CompiledSchedule | None:
        """Return the version of a schedule that was loaded last, if one is cached."""
        return self._newest.get(schedule_key)

    def newest_of(self, schedule_keys: Iterable[int]) -> list[CompiledSchedule | None]:
        """Return the versions that were loaded last, in the order of the schedule keys."""
        return list(map(self._newest.get, schedule_keys))

    def current_zones(self, zones: str) -> str:
        """Return a text of zone tables (:mod:`tompion.plan.zone_tables`) with those of this process."""
        return current_zones_text(zones)

    def is_outdated(self, zones: str) -> bool:
        """Return whether this process has other tables for some zones."""
        return zones != self.current_zones(zones)

    def compile(self, row: DefinitionRow, calendars: tuple[NamedCalendar, ...]) -> CompiledSchedule:
        """Return a definition, compiled with the time zone tables of this process."""
        return compiled_from_row(row, calendars)

    def problem(self, schedule_key: int) -> str:
        """Return why a schedule cannot be compiled."""
        return self.broken.get(schedule_key, "its state or its definition is missing")

    def _loaded(
        self, transaction: Transaction, pairs: list[tuple[int, int]]
    ) -> dict[tuple[int, int], CompiledSchedule]:
        """Load the versions that are missing. Return the cache."""
        missing = [pair for pair in pairs if pair not in self._by_version]
        if missing:
            self._load(transaction, missing)
        return self._by_version

    def _load(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> None:
        """Compile versions into the cache, and remove the oldest if it is full."""
        while len(self._by_version) + len(pairs) > MAX_CACHED_SCHEDULES and self._by_version:
            oldest = next(iter(self._by_version))
            self._by_version.pop(oldest)
            self._newest.pop(oldest[0], None)
        for row in transaction.version_list_definitions(pairs):
            try:
                compiled = self.compile(row, _calendars(transaction, row))
            except UNREADABLE as error:
                self.broken[row.schedule_key] = f"{row.schedule_id}: {error}"
            else:
                self._by_version[row.schedule_key, row.version] = self._newest[row.schedule_key] = compiled
                self.broken.pop(row.schedule_key, None)


@lru_cache(maxsize=1_024)
def parse_document(text: str) -> Any:
    """Return a workflow's document as JSON value."""
    return json.loads(text)


def _calendars(transaction: Transaction, row: DefinitionRow) -> tuple[NamedCalendar, ...]:
    return tuple(stored_calendar(calendar.document) for calendar in transaction.calendar_list_for_version(row))
