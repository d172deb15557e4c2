"""The chain of versions: which version decided which ticks, and where the chain is broken.

Each version ends where the next one begins. Only a deletion leaves a gap: until the schedule is created again, there
are no ticks to decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tompion.encoding.instant import datetime_s
from tompion.model.rows import AuditRow, ScheduleRow, VersionRow
from tompion.operations.context import OperationContext
from tompion.plan.edit import cursor_before
from tompion.store.base import FAR_S

MAX_VERSIONS = 10_000
AUDIT_PAGE = 1_000
_NEWEST = 1 << 62
_LAST_S = 253_402_300_799  # the end of the year 9999, after which no datetime can be shown


class VersionPeriod(NamedTuple):
    """The ticks after one instant up to another, and the version that decided them."""

    version: VersionRow
    after_s: int
    until_s: int


class ChainFault(NamedTuple):
    """The ticks after one instant up to another that no version or more than one version decided."""

    kind: str
    text: str
    after_s: int
    until_s: int


def version_periods(context: OperationContext, row: ScheduleRow, cursor_s: int) -> Iterator[VersionPeriod | ChainFault]:
    """Yield the ticks that each version decided, the oldest first, and each fault in its place."""
    versions = context.transaction.version_list(row.schedule_key, MAX_VERSIONS)[::-1]
    if not versions:
        yield ChainFault("version", "all its versions are missing", 0, FAR_S)
        return
    if len(versions) < MAX_VERSIONS:
        yield from _check_first(versions[0])
    for version, following in zip(versions, [*versions[1:], None], strict=True):
        if following is None:
            yield from _check_last(version, row, cursor_s)
        else:
            yield VersionPeriod(
                version, version.after_s, following.after_s if version.until_s is None else version.until_s
            )
            yield from _check_pair(context, row, version, following)


def _check_first(first: VersionRow) -> Iterator[ChainFault]:
    """Check that the first version begins at its creation."""
    created_s = cursor_before(first.created_ms)
    if first.version > 1:
        yield _missing_versions(0, first.version, 0, first.after_s)
    elif first.after_s > created_s:
        yield _gap(created_s, first.after_s)


def _check_pair(
    context: OperationContext, row: ScheduleRow, one: VersionRow, other: VersionRow
) -> Iterator[ChainFault]:
    """Each version begins where the one before it ended."""
    if one.version + 1 < other.version:
        yield _missing_versions(
            one.version, other.version, one.after_s if one.until_s is None else one.until_s, other.after_s
        )
    elif one.until_s is None:
        yield ChainFault("overlap", f"version {one.version} has no end", other.after_s, FAR_S)
    elif one.until_s > other.after_s:
        text = f"version {other.version} decides what the one before it did"
        yield ChainFault("overlap", text, other.after_s, one.until_s)
    elif one.until_s < other.after_s and not _was_deleted(context, row, one, other):
        yield _gap(one.until_s, other.after_s)


def _check_last(last: VersionRow, row: ScheduleRow, cursor_s: int) -> Iterator[VersionPeriod | ChainFault]:
    """Check that the newest version is the schedule's own, and that only a deletion ends it."""
    in_force = row.state != "closed" and last.version == row.version
    until_s = FAR_S if in_force or last.until_s is None else last.until_s
    yield VersionPeriod(last, last.after_s, until_s)
    if last.version < row.version:
        yield _missing_versions(last.version, row.version + 1, until_s, FAR_S)
    elif last.version > row.version:
        text = f"version {last.version} is the newest, the schedule is at version {row.version}"
        yield ChainFault("version", text, FAR_S, FAR_S)
    elif in_force and last.until_s is not None:
        yield ChainFault("gap", f"version {last.version} is in force and has an end", last.until_s, FAR_S)
    elif until_s < cursor_s:
        yield _gap(until_s, cursor_s)


def last_zone_change_s(context: OperationContext, row: ScheduleRow) -> int:
    """Return the last tick that a schedule decided with older time zone data, or 0 if there is no such tick."""
    if not row.zones:
        return 0
    changes = (change for change in _changes(context, row) if change.operation == "zone_data")
    newest = next(changes, None)
    if newest is None:
        return 0
    cursor_s = json.loads(newest.after or "{}").get("cursor_s")
    return cursor_s if isinstance(cursor_s, int) else cursor_before(newest.at_ms)


def first_hint_ms(context: OperationContext, row: ScheduleRow) -> int:
    """Return when a schedule got its first hint, or a time later than any run if it never had one.

    If a part of the audit was removed, the first hint may be gone, too.
    """
    head = context.transaction.audit_head_get(row.namespace)
    if head is not None and head.gone_position:
        return 0
    return min((change.at_ms for change in _changes(context, row) if change.operation == "hint"), default=_NEWEST)


def _missing_versions(before: int, following: int, after_s: int, until_s: int) -> ChainFault:
    """Return the fault of missing versions between two numbers."""
    first, last = before + 1, following - 1
    text = f"version {first} is missing" if first == last else f"versions {first} to {last} are missing"
    return ChainFault("version", text, after_s, until_s)


def _gap(after_s: int, until_s: int) -> ChainFault:
    return ChainFault("gap", f"no version decides the ticks after it up to {time_text(until_s)}", after_s, until_s)


def _was_deleted(context: OperationContext, row: ScheduleRow, one: VersionRow, other: VersionRow) -> bool:
    """Return whether a version ended with a deletion, and the next one began when the schedule was created again."""
    assert one.until_s is not None
    if other.after_s > max(one.until_s, cursor_before(other.created_ms)):
        return False
    return any(
        change.operation in ("delete", "purge")
        and change.version == one.version
        and one.created_ms <= change.at_ms
        and cursor_before(change.at_ms) <= one.until_s
        for change in _changes(context, row)
    )


def _changes(context: OperationContext, row: ScheduleRow) -> Iterator[AuditRow]:
    number = _NEWEST
    while page := context.transaction.audit_list(row.namespace, row.schedule_id, number, AUDIT_PAGE):
        yield from page
        number = page[-1].audit_number


def time_text(seconds: int) -> str:
    """Return an instant in seconds as text."""
    return f"{displayable(seconds):%Y-%m-%d %H:%M:%SZ}"


def displayable(seconds: int) -> datetime:
    """Return an instant in seconds, or the nearest one that a datetime can hold."""
    return datetime_s(min(max(seconds, 0), _LAST_S))
