"""Scenarios: lists of steps, each a name and its arguments. The arguments are JSON, so that a scenario can be stored.

Times are seconds from the moment at which a step is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

NAMES = ("alpha", "beta", "gamma")
FUNCTION = "tasks:work"
OVERLAPS = ("skip", "allow", "queue", "buffer_one", "terminate_other", "cancel_other")
CATCHUPS = ("none", "coalesce", "fire_immediately", "spread")
PLAIN_OVERLAPS = OVERLAPS[:5]
PLAIN_CATCHUPS = CATCHUPS[:3]
PLAIN_SPECS: tuple[dict[str, Any], ...] = (
    {"intervals": ["60s"]},
    {"intervals": ["20s"]},
    {"intervals": ["45s/7s"]},
    {"intervals": ["5m"]},
)
SPECS: tuple[dict[str, Any], ...] = (
    {"cron": ["* * * * *"]},
    {"cron": ["*/20 * * * * *"], "timezone": "Europe/Berlin"},
    {"intervals": ["45s/7s"], "jitter_ms": 8_000},
    {"cron": ["* * * * *"], "jitter_ms": 15_000, "jitter_mode": "delay"},
    {"intervals": [{"every": "25s", "anchor": "completion"}]},
    {"cron": ["H * * * *", "*/10 * * * *"]},
    {"rrules": ["FREQ=MINUTELY;INTERVAL=3"]},
    {"times": ["2027-01-15T08:02:00Z", "2027-01-15T08:09:30Z"]},
    {"cron": ["0 0 30 2 *"]},
    {"cron": ["every minute"]},
)
ADVANCES = (0.0, 1.0, 13.0, 29.5, 47.0, 61.0, 200.0, 900.0)
PLAIN = ("upsert", "patch", "pause", "resume", "trigger", "skip", "unskip", "backfill", "delete", "get")
READS = (
    "get", "runs", "dropped_ranges", "describe", "history", "versions", "verify", "backfills", "hints",
    "list_schedules",
    "upcoming", "recent_runs", "stats", "preview",
)  # fmt: skip


class Step(NamedTuple):
    """One step of a scenario."""

    name: str
    arguments: dict[str, Any]


Scenario = list[Step]


def generate(seed: str, length: int, *, plain: bool) -> Scenario:
    """Return a scenario. A plain one has only steps that the reference knows."""
    random = Random(seed)
    created = [
        Step("upsert", {"schedule_id": name, **_fields(random, plain)}) for name in NAMES[: random.randint(1, 3)]
    ]
    scenario = created + [_step(random, plain) for _ in range(length)]
    return [_identified(random, step, number) for number, step in enumerate(scenario)]


def _identified(random: Random, step: Step, number: int) -> Step:
    """Add a request id to a change. Sometimes it is that of another change."""
    if step.name not in _GENERATORS:
        return step
    again = random.random() < 0.1
    return Step(step.name, {**step.arguments, "request_id": f"r{random.randrange(number + 1) if again else number}"})


def interval_of(text: str) -> tuple[int, int]:
    """Return the length and the offset of an interval in seconds."""
    every, offset = (int(part[:-1]) * {"s": 1, "m": 60}[part[-1]] for part in f"{text}/0s".split("/")[:2])
    return every, offset


def _step(random: Random, plain: bool) -> Step:
    chosen = random.random()
    if chosen < 0.22:
        return Step("advance", {"seconds": random.choice(ADVANCES)})
    if chosen < 0.42:
        return Step("tick", {})
    if chosen < 0.58:
        return Step("settle", {"state": random.choice(("SUCCESS", "SUCCESS", "FAILED"))})
    name = random.choice(PLAIN if plain else (*_GENERATORS, *READS))
    arguments = {} if name not in _GENERATORS else _GENERATORS[name](random, plain)
    if name not in ("list_schedules", "recent_runs", "preview", "upcoming", "pause_target", "resume_target", "stats"):
        arguments = {"schedule_id": random.choice(NAMES), **arguments}
    return Step(name, arguments)


def _fields(random: Random, plain: bool) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        **random.choice(PLAIN_SPECS if plain else PLAIN_SPECS + SPECS),
        "function": FUNCTION,
        "overlap_policy": random.choice(PLAIN_OVERLAPS if plain else OVERLAPS),
        "catchup_policy": random.choice(PLAIN_CATCHUPS if plain else CATCHUPS),
        "max_concurrent": random.choice((1, 1, 2)),
        "catchup_window": random.choice((None, None, 0, 120)),
        "on_resume": random.choice(("policy", "skip", "fire_once")),
        "buffer_keep": random.choice(("latest", "first")),
    }
    if plain:
        return arguments
    others: tuple[dict[str, Any], ...] = (
        {"remaining_actions": random.choice((0, 1, 3))},
        {"max_attempts": 3},
        {"pause_on_failure": True},
        {"min_interval_ms": 40_000},
        {"shadow": True},
        {"adaptive": True, "max_interval_ms": 50_000},
        {"payload": {"n": [1, None, "ü"]}, "labels": {"team": "a"}, "description": "d"},
        {"queue": "elsewhere"},
        {"paused": True},
    )
    for other in others:
        if random.random() < 0.15:
            arguments |= other
    return arguments


def _patch(random: Random, plain: bool) -> dict[str, Any]:
    changes: list[dict[str, Any]] = [
        {"overlap_policy": random.choice(PLAIN_OVERLAPS if plain else OVERLAPS)},
        {"catchup_policy": random.choice(PLAIN_CATCHUPS if plain else CATCHUPS)},
        {"max_concurrent": random.choice((1, 3))},
        {"catchup_window": random.choice((0, 60))},
        {"intervals": [random.choice(("30s", "60s", "2m"))]},
    ]
    if not plain:
        changes += [
            {"remaining_actions": random.choice((None, 0, 2))},
            {"conflict_token": random.randint(1, 6), "description": "guarded"},
            {"adaptive": random.choice((True, False))},
            {"jitter_ms": random.choice((0, 5_000))},
            {"max_concurrent": 0},
            {"unknown": 1},
        ]
    return random.choice(changes)


def _backfill(random: Random, plain: bool) -> dict[str, Any]:
    end_ago = random.choice((0.0, 30.0, 200.0))
    overlaps = ("queue", "allow", "skip") if plain else OVERLAPS
    return {
        "end_ago": end_ago,
        "start_ago": end_ago + random.choice((0.0, 60.0, 400.0)),
        "overlap": random.choice(overlaps),
        "only": "all" if plain else random.choice(("all", "missing", "failed")),
    }


_GENERATORS: dict[str, Callable[[Random, bool], dict[str, Any]]] = {
    "upsert": _fields,
    "patch": _patch,
    "pause": lambda random, _plain: random.choice(({}, {"until_in": 90.0}, {"note": "stop"})),
    "resume": lambda random, _plain: random.choice(({}, {"on_resume": random.choice(("policy", "skip", "fire_once"))})),
    "trigger": lambda random, plain: random.choice(
        ({}, {"overlap": random.choice(PLAIN_OVERLAPS if plain else OVERLAPS)})
    ),
    "skip": lambda random, plain: {} if plain else random.choice(({}, {"at_in": [60.0]}, {"at_in": []})),
    "unskip": lambda random, plain: {} if plain else random.choice(({}, {"at_in": [60.0]}, {"at_in": []})),
    "backfill": _backfill,
    "delete": lambda random, plain: {} if plain else {"purge": random.random() < 0.4},
    "create": _fields,
    "hint": lambda random, _plain: random.choice(({"interval_ms": 20_000}, {"hint_in": 45.0}, {"ttl_ms": 5})),
    "clear_hints": lambda _random, _plain: {},
    "reset_failures": lambda _random, _plain: {},
    "restore": lambda random, _plain: {"version": random.randint(1, 3)},
    "pause_target": lambda _random, _plain: {"queue": "default"},
    "resume_target": lambda _random, _plain: {"queue": "default"},
    "cancel_run": lambda _random, _plain: {"nth": 0},
    "terminate_run": lambda _random, _plain: {"nth": 0},
    "retry_run": lambda _random, _plain: {"nth": 0},
    "cancel_backfill": lambda _random, _plain: {"nth": 0},
}
