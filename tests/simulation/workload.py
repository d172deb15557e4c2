"""The schedules of a scenario and the requests of its users, drawn from the seed."""

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
    """A request of a user, which takes effect once however often it is sent."""

    at: float
    operation: str
    schedule_id: str
    arguments: dict[str, Any]
    request_id: str


def draw_fields(random: Random) -> dict[str, Any]:
    """Return the definition of a schedule."""
    fields: dict[str, Any] = {
        **random.choice(SPECS),
        "function": "tests.simulation.workload:nothing",
        "overlap_policy": random.choice(OVERLAPS),
        "catchup_policy": random.choice(CATCHUPS),
        "max_concurrent": random.choice((1, 1, 1, 2)),
    }
    if random.random() < 0.2:
        fields["catchup_window"] = random.choice((0, 60, 600))
    if random.random() < 0.25:
        fields["remaining_actions"] = random.choice((1, 2, 3, random.randint(4, 12)))
    if random.random() < 0.2:
        fields["max_attempts"] = 3
    if random.random() < 0.1:
        fields["pause_on_failure"] = True
    if random.random() < 0.1:
        fields["min_interval_ms"] = 40_000
    if random.random() < 0.2:
        fields["on_resume"] = random.choice(("skip", "fire_once"))
    if random.random() < 0.15:
        fields["buffer_keep"] = "first"
    if random.random() < 0.1:
        fields["max_execution_ms"] = 20_000
    if random.random() < 0.05:
        fields["shadow"] = True
    if random.random() < 0.2:
        fields["queue"] = SERVED_BY_ONE
    if random.random() < 0.3:
        fields |= random.choice(GOVERNORS)
    return fields


def draw_requests(random: Random, names: list[str], seconds: float) -> list[Request]:
    """Return the requests of the users during a scenario, in order."""
    requests = []
    operations = [*random.choices(tuple(_ARGUMENTS), k=random.randint(4, 14)), *["hint"] * random.randint(0, 4)]
    for number, operation in enumerate(operations):
        name = random.choice(names)
        requests.append(
            Request(random.uniform(5, seconds), operation, name, _ARGUMENTS[operation](random), f"request-{number}")
        )
    return sorted(requests)


def draw_cancellations(seed: int, requests: list[Request]) -> list[Request]:
    """Return the cancellations of backfills. Their own generator keeps the other draws of the seed unchanged."""
    random = Random(f"{seed}/cancellations")
    return [
        Request(
            request.at + random.uniform(1, 60), "cancel_backfill", request.schedule_id, {}, f"{request.request_id}-not"
        )
        for request in requests
        if request.operation == "backfill" and random.random() < 0.4
    ]


def draw_outages(seed: int, seconds: float) -> tuple[tuple[float, float], ...]:
    """Return the outages of the target, in some scenarios. Their own generator keeps the other draws unchanged."""
    random = Random(f"{seed}/outages")
    if random.random() < 0.75:
        return ()
    starts = [random.uniform(0, seconds - 60) for _ in range(random.randint(1, 3))]
    return tuple((start, start + random.choice((0.2, 5.0, 50.0))) for start in starts)


def perform(session: OperationContext, request: Request, now_s: float) -> Any:
    """Perform a request. An operation that does not fit the current state raises an error."""
    arguments = dict(request.arguments)
    operation = request.operation
    if operation == "target":
        if arguments["pause"]:
            return targets.pause_target(session, queue=SERVED_BY_ALL)
        return targets.resume_target(session, queue=SERVED_BY_ALL)
    if operation == "backfill":
        end_ago_s = arguments.pop("end_ago")
        arguments["ranges"] = [(now_s - end_ago_s - arguments.pop("length"), now_s - end_ago_s)]
    if operation == "pause" and "until_in" in arguments:
        arguments["until"] = now_s + arguments.pop("until_in")
    if operation == "hint" and "at_in" in arguments:
        arguments["at"] = now_s + arguments.pop("at_in")
    if operation == "calm":
        operation = arguments.pop("how")
    return _OPERATIONS[operation](session, request.schedule_id, request_id=request.request_id, **arguments)


def edits_without_change(session: OperationContext, request: Request, now_s: float) -> bool:
    """Perform a request, and return whether it was an edit to what is stored already. Such an edit is not audited."""
    if request.operation not in ("patch", "upsert"):
        perform(session, request, now_s)
        return False
    before = _conflict_token(session, request.schedule_id)
    perform(session, request, now_s)
    return before is not None and _conflict_token(session, request.schedule_id) == before


def _conflict_token(session: OperationContext, schedule_id: str) -> int | None:
    """Return the conflict token of a schedule, or None if there is no such schedule."""
    try:
        return crud.get(session, schedule_id).conflict_token
    except NotFound:
        return None


def is_rejection(error: BaseException) -> bool:
    """Return whether an error rejects the request, as opposed to a failure of the store."""
    return isinstance(error, TompionError) and not error.retryable


def _cancel_newest(session: OperationContext, schedule_id: str, *, request_id: str) -> Any:
    """Cancel the newest backfill of a schedule if it is still running."""
    for backfill in backfills.backfills(session, schedule_id, limit=1):
        if backfill.status == RUNNING:
            return backfills.cancel_backfill(session, backfill.backfill_id, request_id=request_id)
    raise NotFound(f"{schedule_id} has no running backfill")


async def nothing() -> None:
    """Do nothing. Every schedule names this function, which the recording executor never calls."""


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
    "upsert": draw_fields,
    "delete": lambda random: {"purge": random.random() < 0.3},
    "target": lambda random: {"pause": random.random() < 0.5},
}
