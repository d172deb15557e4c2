"""Bad input: the right error, which names the field, and no write."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.support.operations import BEGIN, FUNCTION, Bench, when
from tests.support.servers.postgres import PostgresServer
from tompion.config.settings import Settings
from tompion.errors import (
    AlreadyExists,
    InvalidField,
    InvalidInput,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    StaleToken,
    TompionError,
    UnknownZone,
)
from tompion.operations.insight.preview import preview
from tompion.operations.resources import calendars, targets, workflows
from tompion.operations.runs import read
from tompion.operations.schedules import backfills, control, crud, history
from tompion.operations.verify import schedule
from tompion.store.base import Store
from tompion.store.postgres.driver import PostgresStore
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

Call = Callable[[Bench], object]
HUGE = 10**40
NAIVE = datetime(2027, 1, 15, 8, 0)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


def attribute(kind: str, value: object) -> dict[str, object]:
    return {"type": kind, "value": value}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One store for all cases. None of them writes."""
    clock = ManualClock(BEGIN)
    store: Store = SqliteStore(clock=clock, inline=True)
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        template: str = request.getfixturevalue("postgres_template")
        store.close()
        store = PostgresStore(server.create_database(f"test_{uuid.uuid4().hex}", template), clock=clock)
    bench = Bench(store, clock, Settings(max_backfill_ticks=100, max_backfills=2, max_payload_bytes=100))
    bench.create("there", labels={"team": "x"})
    bench.create("gone")
    bench.ask(crud.delete, "gone")
    bench.create("delay", intervals=[{"every": 60, "anchor": "completion"}])
    bench.ask(workflows.put_workflow, "flow", {"function": FUNCTION})
    yield bench
    store.close()


def assert_rejected(shared_bench: Bench, call: Call, error: type[TompionError], *words: str) -> None:
    before = shared_bench.dump()
    with pytest.raises(error) as caught:
        call(shared_bench)
    for word in words:
        assert word in str(caught.value), str(caught.value)
    assert shared_bench.dump() == before


# --- fields of a definition -------------------------------------------------------------------------------------------

WRONG_TYPES: dict[str, list[object]] = {
    "cron": [5, [5], {"a": 1}, "99 * * * *", "* * *"],
    "calendars": [5, "x", [{"hour": "99"}], [{"our": 1}]],
    "intervals": [[{"every": 0}], [{"every": -5}], ["soon"], {"offset": 5}, [{"every": 60, "anchor": "begin"}]],
    "rrules": [5, "FREQ=SOMETIMES", ["FREQ=DAILY;COUNT=x"]],
    "times": [["tomorrow"], 5, [True]],
    "exclude": [5, {"dates": ["x"]}, {"days": []}],
    "timezone": [5, "Mars/Olympus", "", " "],
    "start_at": [5.5, "later", {"a": 1}],
    "end_at": ["never", []],
    "jitter_ms": [-1, "10", 1.5, True],
    "jitter_mode": ["wild", 5],
    "dst_gap": ["jump", 5],
    "dst_overlap": ["never", 5],
    "dst_profile": ["unix", 5],
    "dialect": ["klingon", 5],
    "function": [5, "", "no_colon", "a b:c", ":f", "m:", "m:f()", "x" * 201 + ":f", "a:b\n", ["m:f"]],
    "workflow_id": [5, "", "x" * 201, "a\x00b", " a"],
    "workflow_version": [0, -1, "1", 1.0, True, HUGE],
    "queue": [None, 5, "", "a\tb"],
    "user_id": [5, "", "a\x7fb"],
    "overlap_policy": ["maybe", 5, None, []],
    "catchup_policy": ["maybe", 5, None],
    "on_resume": ["maybe", 5, None],
    "buffer_keep": ["middle", 5, None],
    "max_concurrent": [0, -1, "1", 1.5, True, None, 10_001],
    "max_attempts": [0, -1, "1", None, 1_001],
    "retry_delay_ms": [-1, "1", 0.5, None],
    "min_interval_ms": [-1, "1", None, HUGE],
    "max_execution_ms": [0, -1, "1", True],
    "pause_on_failure": [1, "yes", None],
    "shadow": [0, "no", None],
    "adaptive": [0, "no", None],
    "failure_backoff": [0, "no", None, False],
    "notify": [0, "no", None],
    "max_interval_ms": [0, 999, "1", True, HUGE, 60_000],
    "catchup_window": [-1, "soon", [], "-5m"],
    "payload": [
        object(), {1, 2}, "x" * 100, float("nan"), [float("inf")], "\ud800", b"x", {1: 2}, [{"a": ({None: 1},)}],
        {True: 1, "a": 2}, {(1, 2): 3},
    ],
    "description": [5, "x" * 2_001, ["a"], "a\x00b", "\ud800"],
    "labels": [5, ["a"], {"a": 5}, {"": "x"}, {"a": "b" * 201}, {5: "a"}, {f"l{number}": "x" for number in range(65)}],
    "memo": [5, "x", {"a": float("nan")}, {"a": [float("-inf")]}, {"a": "\ud800"}, {"a": nested(101)}, {5: "a"}],
    "search_attributes": [
        5, {"a": "x"}, {"a\x00": attribute("Keyword", "x")}, {"a": attribute("Keyword", "\ud800")},
        {"a": attribute("Text", "a\x00b")}, {"a": attribute("KeywordList", ["a", "\udfff"])},
        *({"a": attribute("Double", value)} for value in (float("nan"), float("inf"), float("-inf"))),
        *({"a": attribute("Double", value)} for value in (10**400, True, "1")), {"a": attribute("Color", "red")},
        {"a": attribute("Int", float("nan"))}, {"a": attribute("Datetime", "soon")},
        {"\ud800": attribute("Keyword", "x")},
    ],
    "remaining_actions": [-1, "5", 1.5, True, HUGE],
    "paused": [1, "yes", None],
    "spec": [5, "x", {"timezone": "UTC"}, []],
}  # fmt: skip
FIELD_CASES = [(field, value) for field, values in WRONG_TYPES.items() for value in values]


@pytest.mark.parametrize(
    ("field", "value"), FIELD_CASES, ids=[f"{field}-{number}" for number, (field, _) in enumerate(FIELD_CASES)]
)
def test_an_invalid_value_is_rejected(shared_bench: Bench, field: str, value: object) -> None:
    """Create and patch reject it, with a request id too. The store remembers no answer to a bad request."""
    base: dict[str, Any] = {} if field in ("spec", "cron") else {"cron": "* * * * *"}
    action = {} if field in ("function", "workflow_id", "workflow_version") else {"function": FUNCTION}
    if field == "workflow_version":
        action = {"workflow_id": "flow"}
    alone: dict[str, Any] = {field: value}
    fields = {**base, **action, **alone}
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.create, "new", **fields), InvalidInput, field)
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.upsert, "there", **fields), InvalidInput, field)
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.patch, "there", **alone), InvalidInput, field)
    assert_rejected(
        shared_bench, lambda bench: bench.ask(crud.create, "new", request_id="bad", **fields), InvalidInput, field
    )


UNKNOWN = [
    ({"crom": "* * * * *"}, ["crom", "did you mean cron?"]),
    ({"overlap_polcy": "skip"}, ["overlap_polcy", "did you mean overlap_policy?"]),
    ({"time_zone": "UTC"}, ["time_zone", "did you mean timezone?"]),
    ({"max_attempt": 2}, ["max_attempt", "did you mean max_attempts?"]),
    ({"xyzzy": 1}, ["xyzzy", "expected one of", "cron"]),
]


@pytest.mark.parametrize(("fields", "words"), UNKNOWN)
def test_an_unknown_field_is_rejected_with_a_suggestion(
    shared_bench: Bench, fields: dict[str, Any], words: list[str]
) -> None:
    """The error names the field, and the field that was probably meant."""
    base = {"cron": "* * * * *", "function": FUNCTION}
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.create, "new", **base, **fields), InvalidField, *words)


DEFINITIONS: list[tuple[dict[str, Any], type[TompionError], list[str]]] = [
    ({"cron": "* * * * *", "timezone": "Europe/Berlim", "function": FUNCTION}, UnknownZone, ["timezone", "Berlin"]),
    (
        {"cron": "* * * * *", "start_at": "2027-02-01", "end_at": "2027-01-20", "function": FUNCTION},
        InvalidSpec,
        ["end_at"],
    ),
    ({"cron": "* * * * *", "end_at": "2020-01-01T00:00:00Z", "function": FUNCTION}, InvalidInput, ["end_at"]),
    ({"cron": "* * * * *"}, InvalidField, ["function", "workflow_id"]),
    ({"cron": "* * * * *", "function": FUNCTION, "workflow_id": "flow"}, InvalidField, ["function", "workflow_id"]),
    ({"function": FUNCTION}, InvalidField, ["spec", "cron"]),
    (
        {"cron": "* * * * *", "function": FUNCTION, "workflow_version": 2},
        InvalidField,
        ["workflow_version", "workflow_id"],
    ),
    ({"spec": {"cron": "* * * * *"}, "cron": "* * * * *", "function": FUNCTION}, InvalidField, ["spec", "cron"]),
    (
        {"cron": "* * * * *", "exclude": {"named": ["nowhere"]}, "function": FUNCTION},
        InvalidField,
        ["exclude.named", "nowhere"],
    ),
]


@pytest.mark.parametrize(
    ("fields", "error", "words"), DEFINITIONS, ids=[str(number) for number in range(len(DEFINITIONS))]
)
def test_contradictory_fields_are_rejected(
    shared_bench: Bench, fields: dict[str, Any], error: type[TompionError], words: list[str]
) -> None:
    """Each field is valid alone. Together they are not."""
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.create, "new", **fields), error, *words)


def test_a_past_end_is_rejected_for_a_deleted_id_too(shared_bench: Bench) -> None:
    fields: dict[str, Any] = {"cron": "* * * * *", "end_at": "2020-01-01T00:00:00Z", "function": FUNCTION}
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.create, "gone", **fields), InvalidField, "end_at")


SUNDAYS = {"calendars": [{"day_of_week": "SUN", "hour": "*", "minute": "*"}]}
DELAY = [{"every": 60, "anchor": "completion"}]
SILENT: list[tuple[str, dict[str, Any]]] = [
    ("times", {"times": ["2020-01-01T00:00:00Z"]}),
    ("times", {"times": ["2020-01-01T00:00:00Z"], "catchup_policy": "fire_immediately"}),
    ("times", {"times": ["2020-01-01T00:00:00Z"], "end_at": "2030-01-01"}),
    ("times", {"times": ["2020-01-01T00:00:00Z"], "paused": True}),
    ("cron", {"cron": "0 0 30 2 *"}),
    ("cron", {"cron": "0 0 0 1 1 * 2020"}),
    ("calendars", {"calendars": [{"year": 2020}]}),
    ("rrules", {"rrules": ["FREQ=DAILY;COUNT=3"], "start_at": "2020-01-01"}),
    ("spec", {"cron": "0 0 30 2 *", "times": ["2020-01-01T00:00:00Z"]}),
    ("exclude", {"cron": "0 0 * * SUN", "exclude": SUNDAYS}),
    ("exclude", {"cron": "0 0 * * SUN", "exclude": SUNDAYS, "end_at": "2030-01-01"}),
    ("end_at", {"cron": "0 0 * * SUN", "exclude": SUNDAYS, "end_at": "2020-01-01"}),
    ("end_at", {"cron": "0 0 1 1 *", "start_at": "2030-02-01", "end_at": "2030-05-01"}),
    ("end_at", {"intervals": DELAY, "end_at": "2020-01-01"}),
    ("start_at", {"times": ["2030-01-01"], "start_at": "2031-01-01"}),
]


@pytest.mark.parametrize("name", ["new", "gone"])
@pytest.mark.parametrize(("field", "fields"), SILENT, ids=[f"{field}-{at}" for at, (field, _) in enumerate(SILENT)])
def test_a_new_schedule_that_would_never_run_is_rejected(
    shared_bench: Bench, name: str, field: str, fields: dict[str, Any]
) -> None:
    """Regression: it was stored as exhausted. Only ``end_at`` was rejected, even where another field was the cause."""
    document = {"function": FUNCTION, **fields}
    words = [f"{field}: ", "it would never run"]
    assert_rejected(shared_bench, lambda bench: bench.ask(crud.create, name, **document), InvalidField, *words)


@pytest.mark.parametrize(
    "name", ["", ".", "..", " a", "a ", "a\nb", "a\x00b", "a\x7fb", "x" * 201, 5, b"a", "\ud800", ["a"]], ids=repr
)
def test_every_operation_rejects_an_invalid_schedule_id(shared_bench: Bench, name: Any) -> None:
    """Checks every operation that takes a schedule id."""
    base = {"cron": "* * * * *", "function": FUNCTION}
    calls: list[Call] = [
        lambda bench: bench.ask(crud.create, name, **base),
        lambda bench: bench.ask(crud.upsert, name, **base),
        lambda bench: bench.ask(crud.update, name, **base),
        lambda bench: bench.ask(crud.patch, name, description="x"),
        *(
            (lambda bench, operation=operation: bench.ask(operation, name))
            for operation in (
                crud.get, crud.delete, history.history, history.versions, control.pause, control.resume,
                control.trigger, control.skip, backfills.backfills, read.runs, read.dropped_ranges, read.describe,
                schedule.verify,
            )
        ),
    ]  # fmt: skip
    for call in calls:
        assert_rejected(shared_bench, call, InvalidField, "schedule_id")


# --- requests ---------------------------------------------------------------------------------------------------------

REQUESTS: list[tuple[str, Call, type[TompionError], list[str]]] = [
    ("exists", lambda b: b.create("there"), AlreadyExists, ["there"]),
    ("stale token", lambda b: b.ask(crud.patch, "there", conflict_token=99, shadow=True), StaleToken, ["token", "99"]),
    ("stale pause", lambda b: b.pause("there", conflict_token=99), StaleToken, ["token"]),
    ("stale resume", lambda b: b.resume("there", conflict_token=99), StaleToken, ["token"]),
    ("stale delete", lambda b: b.ask(crud.delete, "there", conflict_token=99), StaleToken, ["token"]),
    ("stale skip", lambda b: b.ask(control.skip, "there", conflict_token=99), StaleToken, ["token"]),
    ("stale restore", lambda b: b.ask(history.restore, "there", 1, conflict_token=99), StaleToken, ["token"]),
    ("token type", lambda b: b.pause("there", conflict_token=1.0), InvalidField, ["token"]),
    ("token flag", lambda b: b.pause("there", conflict_token=True), InvalidField, ["token"]),
    ("purge type", lambda b: b.ask(crud.delete, "there", purge="yes"), InvalidField, ["purge"]),
    ("version", lambda b: b.ask(history.restore, "there", 7), NotFound, ["7"]),
    ("version type", lambda b: b.ask(history.restore, "there", "1"), TompionError, ["version"]),
    ("version huge", lambda b: b.ask(history.restore, "there", HUGE), NotFound, ["version"]),
    ("request id", lambda b: b.pause("there", request_id=""), InvalidField, ["request_id"]),
    ("request id long", lambda b: b.pause("there", request_id="x" * 201), InvalidField, ["request_id"]),
    ("request id type", lambda b: b.pause("there", request_id=5), InvalidField, ["request_id"]),
    ("request id nul", lambda b: b.pause("there", request_id="a\x00"), InvalidField, ["request_id"]),
    ("until over", lambda b: b.pause("there", until=when("07:00")), InvalidField, ["until"]),
    ("until naive", lambda b: b.pause("there", until=NAIVE), InvalidField, ["until"]),
    ("until text", lambda b: b.pause("there", until="soon"), InvalidField, ["until"]),
    ("until type", lambda b: b.pause("there", until=[1]), InvalidField, ["until"]),
    ("until huge", lambda b: b.pause("there", until=HUGE), InvalidField, ["until"]),
    ("until huge float", lambda b: b.pause("there", until=1e300), InvalidField, ["until"]),
    ("until nan", lambda b: b.pause("there", until=float("nan")), InvalidField, ["until"]),
    ("until enormous", lambda b: b.pause("there", until=10**400), InvalidField, ["until"]),
    ("note long", lambda b: b.pause("there", note="x" * 1_001), InvalidField, ["note"]),
    ("note type", lambda b: b.pause("there", note=5), InvalidField, ["note"]),
    ("note nul", lambda b: b.pause("there", note="a\x00b"), InvalidField, ["note"]),
    ("note surrogate", lambda b: b.pause("there", note="\ud800"), InvalidField, ["note"]),
    ("paused by", lambda b: b.pause("there", paused_by=""), InvalidField, ["paused_by"]),
    ("on resume", lambda b: b.resume("there", on_resume="all"), InvalidField, ["on_resume"]),
    ("overlap", lambda b: b.trigger("there", overlap="maybe"), InvalidField, ["overlap"]),
    ("payload", lambda b: b.trigger("there", payload=object()), InvalidField, ["payload"]),
    ("payload once", lambda b: b.trigger("there", payload={1}, request_id="p"), InvalidField, ["payload"]),
    ("payload size", lambda b: b.trigger("there", payload="x" * 200), InvalidField, ["payload"]),
    ("payload keys", lambda b: b.trigger("there", payload={1: 2}), InvalidField, ["payload", "1", "not text"]),
    (
        "document fields",
        lambda b: b.ask(workflows.put_workflow, "flow", {"steps": []}),
        InvalidField,
        ["document.steps", "executor"],
    ),
    (
        "document keys",
        lambda b: b.ask(workflows.put_workflow, "flow", {"dag": [{5: 1}]}),
        InvalidField,
        ["document", "5"],
    ),
    (
        "version of a function",
        lambda b: b.ask(crud.patch, "there", workflow_version=2),
        InvalidField,
        ["workflow_version"],
    ),
    (
        "upsert without id",
        lambda b: b.ask(crud.upsert, None, cron="* * * * *", function=FUNCTION),
        InvalidField,
        ["schedule_id", "required; use create for a generated id"],
    ),
    ("skip nothing", lambda b: b.ask(control.skip, "there", at=[]), InvalidField, ["at", "list of times"]),
    ("pause once", lambda b: b.ask(targets.pause_target, queue="a", request_id=""), InvalidField, ["request_id"]),
    ("skip where", lambda b: b.ask(control.skip, "there", at=[when("08:00:31")]), InvalidField, ["at", "08:01"]),
    ("skip over", lambda b: b.ask(control.skip, "there", at=[when("07:59")]), InvalidField, ["at"]),
    ("skip type", lambda b: b.ask(control.skip, "there", at=5), InvalidField, ["at"]),
    ("skip text", lambda b: b.ask(control.skip, "there", at=["soon"]), InvalidField, ["at"]),
    ("skip huge", lambda b: b.ask(control.skip, "there", at=[HUGE]), InvalidField, ["at"]),
    ("skip note", lambda b: b.ask(control.skip, "there", note="x" * 1_001), InvalidField, ["note"]),
    ("backfill large", lambda b: b.backfill("06:00", "07:59", "there"), LimitExceeded, ["max_backfill_ticks"]),
    ("backfill future", lambda b: b.backfill("08:00", "08:01", "there"), InvalidField, ["end", "past"]),
    ("backfill reversed", lambda b: b.backfill("07:10", "07:00", "there"), InvalidField, ["end", "before"]),
    ("backfill half", lambda b: b.ask(backfills.backfill, "there", when("07:00")), InvalidField, ["end"]),
    ("backfill no start", lambda b: b.ask(backfills.backfill, "there", None, when("07:00")), InvalidField, ["start"]),
    ("backfill none", lambda b: b.ask(backfills.backfill, "there", ranges=[]), InvalidField, ["ranges"]),
    ("backfill shape", lambda b: b.ask(backfills.backfill, "there", ranges=[1]), InvalidField, ["ranges"]),
    ("backfill shape 2", lambda b: b.ask(backfills.backfill, "there", ranges="ab"), InvalidField, ["ranges"]),
    ("backfill huge", lambda b: b.ask(backfills.backfill, "there", -HUGE, 0), InvalidField, ["start"]),
    ("backfill far", lambda b: b.ask(backfills.backfill, "there", FOREVER, FOREVER), InvalidField, ["end"]),
    ("backfill only", lambda b: b.backfill("07:00", "07:01", "there", only="some"), InvalidField, ["only"]),
    ("backfill only type", lambda b: b.backfill("07:00", "07:01", "there", only=[]), InvalidField, ["only"]),
    ("backfill overlap", lambda b: b.backfill("07:00", "07:01", "there", overlap="no"), InvalidField, ["overlap"]),
    ("backfill delay", lambda b: b.backfill("07:00", "07:01", "delay"), InvalidField, ["start", "fixed delay"]),
    (
        "backfill many",
        lambda b: b.ask(backfills.backfill, "there", ranges=[(when("07:00"), when("07:01"))] * 3),
        LimitExceeded,
        ["max_backfills"],
    ),
    ("no backfill", lambda b: b.ask(backfills.cancel_backfill, 99), NotFound, ["backfill"]),
    ("no backfill text", lambda b: b.ask(backfills.cancel_backfill, "x"), TompionError, ["backfill"]),
    ("no backfill huge", lambda b: b.ask(backfills.cancel_backfill, HUGE), TompionError, ["backfill"]),
    ("backfills limit", lambda b: b.ask(backfills.backfills, "there", limit=-1), InvalidField, ["limit"]),
    ("workflow", lambda b: b.ask(workflows.put_workflow, "w", [1]), InvalidField, ["document"]),
    ("workflow nan", lambda b: b.ask(workflows.put_workflow, "w", {"a": float("nan")}), InvalidInput, ["document"]),
    ("workflow name", lambda b: b.ask(workflows.put_workflow, "", {}), InvalidField, ["workflow_id"]),
    ("no workflow", lambda b: b.ask(workflows.get_workflow, "w"), NotFound, ["w"]),
    ("no workflow nul", lambda b: b.ask(workflows.get_workflow, "a\x00"), TompionError, ["workflow"]),
    ("no workflow version", lambda b: b.ask(workflows.get_workflow, "flow", version=9), NotFound, ["9"]),
    ("workflow version type", lambda b: b.ask(workflows.get_workflow, "flow", version="x"), TompionError, ["version"]),
    (
        "calendar",
        lambda b: b.ask(calendars.put_calendar, {"name": "c", "dates": ["x"]}),
        InvalidInput,
        ["calendar", "'x'"],
    ),
    ("calendar shape", lambda b: b.ask(calendars.put_calendar, {"name": "c", "dates": 5}), InvalidInput, ["calendar"]),
    ("calendar date", lambda b: b.ask(calendars.put_calendar, {"name": "c", "dates": [5]}), InvalidInput, ["calendar"]),
    (
        "calendar window",
        lambda b: b.ask(calendars.put_calendar, {"name": "c", "windows": [5]}),
        InvalidInput,
        ["calendar"],
    ),
    ("calendar field", lambda b: b.ask(calendars.put_calendar, {"name": "c", "date": []}), InvalidInput, ["date"]),
    ("calendar nameless", lambda b: b.ask(calendars.put_calendar, {"dates": []}), InvalidInput, ["name"]),
    ("calendar type", lambda b: b.ask(calendars.put_calendar, 5), InvalidInput, ["calendar"]),
    ("calendar zone", lambda b: b.ask(calendars.put_calendar, {"name": "c", "timezone": "X/Y"}), InvalidInput, ["X/Y"]),
    ("no calendar", lambda b: b.ask(calendars.get_calendar, "c"), NotFound, ["c"]),
    ("no calendar nul", lambda b: b.ask(calendars.get_calendar, "c\x00"), TompionError, ["c"]),
    ("target", lambda b: b.ask(targets.pause_target), InvalidField, ["workflow_id", "queue"]),
    ("targets", lambda b: b.ask(targets.pause_target, queue="a", workflow_id="b"), InvalidField, ["workflow_id"]),
    ("target name", lambda b: b.ask(targets.resume_target, queue=""), InvalidField, ["queue"]),
    ("target note", lambda b: b.ask(targets.pause_target, queue="a", note="x" * 1_001), InvalidField, ["note"]),
]


@pytest.mark.parametrize(
    ("call", "error", "words"), [case[1:] for case in REQUESTS], ids=[case[0] for case in REQUESTS]
)
def test_an_invalid_change_is_rejected(
    shared_bench: Bench, call: Call, error: type[TompionError], words: list[str]
) -> None:
    assert_rejected(shared_bench, call, error, *words)


READS: list[tuple[str, Call, list[str]]] = [
    ("limit", lambda b: b.ask(crud.list_schedules, limit=0), ["limit"]),
    ("limit large", lambda b: b.ask(read.runs, "there", limit=1_001), ["limit", "max_page"]),
    ("limit type", lambda b: b.ask(read.dropped_ranges, "there", limit="5"), ["limit"]),
    ("limit flag", lambda b: b.ask(history.history, "there", limit=True), ["limit"]),
    ("limit versions", lambda b: b.ask(history.versions, "there", limit=-1), ["limit"]),
    ("limit calendars", lambda b: b.ask(calendars.list_calendars, limit=-1), ["limit"]),
    ("state", lambda b: b.ask(crud.list_schedules, status="asleep"), ["status", "active"]),
    ("state type", lambda b: b.ask(crud.list_schedules, status=[]), ["status"]),
    ("label", lambda b: b.ask(crud.list_schedules, label="team"), ["label", "name=value"]),
    ("label type", lambda b: b.ask(crud.list_schedules, label=5), ["label"]),
    ("text type", lambda b: b.ask(crud.list_schedules, text=5), ["text"]),
    ("text nul", lambda b: b.ask(crud.list_schedules, text="\x00"), ["text"]),
    ("user type", lambda b: b.ask(crud.list_schedules, user_id=5), ["user_id"]),
    ("workflow type", lambda b: b.ask(crud.list_schedules, workflow_id=5), ["workflow_id"]),
    ("after type", lambda b: b.ask(crud.list_schedules, after=5), ["after"]),
    ("after nul", lambda b: b.ask(crud.list_schedules, after="\x00"), ["after"]),
    ("after calendars", lambda b: b.ask(calendars.list_calendars, after=5), ["after"]),
    ("run state", lambda b: b.ask(read.runs, "there", status="LATE"), ["status", "SUCCESS"]),
    ("run guess", lambda b: b.ask(read.runs, "there", source="guess"), ["source", "schedule, trigger, backfill, hint"]),
    ("run source", lambda b: b.ask(read.runs, "there", source="me"), ["source", "trigger"]),
    *(
        (f"page {token!r}", lambda b, token=token: b.ask(read.runs, "there", before=token), ["before"])
        for token in ("", "x", "1", "1-", "-1", "1-x", "9" * 30 + "-1", 5)
    ),
    *(
        (
            f"history {token!r}",
            lambda b, token=token: b.ask(history.history, "there", before=token),
            ["before"],
        )
        for token in ("", "x", "-1", "9" * 30)
    ),
    ("verify", lambda b: b.ask(schedule.verify, "there", start="x"), ["start"]),
    ("verify naive", lambda b: b.ask(schedule.verify, "there", end=NAIVE), ["end"]),
]


@pytest.mark.parametrize(("call", "words"), [case[1:] for case in READS], ids=[case[0] for case in READS])
def test_an_invalid_query_is_rejected(shared_bench: Bench, call: Call, words: list[str]) -> None:
    assert_rejected(shared_bench, call, InvalidField, *words)


@pytest.mark.parametrize("run_id", ["", "x", "1", "1-2", "1-2-3-4", "1-2-x", f"1-2-{HUGE}", f"{HUGE}-1-1", 5, None])
def test_an_unknown_run_is_not_found(shared_bench: Bench, run_id: Any) -> None:
    assert_rejected(shared_bench, lambda bench: bench.ask(read.get_run, run_id), NotFound, "run")


@pytest.mark.parametrize(
    "operation",
    [
        crud.get, crud.delete, history.history, history.versions, control.pause, control.resume,
        control.trigger, control.skip, backfills.backfills, read.runs, read.dropped_ranges, read.describe,
        schedule.verify,
        crud.patch, crud.update,
    ],
)  # fmt: skip
def test_an_unknown_schedule_is_not_found(shared_bench: Bench, operation: Callable[..., object]) -> None:
    assert_rejected(shared_bench, lambda bench: bench.ask(operation, "nowhere"), NotFound, "nowhere")
    assert_rejected(shared_bench, lambda bench: bench.ask(operation, "there", namespace="elsewhere"), NotFound, "there")


# --- times that no datetime can show ----------------------------------------------------------------------------------

BEYOND = [
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-14))),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
TIMED: dict[str, Callable[[Bench, Any], object]] = {
    "until": lambda b, time: b.pause("there", until=time),
    "start": lambda b, time: b.ask(backfills.backfill, "there", time, when("07:00")),
    "end": lambda b, time: b.ask(backfills.backfill, "there", when("07:00"), time),
    "at": lambda b, time: b.ask(control.skip, "there", at=[time]),
    "after": lambda b, time: b.ask(preview, cron="* * * * *", after=time),
    "start ": lambda b, time: b.ask(schedule.verify, "there", start=time),
    "end ": lambda b, time: b.ask(schedule.verify, "there", end=time),
}


@pytest.mark.parametrize("time", BEYOND)
@pytest.mark.parametrize("field", TIMED)
def test_an_offset_beyond_the_calendar_names_the_field(bench: Bench, field: str, time: object) -> None:
    """Regression: it was an OverflowError without the field."""
    bench.create("there")
    before = bench.dump()
    with pytest.raises(InvalidField, match=rf"^{field.strip()}: .* lies outside the years 1 to 9999, in UTC"):
        TIMED[field](bench, time)
    assert bench.dump() == before
