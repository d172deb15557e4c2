"""The reckoning: plan, ledger, history, logs and answers must agree to the last tick.

Each check yields complaints, with the rows that prove them.  None knows how the engine works.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.chaos.history import Change, Ledger
from tests.chaos.recorder import Line
from tests.chaos.traffic import Accepted
from tests.chaos.workload import Plan, beat_of
from tompion.model.rows import VersionRow
from tompion.model.run import FINAL, IN_FLIGHT, OPEN, TRANSITIONS, RunId, RunRow, RunState
from tompion.model.schedule_state import DroppedRange
from tompion.model.verification import Verification

LAWFUL = {
    "skip": {("SKIPPED", "overlap")},
    "cancel_other": {("CANCELLED", "cancel_requested"), ("CANCELLED", "superseded"), ("SKIPPED", "superseded")},
    "terminate_other": {("TERMINATED", "superseded"), ("SKIPPED", "superseded")},
}
"""How a run may end without success, by what its schedule does about overlaps."""


class Evidence(NamedTuple):
    """All that is left of a trial."""

    plans: list[Plan]
    end_s: int
    ledger: Ledger
    lines: list[Line]
    names: dict[int, str]
    accepted: list[Accepted]
    verified: list[Verification]


def check(evidence: Evidence) -> list[str]:
    """Return every violation."""
    checks = (
        verified, ticks_once, none_invented, outcomes, logged, attempts, requests, overlaps, successions,
        lawful_changes, cursors,
    )  # fmt: skip
    return [f"{rule.__name__.replace('_', ' ')}: {text}" for rule in checks for text in rule(evidence)]


def verified(evidence: Evidence) -> Iterator[str]:
    """Yield the problems that ``tompion verify`` reports."""
    for verification in evidence.verified:
        for problem in verification.problems:
            yield f"{verification.schedule_id}: {problem}"


def ticks_once(evidence: Evidence) -> Iterator[str]:
    """Yield ticks that are lost or decided twice. Each is one run, or in one dropped range if the plan allows that."""
    for plan in evidence.plans:
        key = evidence.ledger.keys[plan.schedule_id]
        dropped_ranges = evidence.ledger.dropped_ranges.get(key, [])
        if plan.strict and dropped_ranges:
            yield f"{plan.schedule_id}: ticks were dropped, {dropped_ranges}"
        for tick in expected(evidence, plan):
            run = evidence.ledger.runs.get(RunId(key, tick))
            places = (run is not None) + sum(
                dropped_range.after_s < tick <= dropped_range.until_s for dropped_range in dropped_ranges
            )
            if places != 1:
                yield f"{plan.schedule_id}: tick {tick} is in {places} places: {run} {_near(dropped_ranges, tick)}"


def expected(evidence: Evidence, plan: Plan) -> Iterator[int]:
    """Yield the ticks that a schedule had between its creation and its end, version by version."""
    ledger = evidence.ledger
    versions = ledger.versions[ledger.keys[plan.schedule_id]]
    if plan.strict:  # whatever its versions say, it ticks all the time
        beat = beat_of(json.loads(versions[0].spec))
        yield from beat.between((ledger.created_ms[plan.schedule_id] - 1) // 1000, evidence.end_s)
        return
    for version, after_s, until_s in windows(versions, evidence.end_s):
        yield from beat_of(json.loads(version.spec)).between(after_s, until_s)


def windows(versions: list[VersionRow], end_s: int) -> Iterator[tuple[VersionRow, int, int]]:
    """Yield what each version decides. Where one ends the next begins."""
    for version, following in zip(versions, [*versions[1:], None], strict=True):
        yield version, version.after_s, end_s if following is None else min(following.after_s, end_s)


def none_invented(evidence: Evidence) -> Iterator[str]:
    """No run of the schedule itself but for its ticks."""
    ledger = evidence.ledger
    ticks = {RunId(ledger.keys[plan.schedule_id], tick) for plan in evidence.plans for tick in expected(evidence, plan)}
    for run_id, run in ledger.runs.items():
        if run_id.origin == 0 and run_id not in ticks:
            yield f"a run for no tick: {run}"


def outcomes(evidence: Evidence) -> Iterator[str]:
    """Every run has ended, and well: nothing here fails by itself, so whatever failed is our doing."""
    overlap = {evidence.ledger.keys[plan.schedule_id]: plan.overlap for plan in evidence.plans}
    for run in evidence.ledger.runs.values():
        if run.state != RunState.SUCCESS and (run.state, run.reason) not in LAWFUL.get(overlap[run.schedule_key], ()):
            yield f"neither done nor ended as its schedule wants it: {run}"
    for key, cursor_s, in_flight, waiting in evidence.ledger.states.values():
        if in_flight or waiting:
            yield f"schedule {key} counts {in_flight} in flight and {waiting} waiting at {cursor_s}"


def logged(evidence: Evidence) -> Iterator[str]:
    """Yield successes that were not launched, and launches that are not in the ledger."""
    lines = {(line.run_id, line.attempt) for line in evidence.lines}
    runs_by_id = {str(run_id): run for run_id, run in evidence.ledger.runs.items()}
    for text, run in runs_by_id.items():
        if run.state == RunState.SUCCESS and (text, run.attempt) not in lines:
            yield f"a success that no log has: {run}"
    for line in evidence.lines:
        launched = runs_by_id.get(line.run_id)
        if launched is None or launched.state == RunState.SKIPPED or launched.attempt < line.attempt:
            yield f"a launch that the ledger does not have: {line}, {launched}"


def attempts(evidence: Evidence) -> Iterator[str]:
    """Every launch of a run has the same key, which no other run has, and an attempt that was its process's alone."""
    owners = {
        (str(change.id), change.attempt, change.owner) for change in evidence.ledger.changes if change.owner is not None
    }
    keys: dict[str, str] = {}
    for line in evidence.lines:
        if keys.setdefault(line.key, line.run_id) != line.run_id:
            yield f"two runs with one key: {line}, {keys[line.key]}"
        numbers = evidence.ledger.owners.get(evidence.names[line.pid], set())
        if not any((line.run_id, line.attempt, number) in owners for number in numbers):
            yield f"launched by a process that never held the attempt: {line}, instances {numbers}"
    of_run = Counter(keys.values())
    yield from (f"{run_id} was launched with {count} keys" for run_id, count in of_run.items() if count > 1)
    again = Counter((line.run_id, line.attempt) for line in evidence.lines)
    yield from (f"{pair} was launched {count} times" for pair, count in again.items() if count > 1)


def requests(evidence: Evidence) -> Iterator[str]:
    """Yield answered requests that were not executed exactly once, or whose response was wrong."""
    of_request: dict[str, list[RunRow]] = {}
    for run in evidence.ledger.runs.values():
        if run.request_id is not None:
            of_request.setdefault(run.request_id, []).append(run)
    audited = Counter(request_id for request_id, _ in evidence.ledger.audited)
    for request in evidence.accepted:
        runs = of_request.pop(request.request_id, [])
        if [str(run.id) for run in runs] != ([] if request.run_id is None else [request.run_id]):
            yield f"{request} has the runs {runs}"
        if audited.pop(request.request_id, 0) != 1:
            yield f"{request} is not in the audit exactly once"
    yield from (f"no request for {runs}" for runs in of_request.values())
    yield from (f"no request for {request_id}" for request_id in audited if not request_id.startswith("create-"))


def overlaps(evidence: Evidence) -> Iterator[str]:
    """Yield overlapping runs of schedules that must not overlap, by replaying the history."""
    exclusive = {evidence.ledger.keys[plan.schedule_id]: plan for plan in evidence.plans if plan.overlap != "allow"}
    flying: dict[int, set[RunId]] = {key: set() for key in exclusive}
    for change in evidence.ledger.changes:
        plan = exclusive.get(change.schedule_key)
        if plan is None:
            continue
        now = flying[change.schedule_key]
        (now.add if change.state in IN_FLIGHT else now.discard)(change.id)
        if len(now) > 1:
            yield f"{plan.schedule_id}: {sorted(now)} at once, with {change}"
        if plan.overlap in ("skip", "terminate_other") and change.state in OPEN - IN_FLIGHT:
            yield f"{plan.schedule_id}: {change} waits"


def successions(evidence: Evidence) -> Iterator[str]:
    """Yield terminated runs without an immediate successor, and cancelled runs without a waiting one.

    A run without a worker, not started or left by a dead worker, is superseded as soon as another run comes.
    """
    waiting: dict[int, set[RunId]] = {}
    terminated: dict[int, Change] = {}
    given_up: dict[int, Change] = {}
    for change in evidence.ledger.changes:
        key = change.schedule_key
        left = given_up.pop(key, None)
        if left is not None and change.was_state is not None:
            yield f"superseded without a successor: {left}, {change}"
        waits = waiting.setdefault(key, set())
        (waits.add if change.state in OPEN - IN_FLIGHT else waits.discard)(change.id)
        if change.state == RunState.CANCELLED and _reason(evidence, change) == "superseded":
            given_up[key] = change
        elif change.state == RunState.CANCELLED and not waits:
            yield f"cancelled without a waiting run: {change}"
        if change.state == RunState.TERMINATED:
            terminated[key] = change
        elif key in terminated and change.state in OPEN:
            ended = terminated.pop(key)
            if change.was_state is not None or change.state not in IN_FLIGHT:
                yield f"terminated without a successor: {ended}, {change}"
    alone = [*terminated.values(), *given_up.values()]
    yield from (f"ended by force, and nothing has followed: {ended}" for ended in alone)


def _reason(evidence: Evidence, change: Change) -> str | None:
    run = evidence.ledger.runs.get(change.id)
    return None if run is None else run.reason


def lawful_changes(evidence: Evidence) -> Iterator[str]:
    """Each run was added once and never removed, what is final stays, and only the holder of the fence ends a run."""
    seen: dict[RunId, Change] = {}
    for change in evidence.ledger.changes:
        before = seen.get(change.id)
        seen[change.id] = change
        if change.state is None or (change.was_state is None) != (before is None):
            yield f"added twice, or removed: {before}, {change}"
            continue
        if before is None:
            continue
        if (change.was_state, change.was_attempt) != (before.state, before.attempt):
            yield f"the history has a gap: {before}, {change}"
        assert change.was_state is not None
        assert change.attempt is not None
        assert change.was_attempt is not None
        if RunState(change.state) not in TRANSITIONS[RunState(change.was_state)]:
            yield f"no such transition: {change}"
        if change.attempt < change.was_attempt:
            yield f"the fence went back: {change}"
        if change.state in FINAL and change.was_state in IN_FLIGHT and change.attempt != change.was_attempt:
            yield f"ended by another than its holder: {change}"
    for run_id, run in evidence.ledger.runs.items():
        last = seen.get(run_id)
        if last is None or (last.state, last.attempt) != (run.state, run.attempt):
            yield f"the ledger is not where the history ends: {run}, {last}"


def cursors(evidence: Evidence) -> Iterator[str]:
    """No cursor ever went back."""
    yield from (f"schedule {key}: {was_s} → {cursor_s}" for key, was_s, cursor_s in evidence.ledger.backward)


def _near(dropped_ranges: list[DroppedRange], tick: int) -> list[DroppedRange]:
    return [
        dropped_range
        for dropped_range in dropped_ranges
        if dropped_range.after_s - 5 < tick <= dropped_range.until_s + 5
    ]
