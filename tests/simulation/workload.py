"""Which schedules there are, and what people do to them: drawn from the seed."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tompion.errors import NotFound, TompionError
from tompion.model.backfill import RUNNING
from tompion.operations.context import OperationContext
from tompion.operations.resources import targets
from tompion.operations.schedules import backfills, control, crud, hints

SPECS: tuple[dict[str, Any], ...] = (
    {"cron": ["* * * * *"]},
    {"cron": ["*/20 * * * * *"]},
    {"cron": ["*/5 * * * *"], "timezone": "Europe/Berlin"},
    {"intervals": ["30s"]},
    {"intervals": ["45s/7s"], "jitter_ms": 8_000},
    {"cron": ["* * * * *"], "jitter_ms": 15_000, "jitter_mode": "delay"},
    {"cron": ["0 */2 * * * *", "30 1-59/2 * * * *"]},
    {"intervals": [{"every": "25s", "anchor": "completion"}]},
)
GOVERNORS: tuple[dict[str, Any], ...] = (
    {"adaptive": True},
    {"adaptive": True, "failure_backoff": False},
    {"adaptive": True, "max_interval_ms": 50_000},
    {"adaptive": True, "min_interval_ms": 12_500, "max_interval_ms": 60_000},
    {"adaptive": True, "min_interval_ms": 33_000, "max_interval_ms": 33_000},
)
OVERLAPS = ("skip", "allow", "queue", "buffer_one", "cancel_other", "terminate_other")
CATCHUPS = ("none", "coalesce", "fire_immediately", "spread")
SERVED_BY_ALL = "default"
SERVED_BY_ONE = "remote"


class Request(NamedTuple):
    """Something that somebody asks for, once, whatever happens on the way."""

    at: float
    operation: str
    schedule_id: str
    arguments: dict[str, Any]
    request_id: str


def fields_of(random: Random) -> dict[str, Any]:
    """Return the definition of a schedule."""
    given: dict[str, Any] = {
        **random.choice(SPECS),
        "function": "tests.simulation.workload:nothing",
        "overlap_policy": random.choice(OVERLAPS),
        "catchup_policy": random.choice(CATCHUPS),
        "max_concurrent": random.choice((1, 1, 1, 2)),
    }
    if random.random() < 0.2:
        given["catchup_window"] = random.choice((0, 60, 600))
    if random.random() < 0.25:
        given["remaining_actions"] = random.choice((1, 2, 3, random.randint(4, 12)))
    if random.random() < 0.2:
        given["max_attempts"] = 3
    if random.random() < 0.1:
        given["pause_on_failure"] = True
    if random.random() < 0.1:
        given["min_interval_ms"] = 40_000
    if random.random() < 0.2:
        given["on_resume"] = random.choice(("skip", "fire_once"))
    if random.random() < 0.15:
        given["buffer_keep"] = "first"
    if random.random() < 0.1:
        given["max_execution_ms"] = 20_000
    if random.random() < 0.05:
        given["shadow"] = True
    if random.random() < 0.2:
        given["queue"] = SERVED_BY_ONE
    if random.random() < 0.3:
        given |= random.choice(GOVERNORS)
    return given


def requests_of(random: Random, names: list[str], seconds: float) -> list[Request]:
    """Return what people ask for during a story, in order."""
    asked = []
    operations = [*random.choices(tuple(_ARGUMENTS), k=random.randint(4, 14)), *["hint"] * random.randint(0, 4)]
    for number, operation in enumerate(operations):
        name = random.choice(names)
        asked.append(
            Request(random.uniform(5, seconds), operation, name, _ARGUMENTS[operation](random), f"request-{number}")
        )
    return sorted(asked)


def cancellations_of(seed: int, asked: list[Request]) -> list[Request]:
    """Return who cancels what was asked to be run again: drawn apart, so that all other stories stay as they are."""
    random = Random(f"{seed}/cancellations")
    return [
        Request(each.at + random.uniform(1, 60), "cancel_backfill", each.schedule_id, {}, f"{each.request_id}-not")
        for each in asked
        if each.operation == "backfill" and random.random() < 0.4
    ]


def perform(session: OperationContext, request: Request, now_s: float) -> Any:
    """Do what was asked for; what does not fit the moment is refused, and that is fine."""
    given = dict(request.arguments)
    operation = request.operation
    if operation == "target":
        if given["pause"]:
            return targets.pause_target(session, queue=SERVED_BY_ALL)
        return targets.resume_target(session, queue=SERVED_BY_ALL)
    if operation == "backfill":
        end = given.pop("end_ago")
        given["ranges"] = [(now_s - end - given.pop("length"), now_s - end)]
    if operation == "pause" and "until_in" in given:
        given["until"] = now_s + given.pop("until_in")
    if operation == "hint" and "at_in" in given:
        given["at"] = now_s + given.pop("at_in")
    if operation == "calm":
        operation = given.pop("how")
    return _OPERATIONS[operation](session, request.schedule_id, request_id=request.request_id, **given)


def refused(error: BaseException) -> bool:
    """Whether an answer says that the request did not fit, rather than that the store failed."""
    return isinstance(error, TompionError) and not error.retryable


def _cancel_newest(session: OperationContext, schedule_id: str, *, request_id: str) -> Any:
    """Cancel the backfill of a schedule that was asked for last, unless it is over."""
    for found in backfills.backfills(session, schedule_id, limit=1):
        if found.state == RUNNING:
            return backfills.cancel_backfill(session, found.backfill_id, request_id=request_id)
    raise NotFound(f"{schedule_id} has no backfill that goes on")


async def nothing() -> None:
    """What the schedules would run."""


_OPERATIONS: dict[str, Any] = {
    "pause": control.pause,
    "resume": control.resume,
    "trigger": control.trigger,
    "backfill": backfills.backfill,
    "cancel_backfill": _cancel_newest,
    "skip": control.skip,
    "patch": crud.patch,
    "hint": hints.hint,
    "clear_hints": hints.clear_hints,
    "reset_failures": hints.reset_failures,
    "upsert": crud.upsert,
    "delete": crud.delete,
}
_ARGUMENTS: dict[str, Any] = {
    "pause": lambda random: random.choice(({}, {"until_in": random.uniform(20, 200)}, {"note": "stop"})),
    "resume": lambda random: random.choice(({}, {"on_resume": random.choice(("policy", "skip", "fire_once"))})),
    "trigger": lambda random: random.choice(({}, {"overlap": random.choice(OVERLAPS)})),
    "backfill": lambda random: {
        "end_ago": random.uniform(0, 300),
        "length": random.uniform(60, 900),
        "overlap": random.choice(("queue", "queue", "allow", "skip")),
        "only": random.choice(("all", "all", "missing", "failed")),
    },
    "skip": lambda _random: {},
    "patch": lambda random: random.choice(
        (
            {"overlap_policy": random.choice(OVERLAPS)},
            {"catchup_policy": random.choice(CATCHUPS)},
            {"remaining_actions": random.choice((None, 0, 5))},
            {"cron": ["*/30 * * * * *"], "intervals": [], "jitter_ms": 0},
            {"description": "changed"},
            {"adaptive": True, "min_interval_ms": 0},
            {"adaptive": False, "max_interval_ms": None, "failure_backoff": True},
        )
    ),
    "hint": lambda random: {
        **random.choice(
            (
                {"interval_ms": random.choice((3_000, 10_000, 90_000, 150_000))},
                {"at_in": random.uniform(-5, 90)},
                {"interval_ms": 20_000, "at_in": random.uniform(0, 40)},
            )
        ),
        **random.choice(({}, {"ttl_ms": random.choice((15_000, 100_000))})),
    },
    "calm": lambda random: {"how": random.choice(("clear_hints", "reset_failures"))},
    "upsert": fields_of,
    "delete": lambda random: {"purge": random.random() < 0.3},
    "target": lambda random: {"pause": random.random() < 0.5},
}
