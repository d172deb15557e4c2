"""The rules that an engine remembers, by schedule and version: a claim needs no second look at definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from foliot.errors import FoliotError
from foliot.model.dial import Dial
from foliot.model.rows import DefinitionRow
from foliot.model.spec import NamedCalendar
from foliot.plan.definition import rule_of, stored_calendar
from foliot.plan.rule import Rule
from foliot.store.base import Transaction

REMEMBERED_RULES = 200_000


class Rules:
    """A bounded memory of rules.  A version never changes, so nothing in it can be out of date."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: dict[tuple[int, int], Rule] = {}
        self.broken: dict[int, str] = {}

    def of(self, transaction: Transaction, dials: Iterable[Dial]) -> dict[int, Rule]:
        """Return the rules of dials, by schedule; one that cannot be compiled is left out and noted in ``broken``."""
        return self.of_versions(transaction, [(dial.schedule_key, dial.version) for dial in dials])

    def of_versions(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> dict[int, Rule]:
        """Return the rules of versions, by schedule."""
        known = self._known
        missing = [pair for pair in pairs if pair not in known]
        if missing:
            self._load(transaction, missing)
        return {pair[0]: rule for pair in pairs if (rule := known.get(pair)) is not None}

    def newest(self, schedule_key: int) -> Rule | None:
        """Return a rule of a schedule that is remembered, the newest of them."""
        versions = [pair for pair in self._known if pair[0] == schedule_key]
        return self._known[max(versions)] if versions else None

    def _load(self, transaction: Transaction, pairs: list[tuple[int, int]]) -> None:
        while len(self._known) + len(pairs) > REMEMBERED_RULES and self._known:
            self._known.pop(next(iter(self._known)))
        for row in transaction.definitions(pairs):
            try:
                self._known[row.schedule_key, row.version] = rule_of(row, _calendars(transaction, row))
                self.broken.pop(row.schedule_key, None)
            except FoliotError as error:
                self.broken[row.schedule_key] = f"{row.schedule_id}: {error}"


@lru_cache(maxsize=1_024)
def document_of(text: str) -> Any:
    """Return a workflow's document."""
    return json.loads(text)


def _calendars(transaction: Transaction, row: DefinitionRow) -> tuple[NamedCalendar, ...]:
    return tuple(stored_calendar(calendar.document) for calendar in transaction.calendars_of(row))
