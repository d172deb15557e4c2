"""The invariants, checked on the ledger after a story: stated here from the promises, not from the engine's code.

Each checker takes the :class:`Ledger` and yields complaints.  The ticks of each version are computed with the time
engine, whose own truth is proved elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tompion.config.settings import Settings
from tompion.executors.base import Completed
from tompion.model.notification import NotificationRow
from tompion.model.policy import Policy
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.run import FAILURES, IN_FLIGHT, RunRow, RunSource
from tompion.model.schedule_state import DroppedRange, ScheduleState
from tompion.plan.stored_definition import stored_policy, stored_spec
from tompion.spec.compiler import compile_spec
from tompion.spec.jitter import fire_time_ms
from tompion.spec.ticks import Ticks
from tompion.testing.executor import Execution

_RUN = ", ".join(RunRow._fields)
_NOTICE = ", ".join(NotificationRow._fields)


class Told(NamedTuple):
    """What a story knows besides its database."""

    executions: list[Execution]
    accepted: list[str]
    limits: dict[str, int]
    settings: Settings
    now_ms: int
    clock_stepped: bool
    finals: dict[tuple[int, int, int], RunRow]
    held: set[tuple[int, int, int]]
    notifications: list[tuple[str, bytes]]
    plan: Callable[[str, int], tuple[float, Completed]]


class Ledger(NamedTuple):
    """Everything that is left of a story."""

    schedules: list[ScheduleRow]
    states: dict[int, ScheduleState]
    versions: dict[int, list[VersionRow]]
    runs: dict[int, list[RunRow]]
    dropped_ranges: dict[int, list[DroppedRange]]
    backfills: list[dict[str, Any]]
    audit: list[dict[str, Any]]
    notifications: list[NotificationRow]
    told: Told


def read_ledger(connection: sqlite3.Connection, told: Told) -> Ledger:
    """Return what is in the database."""
    execute = connection.execute
    runs: dict[int, list[RunRow]] = {}
    for row in execute(f"SELECT {_RUN} FROM schedule_runs ORDER BY schedule_key, nominal_s, origin"):
        runs.setdefault(row[0], []).append(RunRow._make(row))
    dropped_ranges: dict[int, list[DroppedRange]] = {}
    for row in execute("SELECT * FROM dropped_ranges ORDER BY schedule_key, until_s"):
        dropped_ranges.setdefault(row[0], []).append(DroppedRange._make(row))
    versions: dict[int, list[VersionRow]] = {}
    for row in execute("SELECT * FROM schedule_versions ORDER BY schedule_key, version"):
        versions.setdefault(row[0], []).append(VersionRow._make(row))

    def dicts(query: str) -> list[dict[str, Any]]:
        cursor = execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    return Ledger(
        [ScheduleRow._make(row) for row in execute("SELECT * FROM schedules")],
        {row[0]: ScheduleState._make(row) for row in execute("SELECT * FROM schedule_state")},
        versions,
        runs,
        dropped_ranges,
        dicts("SELECT * FROM backfills"),
        dicts("SELECT * FROM audit ORDER BY audit_number"),
        [
            NotificationRow._make(row)
            for row in execute(f"SELECT {_NOTICE} FROM notifications ORDER BY notification_number")
        ],
        told,
    )


class Decided(NamedTuple):
    """One version with the ticks that it had to decide."""

    schedule: ScheduleRow
    version: VersionRow
    policy: Policy
    ticks: Ticks
    expected: list[int]
    follows: bool

    def fire_ms(self, tick: int) -> int:
        spec = stored_spec(self.version.spec)
        return fire_time_ms(
            self.ticks, tick, schedule_id=self.schedule.schedule_id, jitter_ms=spec.jitter_ms, mode=spec.jitter_mode
        )


def decided(ledger: Ledger) -> Iterator[Decided]:
    """Yield every version of every schedule with its ticks."""
    for schedule in ledger.schedules:
        for version in ledger.versions[schedule.schedule_key]:
            spec = stored_spec(version.spec)
            ticks = compile_spec(spec, schedule_id=schedule.schedule_id)
            until = ledger.states[schedule.schedule_key].cursor_s if version.until_s is None else version.until_s
            policy = stored_policy(version.policy)
            follows = policy.adaptive or any(interval.anchor == "completion" for interval in spec.intervals)
            expected = [] if follows else list(ticks.between_epochs(version.after_s + 1, until))
            yield Decided(schedule, version, policy, ticks, expected, follows)


def each_tick_once(ledger: Ledger) -> Iterator[str]:
    """No duplicate, none lost, none invented: each tick is one run, or in one span."""
    for each in decided(ledger):
        key, version = each.schedule.schedule_key, each.version
        until = ledger.states[key].cursor_s if version.until_s is None else version.until_s
        runs = Counter(
            run.nominal_s
            for run in ledger.runs.get(key, [])
            if run.origin == 0 and version.after_s < run.nominal_s <= until
        )
        dropped_ranges = [
            dropped_range
            for dropped_range in ledger.dropped_ranges.get(key, [])
            if dropped_range.version == version.version
        ]
        if each.follows:
            yield from (f"{key}: {tick} ran {count} times" for tick, count in runs.items() if count > 1)
            continue
        for tick in each.expected:
            places = runs.pop(tick, 0) + sum(
                dropped_range.after_s < tick <= dropped_range.until_s for dropped_range in dropped_ranges
            )
            if places != 1:
                yield f"schedule {key} version {version.version}: tick {tick} is in {places} places"
        yield from (f"schedule {key}: invented tick {tick}" for tick in runs)
        for dropped_range in dropped_ranges:
            counted = sum(dropped_range.after_s < tick <= dropped_range.until_s for tick in each.expected)
            if counted != dropped_range.ticks:
                yield f"schedule {key}: span {dropped_range} counts {dropped_range.ticks}, there are {counted}"


def drops_are_legal(ledger: Ledger) -> Iterator[str]:
    """A tick is dropped only for a reason that holds: missed means later than the grace, under that policy."""
    for each in decided(ledger):
        for dropped_range in ledger.dropped_ranges.get(each.schedule.schedule_key, []):
            if dropped_range.version != each.version.version or each.follows:
                continue
            ticks = [tick for tick in each.expected if dropped_range.after_s < tick <= dropped_range.until_s]
            late = [dropped_range.decided_ms - each.fire_ms(tick) for tick in ticks]
            wanted = {"missed": "none", "coalesced": "coalesce"}.get(dropped_range.reason)
            if wanted is not None and each.policy.catchup_policy != wanted:
                yield f"{dropped_range}: dropped as {dropped_range.reason} under {each.policy.catchup_policy}"
            if (
                dropped_range.reason in ("missed", "coalesced", "outside_window")
                and min(late, default=1 << 40) <= ledger.told.settings.misfire_grace_ms
            ):
                yield f"{dropped_range}: a tick only {min(late)} ms late was dropped"
            skips = (each.policy.catchup_policy, each.policy.overlap_policy) == ("fire_immediately", "skip")
            if dropped_range.reason == "overlap" and not skips:
                yield f"{dropped_range}: skipped although each tick was to be started, or to wait"
            if dropped_range.reason == "outside_window":
                window = each.policy.catchup_window_s
                if window is None or any(
                    dropped_range.decided_ms - tick * 1000 < window * 1000 for tick in ticks if window
                ):
                    yield f"{dropped_range}: dropped although inside the window {window}"


SKIPPED_BY: dict[str | None, Callable[[Policy], bool]] = {
    "overlap": lambda policy: policy.overlap_policy == "skip",
    "buffer_full": lambda policy: policy.overlap_policy in ("queue", "buffer_one"),
    "min_interval": lambda policy: policy.min_interval_ms > 0,
    "shadow": lambda policy: policy.shadow,
}


def skips_are_legal(ledger: Ledger) -> Iterator[str]:
    """A run is skipped only for what a version of its schedule, or whoever asked for it, has said."""
    held = any(row["operation"] == "pause_target" for row in ledger.audit)
    for schedule in ledger.schedules:
        key = schedule.schedule_key
        policies = [stored_policy(version.policy) for version in ledger.versions[key]]
        for run in ledger.runs.get(key, []):
            lawful = SKIPPED_BY.get(run.reason)
            if run.state != "SKIPPED" or run.overlap is not None or lawful is None or any(map(lawful, policies)):
                continue
            if not (held and run.reason == "buffer_full"):  # whatever waits for its target waits in the same line
                yield f"{run.id} was skipped as {run.reason}, which no version of its schedule is for"


def coalesced_is_the_latest(ledger: Ledger) -> Iterator[str]:
    """The run of a coalesced pass is later than everything that was dropped with it."""
    for key, dropped_ranges in ledger.dropped_ranges.items():
        for dropped_range in (dropped_range for dropped_range in dropped_ranges if dropped_range.reason == "coalesced"):
            together = [
                run
                for run in ledger.runs.get(key, [])
                if run.origin == 0 and run.decided_ms == dropped_range.decided_ms and run.reason == "coalesced"
            ]
            if any(run.nominal_s < dropped_range.until_s for run in together):
                yield f"{dropped_range}: ran an earlier tick than it dropped"


def nothing_early(ledger: Ledger) -> Iterator[str]:
    """No tick is decided, and nothing is launched, before its fire time."""
    for each in decided(ledger):
        expected = set(each.expected)
        for run in ledger.runs.get(each.schedule.schedule_key, []):
            if run.origin == 0 and run.nominal_s in expected and run.version == each.version.version:
                fire = each.fire_ms(run.nominal_s)
                if run.decided_ms < fire:
                    yield f"{run.id} decided {fire - run.decided_ms} ms early"
                if run.fire_ms != fire and each.policy.catchup_policy != "spread":
                    yield f"{run.id}: its fire time is {run.fire_ms}, computed anew {fire}"


def launches_are_recorded(ledger: Ledger) -> Iterator[str]:
    """Whatever was launched is in the ledger, with one key, and each attempt once."""
    known = {str(run.id): run for runs in ledger.runs.values() for run in runs}
    present = {schedule.schedule_id for schedule in ledger.schedules}
    keys: dict[str, str] = {}
    seen: set[tuple[str, int]] = set()
    for execution in ledger.told.executions:
        launch = execution.launch
        run = known.get(launch.run_id)
        if run is None:
            if launch.schedule_id in present and not _was_purged(ledger, launch.schedule_id):
                yield f"{launch.run_id} was launched and is not in the ledger"
        elif launch.attempt > run.attempt:
            yield f"{launch.run_id} was launched as attempt {launch.attempt}, the ledger knows {run.attempt}"
        elif not ledger.told.clock_stepped and execution.at * 1000 + 1 < run.fire_ms:
            yield f"{launch.run_id} was launched before its fire time"
        if keys.setdefault(launch.run_id, launch.key) != launch.key:
            yield f"{launch.run_id} was launched with two keys"
        if (launch.run_id, launch.attempt) in seen:
            yield f"{launch.run_id}: attempt {launch.attempt} was launched twice"
        seen.add((launch.run_id, launch.attempt))
    # Whoever purges a schedule while the clock is an hour ahead has its ticks once more when the clock is right again.
    forgotten = ledger.told.clock_stepped and any(row["operation"] == "purge" for row in ledger.audit)
    if len(set(keys.values())) != len(keys) and not forgotten:
        yield "two runs share one key"


def _was_purged(ledger: Ledger, schedule_id: str) -> bool:
    return any(row["operation"] == "purge" and row["schedule_id"] == schedule_id for row in ledger.audit)


def ends_are_those_of_the_last_attempt(ledger: Ledger) -> Iterator[str]:
    """A success, or a failure of its own, is what the attempt came to that the ledger names, when it came to it."""
    launched = {(each.launch.run_id, each.launch.attempt): each.at for each in ledger.told.executions}
    for run in (run for runs in ledger.runs.values() for run in runs):
        if run.state != "SUCCESS" and (run.state != "FAILED" or run.error != "planned"):
            continue
        at = launched.get((str(run.id), run.attempt))
        seconds, planned = ledger.told.plan(str(run.id), run.attempt)
        if at is None:
            yield f"{run.id} is {run.state} as attempt {run.attempt}, which nobody has launched"
        elif (run.state, run.result) != (planned.state, planned.result):
            yield f"{run.id} is {run.state, run.result} as attempt {run.attempt}, which came to {planned}"
        elif (run.finished_ms or 0) + 1 < (at + seconds) * 1000 and not ledger.told.clock_stepped:
            yield f"{run.id} ended {(at + seconds) * 1000 - (run.finished_ms or 0):.0f} ms before its attempt did"


def endings_are_earned(ledger: Ledger) -> Iterator[str]:
    """Whoever has timed out had its time; whoever is given up has cost so many workers, and was left alone then."""
    launched = {(execution.launch.run_id, execution.launch.attempt) for execution in ledger.told.executions}
    for run in (run for runs in ledger.runs.values() for run in runs):
        if run.state == "TIMED_OUT":
            limits = _limits(ledger, run)
            took_ms = (run.finished_ms or 0) - (run.started_ms or 0)
            if not limits or (took_ms < min(limits) and not ledger.told.clock_stepped):
                yield f"{run.id} has timed out after {took_ms} ms, allowed were {limits}"
        if run.reason == "worker_lost":
            lost = run.attempt - run.failures  # the last attempt was not launched, and counts as a failure
            if lost < ledger.told.settings.max_pickups or (str(run.id), run.attempt) in launched:
                yield f"{run.id} was given up after {lost} workers"


def _limits(ledger: Ledger, run: RunRow) -> list[int]:
    """How long a run may take: as its version says; a backfill obeys whichever policy is the newest when it goes on."""
    backfilled = run.source == RunSource.BACKFILL
    versions = [each for each in ledger.versions[run.schedule_key] if backfilled or each.version == run.version]
    return [limit for each in versions if (limit := stored_policy(each.policy).max_execution_ms) is not None]


def final_states_are_sticky(ledger: Ledger) -> Iterator[str]:
    """A run that has ended is never touched again."""
    for runs in ledger.runs.values():
        for run in runs:
            ended = ledger.told.finals.get((run.schedule_key, run.nominal_s, run.origin))
            if ended is not None and ended != run:
                yield f"{run.id} ended in {ended.state} and is now {run.state}"


def everything_comes_to_rest(ledger: Ledger) -> Iterator[str]:
    """Once faults stop: no run is stuck, nothing waits for a free slot, no schedule is asleep with ticks left."""
    for schedule in ledger.schedules:
        state = ledger.states[schedule.schedule_key]
        for run in ledger.runs.get(schedule.schedule_key, []):
            if run.state in IN_FLIGHT and run.due_ms is not None and run.due_ms < ledger.told.now_ms - 60_000:
                yield f"{run.id} is stuck in {run.state}"
            if run.state in IN_FLIGHT and run.due_ms is None and run.id not in ledger.told.held:
                yield f"{run.id} is held by {run.owner}, who is dead or does not know of it"
            if run.state in IN_FLIGHT and run.owner is None and (run.due_ms or 0) > ledger.told.now_ms + 60_000:
                yield f"{run.id} is to be tried again, in {(run.due_ms or 0) - ledger.told.now_ms} ms"
        waiting = [run for run in ledger.runs.get(schedule.schedule_key, []) if run.state == "BUFFERED"]
        if waiting and state.in_flight == 0 and not state.paused:
            yield f"schedule {schedule.schedule_key}: {len(waiting)} wait and nothing runs"
        asleep = _asleep(state, len(waiting), ledger.told.now_ms)
        if asleep is not None:
            yield f"schedule {schedule.schedule_key} {asleep}"


def _asleep(state: ScheduleState, waiting: int, now_ms: int) -> str | None:
    """Why a schedule will not fire although it should."""
    if state.closed or (state.paused and (state.pause_until_ms or now_ms) >= now_ms - 60_000):
        return None
    if state.paused:
        return f"was paused until {state.pause_until_ms}, and still is"
    if state.remaining == 0:
        return None
    if state.next_nominal_s is None:
        follows = state.in_flight or waiting
        return None if follows else "has no next tick, and nothing runs that one could follow"
    if state.next_fire_ms is None:
        return "has a next tick and will never look at it"
    return f"has been due since {state.next_fire_ms}" if state.next_fire_ms < now_ms - 60_000 else None


def limits_hold(ledger: Ledger) -> Iterator[str]:
    """Automatic starts are never more than were allowed."""
    for schedule in ledger.schedules:
        state = ledger.states[schedule.schedule_key]
        named = [row for row in ledger.audit if row["schedule_id"] == schedule.schedule_id]
        changed = (
            any("remaining" in (row["after"] or "") for row in named)
            or len([row for row in named if row["operation"] in ("create", "upsert", "patch", "restore")]) > 1
        )
        if state.remaining is not None and state.remaining < 0:
            yield f"schedule {schedule.schedule_key}: {state.remaining} remaining"
        if changed or state.remaining is None:
            continue
        started = sum(
            run.origin == 0 and run.state not in ("SKIPPED", "PLANNED", "BUFFERED")
            for run in ledger.runs.get(schedule.schedule_key, [])
        )
        if state.remaining and any(run.reason == "limit_reached" for run in ledger.runs.get(schedule.schedule_key, [])):
            yield f"schedule {schedule.schedule_key}: at its limit with {state.remaining} remaining"
        allowed = ledger.told.limits.get(schedule.schedule_id)
        if allowed is not None and started + state.remaining != allowed:
            yield f"schedule {schedule.schedule_key}: {started} started, {state.remaining} left of {allowed}"


def backfills_are_exact(ledger: Ledger) -> Iterator[str]:
    """A finished backfill has run exactly the ticks of its range, each once."""
    by_key = {schedule.schedule_key: schedule for schedule in ledger.schedules}
    for row in ledger.backfills:
        schedule = by_key.get(row["schedule_key"])
        if schedule is None:
            continue
        version = next(v for v in ledger.versions[row["schedule_key"]] if v.version == row["version"])
        ticks = compile_spec(stored_spec(version.spec), schedule_id=schedule.schedule_id)
        expected = list(ticks.between_epochs(row["start_s"], row["end_s"]))
        runs = [run.nominal_s for run in ledger.runs.get(row["schedule_key"], []) if run.origin == row["backfill_id"]]
        if len(set(runs)) != len(runs) or not set(runs) <= set(expected):
            yield f"backfill {row['backfill_id']}: ran {runs}, expected {expected}"
        if row["state"] == "DONE" and row["only_what"] == "all" and runs != expected:
            yield f"backfill {row['backfill_id']} is done with {len(runs)} of {len(expected)}"
        if row["state"] == "RUNNING" and (row["next_ms"] or 0) < ledger.told.now_ms - 60_000:
            yield f"backfill {row['backfill_id']} is forgotten: due since {row['next_ms']}"


def requests_count_once(ledger: Ledger) -> Iterator[str]:
    """An accepted request has one audit row, and one effect."""
    audited = Counter(row["request_id"] for row in ledger.audit if row["request_id"])
    for request_id in ledger.told.accepted:
        if audited[request_id] != 1:
            yield f"{request_id} was accepted and audited {audited[request_id]} times"
    triggers = Counter(
        run.request_id for runs in ledger.runs.values() for run in runs if run.source == RunSource.TRIGGER
    )
    yield from (f"{request_id} triggered {count} runs" for request_id, count in triggers.items() if count != 1)


def skips_are_obeyed(ledger: Ledger) -> Iterator[str]:
    """A tick that somebody asked to skip did not run, unless the schedule was deleted since, and made anew."""
    by_id = {schedule.schedule_id: schedule for schedule in ledger.schedules}
    ends = [row for row in ledger.audit if row["operation"] in ("delete", "purge")]
    deleted = {row["schedule_id"]: row["audit_number"] for row in ends}
    for row in ledger.audit:
        schedule = by_id.get(row["schedule_id"])
        if row["operation"] != "skip" or schedule is None or row["audit_number"] < deleted.get(row["schedule_id"], 0):
            continue
        ticks = {int(datetime.fromisoformat(text).timestamp()) for text in json.loads(row["after"])["skip"]}
        for run in ledger.runs.get(schedule.schedule_key, []):
            asked = run.origin == 0 and run.nominal_s in ticks and run.decided_ms > row["at_ms"]
            if asked and run.state != "SKIPPED":
                yield f"{run.id} was to be skipped and is {run.state}"


def what_goes_wrong_is_told(ledger: Ledger) -> Iterator[str]:
    """Each run that has failed for good and each span of missed ticks has one notice, and nothing else has any."""
    about = [(each, json.loads(each.about)) for each in ledger.notifications]
    failed = Counter(data["run_id"] for each, data in about if each.topic == "failed")
    missed = Counter((each.schedule_id, data["until"]) for each, data in about if each.topic == "missed")
    names = {schedule.schedule_key: schedule.schedule_id for schedule in ledger.schedules}
    for run in (run for runs in ledger.runs.values() for run in runs):
        expected = int(run.state in FAILURES)
        if failed[str(run.id)] != expected:
            yield f"{run.id} is {run.state} and was told {failed[str(run.id)]} times"
    for dropped_range in (
        dropped_range for dropped_ranges in ledger.dropped_ranges.values() for dropped_range in dropped_ranges
    ):
        until = datetime.fromtimestamp(dropped_range.until_s, UTC).isoformat().replace("+00:00", "Z")
        unexpected = dropped_range.reason in ("missed", "coalesced", "outside_window")
        if unexpected and not missed[names[dropped_range.schedule_key], until]:
            yield f"{dropped_range} was told nobody"


def _rests(notification: NotificationRow, told: Told) -> bool:
    """Whether so many tries went wrong that the pause before the next one is longer than the rest of the story."""
    pause_ms = told.settings.notification_retry_ms << max(0, notification.attempts - 1)
    return pause_ms > 120_000 and told.now_ms < (notification.due_ms or 0) <= told.now_ms + pause_ms


def whoever_is_told_hears_it(ledger: Ledger) -> Iterator[str]:
    """Once faults stop, every notice has arrived, by itself or in a summary that has, and was written before."""
    heard = {notification_id for notification_id, _ in ledger.told.notifications}
    known = {each.notification_id: each for each in ledger.notifications}
    for each in ledger.notifications:
        if each.state == "PENDING" and each.created_ms < ledger.told.now_ms - 120_000 and not _rests(each, ledger.told):
            yield f"{each.notification_id} has been pending since {each.created_ms}, tried {each.attempts} times"
        if each.state == "DELIVERED" and each.notification_id not in heard:
            yield f"{each.notification_id} is delivered, and nobody heard it"
        if each.state == "SUMMARIZED" and (each.summary_id not in known or each.notification_id in heard):
            yield f"{each.notification_id} is part of {each.summary_id}, which is not there, or was told by itself"
    bodies: dict[str, set[bytes]] = {}
    for notification_id, body in ledger.told.notifications:
        bodies.setdefault(notification_id, set()).add(body)
    yield from (f"{notification_id} was not written" for notification_id in bodies if notification_id not in known)
    yield from (f"{notification_id} was told in two ways" for notification_id, told in bodies.items() if len(told) > 1)


CHECKERS: tuple[Callable[[Ledger], Iterator[str]], ...] = (
    each_tick_once,
    drops_are_legal,
    coalesced_is_the_latest,
    nothing_early,
    launches_are_recorded,
    ends_are_those_of_the_last_attempt,
    skips_are_legal,
    endings_are_earned,
    final_states_are_sticky,
    everything_comes_to_rest,
    limits_hold,
    backfills_are_exact,
    requests_count_once,
    skips_are_obeyed,
    what_goes_wrong_is_told,
    whoever_is_told_hears_it,
)


def check(ledger: Ledger) -> list[str]:
    """Return every complaint of every checker."""
    return [f"{checker.__name__}: {text}" for checker in CHECKERS for text in checker(ledger)]
