"""The rules that the ledger must satisfy after a scenario. They follow from the guarantees, not from the engine's code.

Each checker takes the :class:`Ledger` and yields violations.  The ticks of each version are computed with
:mod:`tompion.spec`, which has its own tests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tests.simulation.ledger import Evidence, Ledger
from tompion.model.notification import NotificationRow
from tompion.model.policy import Policy
from tompion.model.rows import ScheduleRow, VersionRow
from tompion.model.run import FAILURES, IN_FLIGHT, RunRow, RunSource
from tompion.model.schedule_state import ScheduleState
from tompion.plan.stored_definition import stored_policy, stored_spec
from tompion.spec.compiler import compile_spec
from tompion.spec.jitter import fire_time_ms
from tompion.spec.ticks import Ticks


class VersionTicks(NamedTuple):
    """One version with the ticks that the engine had to decide."""

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


def version_ticks(ledger: Ledger) -> Iterator[VersionTicks]:
    """Yield every version of every schedule with its ticks."""
    for schedule in ledger.schedules:
        for version in ledger.versions[schedule.schedule_key]:
            spec = stored_spec(version.spec)
            ticks = compile_spec(spec, schedule_id=schedule.schedule_id)
            until = ledger.states[schedule.schedule_key].cursor_s if version.until_s is None else version.until_s
            policy = stored_policy(version.policy)
            follows = policy.adaptive or any(interval.anchor == "completion" for interval in spec.intervals)
            expected = [] if follows else list(ticks.between_epochs(version.after_s + 1, until))
            yield VersionTicks(schedule, version, policy, ticks, expected, follows)


def each_tick_once(ledger: Ledger) -> Iterator[str]:
    """Each tick is exactly one run, or in exactly one dropped range. No other tick has a run."""
    for entry in version_ticks(ledger):
        key, version = entry.schedule.schedule_key, entry.version
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
        if entry.follows:
            yield from (f"{key}: {tick} ran {count} times" for tick, count in runs.items() if count > 1)
            continue
        for tick in entry.expected:
            places = runs.pop(tick, 0) + sum(
                dropped_range.after_s < tick <= dropped_range.until_s for dropped_range in dropped_ranges
            )
            if places != 1:
                yield f"schedule {key} version {version.version}: tick {tick} is in {places} places"
        yield from (f"schedule {key}: invented tick {tick}" for tick in runs)
        for dropped_range in dropped_ranges:
            counted = sum(dropped_range.after_s < tick <= dropped_range.until_s for tick in entry.expected)
            if counted != dropped_range.ticks:
                yield f"schedule {key}: dropped range {dropped_range} counts {dropped_range.ticks}, there are {counted}"


def drops_are_legal(ledger: Ledger) -> Iterator[str]:
    """A tick is dropped only for a reason that its policy allows. A missed tick is later than the grace period."""
    for entry in version_ticks(ledger):
        for dropped_range in ledger.dropped_ranges.get(entry.schedule.schedule_key, []):
            if dropped_range.version != entry.version.version or entry.follows:
                continue
            ticks = [tick for tick in entry.expected if dropped_range.after_s < tick <= dropped_range.until_s]
            late = [dropped_range.decided_ms - entry.fire_ms(tick) for tick in ticks]
            required_policy = {"missed": "none", "coalesced": "coalesce"}.get(dropped_range.reason)
            if required_policy is not None and entry.policy.catchup_policy != required_policy:
                yield f"{dropped_range}: dropped as {dropped_range.reason} under {entry.policy.catchup_policy}"
            # Coalescing starts with a missed tick, and drops late ticks, too.
            early = min(late[:1] if dropped_range.reason == "coalesced" else late, default=1 << 40)
            is_early = early <= ledger.evidence.settings.misfire_grace_ms
            if is_early and dropped_range.reason in ("missed", "coalesced", "outside_window"):
                yield f"{dropped_range}: a tick only {early} ms late was dropped"
            skips = (entry.policy.catchup_policy, entry.policy.overlap_policy) == ("fire_immediately", "skip")
            if dropped_range.reason == "overlap" and not skips:
                yield f"{dropped_range}: skipped although the policy starts or queues each tick"
            if dropped_range.reason == "outside_window":
                window = entry.policy.catchup_window_s
                if window is None or any(
                    dropped_range.decided_ms - tick * 1000 < window * 1000 for tick in ticks if window
                ):
                    yield f"{dropped_range}: dropped although inside the window {window}"


ALLOWED_SKIPS: dict[str | None, Callable[[Policy], bool]] = {
    "overlap": lambda policy: policy.overlap_policy == "skip",
    "buffer_full": lambda policy: policy.overlap_policy in ("queue", "buffer_one"),
    "min_interval": lambda policy: policy.min_interval_ms > 0,
    "shadow": lambda policy: policy.shadow,
}


def skips_are_legal(ledger: Ledger) -> Iterator[str]:
    """A run is skipped only for a reason that a version of its schedule, or the request for the run, allows."""
    target_paused = any(row["operation"] == "pause_target" for row in ledger.audit)
    for schedule in ledger.schedules:
        key = schedule.schedule_key
        policies = [stored_policy(version.policy) for version in ledger.versions[key]]
        for run in ledger.runs.get(key, []):
            allows = ALLOWED_SKIPS.get(run.reason)
            if run.state != "SKIPPED" or run.overlap is not None or allows is None or any(map(allows, policies)):
                continue
            if not (target_paused and run.reason == "buffer_full"):  # runs that wait for a target use the same buffer
                yield f"{run.id} was skipped as {run.reason}, which no version of its schedule allows"


def coalesced_is_the_latest(ledger: Ledger) -> Iterator[str]:
    """A coalesced pass starts one run, and it is later than every tick that was dropped with it."""
    for key, dropped_ranges in ledger.dropped_ranges.items():
        for dropped_range in (item for item in dropped_ranges if item.reason == "coalesced"):
            decided = [run for run in ledger.runs.get(key, []) if run.decided_ms == dropped_range.decided_ms]
            together = [run for run in decided if run.origin == 0 and run.reason != "skip_requested"]
            if any(run.nominal_s < dropped_range.until_s and run.reason == "coalesced" for run in together):
                yield f"{dropped_range}: ran an earlier tick than it dropped"
            if sum(run.nominal_s > dropped_range.until_s for run in together) > 1:
                yield f"{dropped_range}: more than one run was decided with it"


def nothing_early(ledger: Ledger) -> Iterator[str]:
    """No tick is decided and no run is launched before its fire time."""
    for entry in version_ticks(ledger):
        expected = set(entry.expected)
        for run in ledger.runs.get(entry.schedule.schedule_key, []):
            if run.origin == 0 and run.nominal_s in expected and run.version == entry.version.version:
                fire = entry.fire_ms(run.nominal_s)
                if run.decided_ms < fire:
                    yield f"{run.id} decided {fire - run.decided_ms} ms early"
                if run.fire_ms != fire and entry.policy.catchup_policy != "spread":
                    yield f"{run.id}: its fire time is {run.fire_ms}, expected {fire}"


def launches_are_recorded(ledger: Ledger) -> Iterator[str]:
    """Each launched run is in the ledger, has one key, and each of its attempts was launched once."""
    rows = {str(run.id): run for runs in ledger.runs.values() for run in runs}
    present = {schedule.schedule_id for schedule in ledger.schedules}
    keys: dict[str, str] = {}
    seen: set[tuple[str, int]] = set()
    for execution in ledger.evidence.executions:
        launch = execution.launch
        run = rows.get(launch.run_id)
        if run is None:
            if launch.schedule_id in present and not _was_purged(ledger, launch.schedule_id):
                yield f"{launch.run_id} was launched and is not in the ledger"
        elif launch.attempt > run.attempt:
            yield f"{launch.run_id} was launched as attempt {launch.attempt}, the ledger has {run.attempt}"
        elif not ledger.evidence.clock_stepped and execution.at * 1000 + 1 < run.fire_ms:
            yield f"{launch.run_id} was launched before its fire time"
        if keys.setdefault(launch.run_id, launch.idempotency_key) != launch.idempotency_key:
            yield f"{launch.run_id} was launched with two keys"
        if (launch.run_id, launch.attempt) in seen:
            yield f"{launch.run_id}: attempt {launch.attempt} was launched twice"
        seen.add((launch.run_id, launch.attempt))
    # A schedule that is purged while the clock is ahead has its ticks again after the clock was corrected.
    purged_while_ahead = ledger.evidence.clock_stepped and any(row["operation"] == "purge" for row in ledger.audit)
    if len(set(keys.values())) != len(keys) and not purged_while_ahead:
        yield "two runs share one key"


def _was_purged(ledger: Ledger, schedule_id: str) -> bool:
    return any(row["operation"] == "purge" and row["schedule_id"] == schedule_id for row in ledger.audit)


def outcomes_are_of_the_last_attempt(ledger: Ledger) -> Iterator[str]:
    """The state, result and end of a finished run are those of the attempt that the ledger names."""
    launched = {(item.launch.run_id, item.launch.attempt): item.at for item in ledger.evidence.executions}
    for run in (run for runs in ledger.runs.values() for run in runs):
        if run.state != "SUCCESS" and (run.state != "FAILED" or run.error != "planned"):
            continue
        at = launched.get((str(run.id), run.attempt))
        seconds, planned = ledger.evidence.plan(str(run.id), run.attempt)
        if at is None:
            yield f"{run.id} is {run.state} as attempt {run.attempt}, which was not launched"
        elif (run.state, run.result) != (planned.state, planned.result):
            yield f"{run.id} is {run.state, run.result} as attempt {run.attempt}, whose outcome is {planned}"
        elif (run.finished_ms or 0) + 1 < (at + seconds) * 1000 and not ledger.evidence.clock_stepped:
            yield f"{run.id} ended {(at + seconds) * 1000 - (run.finished_ms or 0):.0f} ms before its attempt did"


def endings_are_justified(ledger: Ledger) -> Iterator[str]:
    """A timed-out run had its full time. A run that failed as worker_lost had lost the maximum number of workers."""
    launched = {(execution.launch.run_id, execution.launch.attempt) for execution in ledger.evidence.executions}
    for run in (run for runs in ledger.runs.values() for run in runs):
        if run.state == "TIMED_OUT":
            limits = _limits(ledger, run)
            took_ms = (run.finished_ms or 0) - (run.started_ms or 0)
            if not limits or (took_ms < min(limits) and not ledger.evidence.clock_stepped):
                yield f"{run.id} timed out after {took_ms} ms, the limits are {limits}"
        if run.reason == "worker_lost":
            lost = run.attempt - run.failures  # the last attempt was not launched and counts as a failure
            if lost < ledger.evidence.settings.max_pickups or (str(run.id), run.attempt) in launched:
                yield f"{run.id} failed after {lost} lost workers"


def _limits(ledger: Ledger, run: RunRow) -> list[int]:
    """Return the possible time limits of a run: that of its version, or for a backfill that of any version."""
    backfilled = run.source == RunSource.BACKFILL
    versions = [row for row in ledger.versions[run.schedule_key] if backfilled or row.version == run.version]
    return [limit for row in versions if (limit := stored_policy(row.policy).max_execution_ms) is not None]


def no_run_fails_before_its_launch_deadline(ledger: Ledger) -> Iterator[str]:
    """A run whose target was down has waited for it until its deadline."""
    default_ms = ledger.evidence.settings.launch_deadline_ms
    for run in (run for runs in ledger.runs.values() for run in runs if run.reason == "launch_failed"):
        limits = [stored_policy(row.policy).launch_wait_ms(default_ms) for row in ledger.versions[run.schedule_key]]
        waited_ms = (run.finished_ms or 0) - run.decided_ms
        if waited_ms < min(limits) and not ledger.evidence.clock_stepped:
            yield f"{run.id} failed after {waited_ms} ms, although it may wait for {min(limits)} ms"


def final_states_are_sticky(ledger: Ledger) -> Iterator[str]:
    """A run that has ended never changes."""
    for runs in ledger.runs.values():
        for run in runs:
            ended = ledger.evidence.finals.get((run.schedule_key, run.nominal_s, run.origin))
            if ended is not None and ended != run:
                yield f"{run.id} ended in {ended.state} and is now {run.state}"


def no_work_is_stuck(ledger: Ledger) -> Iterator[str]:
    """After the faults stop, no run is stuck, no run waits for a free slot, and no schedule misses its next tick."""
    for schedule in ledger.schedules:
        state = ledger.states[schedule.schedule_key]
        for run in ledger.runs.get(schedule.schedule_key, []):
            if run.state in IN_FLIGHT and run.due_ms is not None and run.due_ms < ledger.evidence.now_ms - 60_000:
                yield f"{run.id} is stuck in {run.state}"
            if run.state in IN_FLIGHT and run.due_ms is None and run.id not in ledger.evidence.held:
                yield f"{run.id} is held by {run.owner}, which is dead or does not execute it"
            if run.state in IN_FLIGHT and run.owner is None and (run.due_ms or 0) > ledger.evidence.now_ms + 60_000:
                yield f"{run.id} is to be retried in {(run.due_ms or 0) - ledger.evidence.now_ms} ms"
        waiting = [run for run in ledger.runs.get(schedule.schedule_key, []) if run.state == "BUFFERED"]
        if waiting and state.in_flight == 0 and not state.paused:
            yield f"schedule {schedule.schedule_key}: {len(waiting)} wait and nothing runs"
        problem = _missing_fire(state, len(waiting), ledger.evidence.now_ms)
        if problem is not None:
            yield f"schedule {schedule.schedule_key} {problem}"


def _missing_fire(state: ScheduleState, waiting: int, now_ms: int) -> str | None:
    """Return why a schedule will not fire although it should, or None."""
    if state.closed or (state.paused and (state.pause_until_ms or now_ms) >= now_ms - 60_000):
        return None
    if state.paused:
        return f"was paused until {state.pause_until_ms}, and still is"
    if state.remaining == 0:
        return None
    if state.next_nominal_s is None:
        follows = state.in_flight or waiting
        return None if follows else "has no next tick and no run that the next one could follow"
    if state.next_fire_ms is None:
        return "has a next tick without a fire time"
    return f"has been due since {state.next_fire_ms}" if state.next_fire_ms < now_ms - 60_000 else None


def limits_hold(ledger: Ledger) -> Iterator[str]:
    """The number of automatic starts is within the limit."""
    for schedule in ledger.schedules:
        state = ledger.states[schedule.schedule_key]
        audit_rows = [row for row in ledger.audit if row["schedule_id"] == schedule.schedule_id]
        changed = (
            any("remaining" in (row["after"] or "") for row in audit_rows)
            or len([row for row in audit_rows if row["operation"] in ("create", "upsert", "patch", "restore")]) > 1
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
        allowed = ledger.evidence.limits.get(schedule.schedule_id)
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
        if row["state"] == "RUNNING" and (row["next_ms"] or 0) < ledger.evidence.now_ms - 60_000:
            yield f"backfill {row['backfill_id']} is overdue since {row['next_ms']}"


def requests_count_once(ledger: Ledger) -> Iterator[str]:
    """An accepted request has one audit row, and one effect. An edit that changed nothing may have none."""
    audited = Counter(row["request_id"] for row in ledger.audit if row["request_id"])
    for request_id in ledger.evidence.accepted:
        if audited[request_id] != 1:
            yield f"{request_id} was accepted and audited {audited[request_id]} times"
    for request_id in ledger.evidence.unchanged:
        if audited[request_id] > 1:
            yield f"{request_id} changed nothing at last and was audited {audited[request_id]} times"
    triggers = Counter(
        run.request_id for runs in ledger.runs.values() for run in runs if run.source == RunSource.TRIGGER
    )
    yield from (f"{request_id} triggered {count} runs" for request_id, count in triggers.items() if count != 1)


def skips_are_obeyed(ledger: Ledger) -> Iterator[str]:
    """A tick with a skip request did not run, unless the schedule was deleted and created again after the request."""
    by_id = {schedule.schedule_id: schedule for schedule in ledger.schedules}
    ends = [row for row in ledger.audit if row["operation"] in ("delete", "purge")]
    deleted = {row["schedule_id"]: row["audit_number"] for row in ends}
    for row in ledger.audit:
        schedule = by_id.get(row["schedule_id"])
        if row["operation"] != "skip" or schedule is None or row["audit_number"] < deleted.get(row["schedule_id"], 0):
            continue
        ticks = {int(datetime.fromisoformat(text).timestamp()) for text in json.loads(row["after"])["skip"]}
        for run in ledger.runs.get(schedule.schedule_key, []):
            requested = run.origin == 0 and run.nominal_s in ticks and run.decided_ms > row["at_ms"]
            if requested and run.state != "SKIPPED":
                yield f"{run.id} was to be skipped and is {run.state}"


def failures_are_notified(ledger: Ledger) -> Iterator[str]:
    """Each failed run and each range of missed ticks has a notification. No other run has one."""
    contents = [(row, json.loads(row.about)) for row in ledger.notifications]
    failed = Counter(data["run_id"] for row, data in contents if row.topic == "failed")
    missed = Counter((row.schedule_id, data["until"]) for row, data in contents if row.topic == "missed")
    names = {schedule.schedule_key: schedule.schedule_id for schedule in ledger.schedules}
    for run in (run for runs in ledger.runs.values() for run in runs):
        expected = int(run.state in FAILURES)
        if failed[str(run.id)] != expected:
            yield f"{run.id} is {run.state} and has {failed[str(run.id)]} notifications"
    for dropped_range in (
        dropped_range for dropped_ranges in ledger.dropped_ranges.values() for dropped_range in dropped_ranges
    ):
        until = datetime.fromtimestamp(dropped_range.until_s, UTC).isoformat().replace("+00:00", "Z")
        unexpected = dropped_range.reason in ("missed", "coalesced", "outside_window")
        if unexpected and not missed[names[dropped_range.schedule_key], until]:
            yield f"{dropped_range} has no notification"


def _is_backing_off(notification: NotificationRow, evidence: Evidence) -> bool:
    """Return whether the backoff before the next attempt is longer than the rest of the scenario."""
    pause_ms = evidence.settings.notification_retry_ms << max(0, notification.attempts - 1)
    return pause_ms > 120_000 and evidence.now_ms < (notification.due_ms or 0) <= evidence.now_ms + pause_ms


def notifications_are_delivered(ledger: Ledger) -> Iterator[str]:
    """After the faults stop, each notification was delivered, alone or in a summary, and was stored first."""
    received = {notification_id for notification_id, _ in ledger.evidence.notifications}
    rows = {row.notification_id: row for row in ledger.notifications}
    for row in ledger.notifications:
        overdue = row.created_ms < ledger.evidence.now_ms - 120_000 and not _is_backing_off(row, ledger.evidence)
        if row.state == "PENDING" and overdue:
            yield f"{row.notification_id} has been pending since {row.created_ms}, after {row.attempts} attempts"
        if row.state == "DELIVERED" and row.notification_id not in received:
            yield f"{row.notification_id} is delivered, and the receiver did not get it"
        if row.state == "SUMMARIZED" and (row.summary_id not in rows or row.notification_id in received):
            yield f"{row.notification_id} is part of {row.summary_id}, which does not exist, or was also sent alone"
    bodies: dict[str, set[bytes]] = {}
    for notification_id, body in ledger.evidence.notifications:
        bodies.setdefault(notification_id, set()).add(body)
    yield from (f"{notification_id} was not stored" for notification_id in bodies if notification_id not in rows)
    for notification_id, variants in bodies.items():
        if len(variants) > 1:
            yield f"{notification_id} was sent with {len(variants)} bodies"


CHECKERS: tuple[Callable[[Ledger], Iterator[str]], ...] = (
    each_tick_once,
    drops_are_legal,
    coalesced_is_the_latest,
    nothing_early,
    launches_are_recorded,
    outcomes_are_of_the_last_attempt,
    skips_are_legal,
    endings_are_justified,
    no_run_fails_before_its_launch_deadline,
    final_states_are_sticky,
    no_work_is_stuck,
    limits_hold,
    backfills_are_exact,
    requests_count_once,
    skips_are_obeyed,
    failures_are_notified,
    notifications_are_delivered,
)


def check(ledger: Ledger) -> list[str]:
    """Return every complaint of every checker."""
    return [f"{checker.__name__}: {text}" for checker in CHECKERS for text in checker(ledger)]
