"""A store with very many schedules whose next ticks are those of their specs, and a few that are paused."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import closing

from bench.engine.fill import Due, connected, fill, tidy
from tompion.model.rows import DefinitionRow
from tompion.plan.stored_definition import compiled_from_row

AHEAD_S = 600
"""Nothing is due earlier, because the web UI is measured and not an engine."""
PAUSED_EVERY = 500


def insert_schedules(url: str, count: int) -> None:
    """Insert schedules into an empty store."""
    now_s = int(time.time())
    fill(url, count, Due(now_s + AHEAD_S, now_s + AHEAD_S))
    mark = "?" if url.startswith("sqlite") else "%s"
    with closing(connected(url)) as connection:
        keys: defaultdict[str, list[int]] = defaultdict(list)
        for key, spec in connection.execute("SELECT schedule_key, spec FROM schedule_versions"):
            keys[spec].append(key)
        rows = [
            (tick, tick * 1000, key)
            for spec, schedule_keys in keys.items()
            for tick in _next(spec, now_s)
            for key in schedule_keys
        ]
        connection.cursor().executemany(
            f"UPDATE schedule_state SET next_nominal_s = {mark}, next_fire_ms = {mark} WHERE schedule_key = {mark}",  # noqa: S608 - our own names
            rows,
        )
        connection.commit()
    pause_some(url)
    tidy(url)


def _next(spec: str, now_s: int) -> list[int]:
    rule = compiled_from_row(DefinitionRow(0, 0, "default", "any", spec, "{}", "{}", None, ""), ())
    tick = rule.ticks.next_epoch(now_s + AHEAD_S)
    return [] if tick is None else [tick]


def pause_some(url: str) -> None:
    """Pause a few of all schedules in the past, without events."""
    mark, true = ("?", "1") if url.startswith("sqlite") else ("%s", "true")
    with closing(connected(url)) as connection:
        keys = connection.execute(
            f"SELECT schedule_key FROM schedules WHERE schedule_key % {PAUSED_EVERY} = 0"  # noqa: S608 - our own names
        ).fetchall()
        for table, change in (
            ("schedules", f"state = 'paused', paused_by = 'ann', paused_ms = {int(time.time()) * 1000}"),
            ("schedule_state", f"paused = {true}"),
        ):
            connection.cursor().executemany(
                f"UPDATE {table} SET {change} WHERE schedule_key = {mark}",  # noqa: S608 - our own names
                keys,
            )
        connection.commit()
