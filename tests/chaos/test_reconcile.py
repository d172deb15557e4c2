"""The checker accepts a consistent trial and detects every tampering with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.chaos.history import Change, Ledger
from tests.chaos.reconcile import Evidence, check
from tests.chaos.recorder import Line
from tests.chaos.traffic import Accepted
from tests.chaos.workload import Beat, Plan, beat_of
from tompion.model.rows import VersionRow
from tompion.model.run import RunId, RunRow
from tompion.model.schedule_state import DroppedRange
from tompion.model.verification import Verification, Violation

BEGIN_S = 1_000
FREE, ALONE, EDITED, CANCELS, TERMINATES = 1, 2, 3, 4, 5
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def row(key: int, nominal_s: int, origin: int = 0, state: str = "SUCCESS", **more: object) -> RunRow:
    fields: dict[str, object] = {
        **dict.fromkeys(RunRow._fields),
        "schedule_key": key,
        "nominal_s": nominal_s,
        "origin": origin,
        "state": state,
        "attempt": 1,
        **more,
    }
    return RunRow(**fields)  # type: ignore[arg-type]  # what is not fields does not matter here


def version(key: int, number: int, beat: Beat, after_s: int, until_s: int | None) -> VersionRow:
    spec = json.dumps(beat.fields())
    return VersionRow(key, number, spec, "{}", "{}", None, "{}", "{}", after_s, until_s, "ann", 0)


def lived(run: RunRow) -> list[Change]:
    if run.state == "SKIPPED":
        return [Change(0, *run.id, None, "SKIPPED", None, 0, None)]
    return [begun(run), Change(0, *run.id, "ENQUEUED", run.state, 1, 1, None)]


def begun(run: RunRow) -> Change:
    return Change(0, *run.id, None, "ENQUEUED", None, 1, 9)


def cancelled_for(first: RunRow, second: RunRow) -> list[Change]:
    """The second waits, and starts when the first has been cancelled."""
    return [
        begun(first),
        Change(0, *second.id, None, "BUFFERED", None, 0, None),
        Change(0, *first.id, "ENQUEUED", "CANCELLED", 1, 1, None),
        Change(0, *second.id, "BUFFERED", "ENQUEUED", 0, 1, 9),
        Change(0, *second.id, "ENQUEUED", "SUCCESS", 1, 1, None),
    ]


def terminated_for(first: RunRow, second: RunRow) -> list[Change]:
    """The first ends by force, and the second starts at once."""
    return [begun(first), Change(0, *first.id, "ENQUEUED", "TERMINATED", 1, 1, 9), *lived(second)]


def line(run: RunRow, attempt: int = 1) -> Line:
    return Line(run.nominal_s * 1000, 42, str(run.id), f"key of {run.id}", attempt, "any", run.nominal_s)


@pytest.fixture
def evidence() -> Evidence:
    """Two seconds of five schedules: a trigger, ticks that were skipped, cancelled, terminated, dropped by an edit."""
    runs = [
        row(FREE, 1_001), row(FREE, 1_002), row(FREE, 1_001, 7, request_id="trigger-0"),
        row(ALONE, 1_001), row(ALONE, 1_002, state="SKIPPED", reason="overlap", attempt=0),
        row(EDITED, 1_002),
    ]  # fmt: skip
    cancelled = [row(CANCELS, 1_001, state="CANCELLED", reason="cancel_requested"), row(CANCELS, 1_002)]
    terminated = [row(TERMINATES, 1_001, state="TERMINATED", reason="superseded"), row(TERMINATES, 1_002)]
    changes = [change for run in runs for change in lived(run)]
    changes += [*cancelled_for(*cancelled), *terminated_for(*terminated)]
    runs += cancelled + terminated
    names = ["free", "alone", "edited", "cancels", "terminates"]
    ledger = Ledger(
        keys=dict(zip(names, (FREE, ALONE, EDITED, CANCELS, TERMINATES), strict=True)),
        created_ms=dict.fromkeys(names, BEGIN_S * 1000 + 1),
        versions={
            **{key: [version(key, 1, Beat(1), BEGIN_S, None)] for key in (FREE, ALONE, CANCELS, TERMINATES)},
            EDITED: [version(EDITED, 1, Beat(1), BEGIN_S, 1_001), version(EDITED, 2, Beat(2), 1_001, None)],
        },
        runs={run.id: run for run in runs},
        dropped_ranges={EDITED: [DroppedRange(EDITED, BEGIN_S, 1_001, 1, "edited", 1, 0)]},
        changes=changes,
        owners={"chaos-0-0": {9}},
        backward=[],
        audited=[("trigger-0", "trigger"), ("create-free", "create")],
        states={FREE: (FREE, 1_002, 0, 0)},
    )
    plans = [
        Plan("free", {}, "allow"), Plan("alone", {}, "skip"), Plan("edited", {}, "allow", edited=True),
        Plan("cancels", {}, "cancel_other"), Plan("terminates", {}, "terminate_other"),
    ]  # fmt: skip
    lines = [line(run) for run in runs if run.state != "SKIPPED"]
    accepted = [Accepted("trigger-0", "trigger", "free", "1-1001-7")]
    proof = Verification("free", WHEN, WHEN, 2, 2, 0, ())
    return Evidence(plans, 1_002, ledger, lines, {42: "chaos-0-0"}, accepted, [proof])


def test_consistent_evidence_is_accepted(evidence: Evidence) -> None:
    assert check(evidence) == []


Tampering = Callable[[Evidence], Evidence]


def with_runs(change: Callable[[dict[RunId, RunRow]], object]) -> Tampering:
    def tamper(evidence: Evidence) -> Evidence:
        change(evidence.ledger.runs)
        return evidence

    return tamper


def with_changes(change: Callable[[list[Change]], object]) -> Tampering:
    def tamper(evidence: Evidence) -> Evidence:
        change(evidence.ledger.changes)
        return evidence

    return tamper


def with_lines(change: Callable[[list[Line]], object]) -> Tampering:
    def tamper(evidence: Evidence) -> Evidence:
        change(evidence.lines)
        return evidence

    return tamper


def dropped(evidence: Evidence) -> Evidence:
    evidence.ledger.dropped_ranges[FREE] = [DroppedRange(FREE, 1_001, 1_002, 1, "missed", 1, 0)]
    return evidence


def went_back(evidence: Evidence) -> Evidence:
    evidence.ledger.backward.append((FREE, 1_002, 1_001))
    return evidence


def too_early(key: int, was_state: str | None, state: str, before: str) -> Tampering:
    """One change of a schedule comes before that to another state, and not after it."""

    def move(changes: list[Change]) -> None:
        own = [change for change in changes if change.schedule_key == key]
        (moved,) = [
            change for change in own if (change.was_state, change.state, change.nominal_s) == (was_state, state, 1_002)
        ]
        changes.remove(moved)
        changes.insert(next(n for n, change in enumerate(changes) if (change[1], change.state) == (key, before)), moved)

    return with_changes(move)


def without_waiting_run(changes: list[Change]) -> None:
    changes[:] = [change for change in changes if change.state != "BUFFERED"]


def without_successor(changes: list[Change]) -> None:
    changes[:] = [change for change in changes if change[1:3] != (TERMINATES, 1_002)]


def in_flight(changes: list[Change]) -> None:
    changes.insert(0, Change(0, ALONE, 1_002, 0, None, "ENQUEUED", None, 1, 9))


PROBLEM = Verification("free", WHEN, WHEN, 1, 1, 0, (Violation("missing", None, "no run and no dropped range"),))
RUN = row(FREE, 1_002)
AGAIN = row(FREE, 1_001, 8, request_id="trigger-0")
TRIGGERED = row(FREE, 1_001, 7)
CANCELLED = row(CANCELS, 1_001, state="CANCELLED", reason="cancel_requested")
WAITS = Change(0, TERMINATES, 1_003, 0, None, "BUFFERED", None, 0, None)
TERMINATED = row(TERMINATES, 1_001, state="TERMINATED", reason="superseded")
TAMPERED: list[tuple[str, Tampering]] = [
    ("verified", lambda all_: all_._replace(verified=[PROBLEM])),
    ("ticks once", with_runs(lambda runs: runs.pop(RUN.id))),
    ("ticks once", dropped),
    ("ticks once", lambda all_: all_._replace(end_s=1_003)),
    ("none invented", with_runs(lambda runs: runs.update({RunId(FREE, 999): row(FREE, 999)}))),
    ("none invented", with_runs(lambda runs: runs.update({RunId(EDITED, 1_003): row(EDITED, 1_003)}))),
    ("outcomes", with_runs(lambda runs: runs.update({RUN.id: RUN._replace(state="STARTED")}))),
    ("outcomes", with_runs(lambda runs: runs.update({RUN.id: RUN._replace(state="SKIPPED", reason="overlap")}))),
    ("outcomes", with_runs(lambda runs: runs.update({RUN.id: CANCELLED._replace(schedule_key=FREE)}))),
    ("outcomes", with_runs(lambda runs: runs.update({CANCELLED.id: CANCELLED._replace(reason=None)}))),
    ("outcomes", with_runs(lambda runs: runs.update({CANCELLED.id: CANCELLED._replace(state="TERMINATED")}))),
    ("outcomes", with_runs(lambda runs: runs.update({TERMINATED.id: TERMINATED._replace(state="CANCELLED")}))),
    ("outcomes", lambda all_: all_._replace(ledger=all_.ledger._replace(states={FREE: (FREE, 1_002, 1, 0)}))),
    ("logged", with_lines(lambda lines: lines.remove(line(RUN)))),
    ("logged", with_lines(lambda lines: lines.append(line(row(FREE, 999))))),
    ("logged", with_lines(lambda lines: lines.append(line(RUN, attempt=2)))),
    ("logged", with_runs(lambda runs: runs.update({RUN.id: RUN._replace(attempt=2)}))),
    ("attempts", with_lines(lambda lines: lines.append(line(RUN)))),
    ("attempts", with_lines(lambda lines: lines.append(line(RUN)._replace(key="another")))),
    ("attempts", with_lines(lambda lines: lines.append(line(RUN)._replace(key=f"key of {TRIGGERED.id}")))),
    ("attempts", lambda all_: all_._replace(names={42: "chaos-1-0"})),
    ("requests", with_runs(lambda runs: runs.pop(TRIGGERED.id))),
    ("requests", with_runs(lambda runs: runs.update({AGAIN.id: AGAIN}))),
    ("requests", lambda all_: all_._replace(accepted=[])),
    ("requests", lambda all_: all_._replace(ledger=all_.ledger._replace(audited=[("trigger-0", "trigger")] * 2))),
    ("overlaps", with_changes(in_flight)),
    ("overlaps", with_changes(lambda all_: all_.append(Change(0, ALONE, 1_003, 0, None, "BUFFERED", None, 0, None)))),
    ("overlaps", too_early(CANCELS, "BUFFERED", "ENQUEUED", before="CANCELLED")),
    ("overlaps", too_early(TERMINATES, None, "ENQUEUED", before="TERMINATED")),
    ("overlaps", with_changes(lambda all_: all_.append(WAITS))),
    ("successions", with_changes(without_waiting_run)),
    ("successions", with_changes(without_successor)),
    ("successions", too_early(TERMINATES, None, "ENQUEUED", before="TERMINATED")),
    ("lawful changes", with_changes(lambda all_: all_.append(all_[0]))),
    ("lawful changes", with_changes(lambda all_: all_.pop())),
    ("lawful changes", with_changes(lambda all_: all_.append(Change(0, *RUN.id, "SUCCESS", "ENQUEUED", 1, 2, 9)))),
    ("lawful changes", with_changes(lambda all_: all_.append(Change(0, *RUN.id, "SUCCESS", None, 1, None, None)))),
    ("lawful changes", with_changes(lambda all_: all_.append(Change(0, *RUN.id, "SUCCESS", "SUCCESS", 1, 0, 9)))),
    ("cursors", went_back),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tamper"), TAMPERED)
def test_tampered_evidence_is_rejected(evidence: Evidence, name: str, tamper: Tampering) -> None:
    assert any(text.startswith(f"{name}: ") for text in check(tamper(evidence)))


@pytest.mark.parametrize("in_time", [True, False])
def test_run_without_a_worker_may_be_superseded(evidence: Evidence, in_time: bool) -> None:
    """No worker had taken the trigger when the next tick came."""
    given_up = CANCELLED._replace(reason="superseded")
    wait = Change(0, CANCELS, 1_002, 0, None, "BUFFERED", None, 0, None)
    changes = [change for change in evidence.ledger.changes if change != wait]
    (cancel,) = [change for change in changes if change.id == given_up.id and change.state == "CANCELLED"]
    changes.insert(changes.index(cancel) + (1 if in_time else 0), wait)
    ledger = evidence.ledger._replace(runs={**evidence.ledger.runs, given_up.id: given_up}, changes=changes)
    problems = check(evidence._replace(ledger=ledger))
    assert [text.split(":")[0] for text in problems] == ([] if in_time else ["successions"])


@pytest.mark.parametrize("beat", [Beat(1), Beat(2), Beat(5), Beat(3, 1), Beat(3, 2)])
def test_beat_survives_a_round_trip(beat: Beat) -> None:
    assert beat_of(beat.fields()) == beat
    problems = list(beat.between(1_000, 1_030))
    assert problems == [tick for tick in range(1_001, 1_031) if tick % beat.step == beat.offset]
