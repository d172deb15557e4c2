"""``tompion doctor``: checks of store, clocks, engines, queues and runs, each with a remedy."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import typer

from tompion.cli.connection import Connection, watch_options, with_options
from tompion.cli.output import console
from tompion.cli.output.tables import STYLES, length, now
from tompion.cli.snapshot import PAGE_SIZE, DoctorSnapshot, read_doctor_snapshot
from tompion.errors import Forbidden, NotFound, SchemaTooNew, TompionError
from tompion.model.schedule import Run, Schedule, ScheduleStatus

if TYPE_CHECKING:
    from tompion.cli.connection import Api

OK, WARN, BAD = "ok", "warn", "bad"
MAX_NAMES = 3
"""Maximum names in one line."""
MAX_PAUSE = timedelta(days=30)
"""A longer pause without an end is a warning."""
MAX_WAITING = 100
"""This many waiting runs of one schedule are a warning."""
MAX_SKEW_S = 2


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check, and a remedy."""

    name: str
    state: str
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DoctorLimits:
    """Limits of the engines that the checks use."""

    zombie_after_ms: int
    max_buffer: int
    max_clock_skew_ms: int

    @property
    def max_wait(self) -> timedelta:
        """Return how long a run may wait for its start."""
        return timedelta(milliseconds=self.zombie_after_ms)


@with_options(connection=watch_options)
def doctor_command(connection: Connection) -> None:
    """Check store, clocks, versions, engines, queues and runs.

    Exits 1 if a check fails.

    Example: tompion doctor --store postgresql://user@host/name
    """
    checks = connection.repeat(lambda: list(run_checks(connection)), _print_checks)
    if any(check.state == BAD for check in checks):
        raise typer.Exit(1)


def run_checks(connection: Connection) -> Iterator[Check]:
    """Yield the results of the checks. If the store is not reachable, they end there."""
    yield _check_versions()
    reachable = _check_service(connection) if connection.is_service else _check_store(connection)
    yield reachable
    if reachable.state == BAD:
        return
    with connection.open() as api:
        limits, settings = _read_limits(api)
        yield settings
        snapshot = read_doctor_snapshot(api)
        yield _check_clock(api, limits)
        yield from _check_clock_set_back(api)
        checked_at = now()
        yield _check_zones(snapshot)
        yield from _check_instances(snapshot)
        yield _check_runs(snapshot, limits, checked_at)
        yield from _check_queues(snapshot)
        yield _check_waiting(snapshot, limits)
        yield _check_paused(snapshot, checked_at)
        yield _check_damaged(snapshot)
        if not snapshot.is_complete:
            more = "more than " if snapshot.counts.capped else ""
            total = snapshot.counts.active + snapshot.counts.paused
            text = f"only the first {len(snapshot.schedules):,} of {more}{total:,} schedules were checked one by one"
            yield Check("schedules", WARN, text)


def _check_versions() -> Check:
    import sqlite3

    from tompion.sdk.spec import TZDATA_VERSION

    parts = [f"tompion {version('tompion')}", f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    try:
        parts.append(f"psycopg {version('psycopg')}")
    except PackageNotFoundError:
        parts.append("no psycopg")
    return Check("versions", OK, ", ".join([*parts, f"time zone data {TZDATA_VERSION}"]))


def _check_service(connection: Connection) -> Check:
    try:
        with connection.open() as api:
            api.instances.list()
    except TompionError as error:
        return Check(
            "service",
            BAD,
            str(error),
            "check that it is running and that --url is right; start one with 'tompion serve'",
        )
    return Check("service", OK, f"{connection.address} is reachable")


def _check_store(connection: Connection) -> Check:
    """Check that the store is reachable and its schema up to date."""
    from tompion.bootstrap.store import open_migrator
    from tompion.runtime.url_masking import mask_password

    store = mask_password(connection.address)
    try:
        with open_migrator(connection.address) as migrator:
            migrator.reject_newer()
            missing = [migration.name for migration in migrator.status() if not migration.applied]
    except SchemaTooNew as error:
        return Check("store", BAD, str(error))
    except TompionError as error:
        return Check("store", BAD, str(error), "check that it is running and that --store is right")
    if missing:
        return Check("store", BAD, f"{store} lacks the migrations {_names(missing)}", "run 'tompion migrate up'")
    return Check("store", OK, f"{store} is reachable, and its schema is up to date")


def _read_limits(api: Api) -> tuple[DoctorLimits, Check]:
    """Return the limits of the service or of this machine, or the defaults."""
    from tompion.client.sync_client import Client
    from tompion.config.loader import load_config
    from tompion.config.schema import LIMITS
    from tompion.config.settings import Settings

    names = [field.name for field in fields(DoctorLimits)]
    defaults = DoctorLimits(**{name: getattr(Settings(), name) for name in names})
    try:
        if isinstance(api, Client):
            values = {setting["name"]: setting["value"] for setting in api.read("/config")["values"]}
            limits = DoctorLimits(**{name: values[f"{LIMITS}.{name}"] for name in names})
            return limits, Check("settings", OK, "limits of the service")
        settings = load_config({}).settings
    except (Forbidden, NotFound):
        return defaults, Check(
            "settings", OK, "default limits; only a key for all namespaces may read the limits of the service"
        )
    except TompionError as error:
        return defaults, Check("settings", BAD, str(error), "fix the setting; 'tompion config' lists all")
    limits = DoctorLimits(**{name: getattr(settings, name) for name in names})
    return limits, Check("settings", OK, "limits of this machine" if limits != defaults else "default limits")


def _check_clock(api: Api, limits: DoctorLimits) -> Check:
    """Compare this machine's clock with the store's. The next tick of a cron for every second shows the latter."""
    before = now()
    tick = api.preview(cron="* * * * * *", count=1).ticks[0].at
    after = now()
    earliest, latest = tick - timedelta(seconds=1), tick
    skew = max((before - latest).total_seconds(), (earliest - after).total_seconds(), 0.0)
    if skew <= MAX_SKEW_S:
        return Check("clock", OK, "this machine and the store agree")
    side = "ahead of" if before > latest else "behind"
    state = BAD if skew * 1000 > limits.max_clock_skew_ms else WARN
    return Check("clock", state, f"this machine is {length(skew)} {side} the store", "synchronise both with NTP")


def _check_clock_set_back(api: Api) -> Iterator[Check]:
    """Report ticks that were decided later than now, because the store's clock was set back."""
    for problem in api.problems(limit=PAGE_SIZE).problems:
        if problem.kind == "clock_set_back":
            hint = "it resumes at that time; to fire earlier, create a schedule with another id"
            subject = "" if problem.subject == "clock" else f"{problem.subject}: "
            yield Check("clock", BAD, f"{subject}{problem.text}", hint)


def _check_zones(snapshot: DoctorSnapshot) -> Check:
    degraded = [
        schedule.schedule_id
        for schedule in snapshot.schedules
        if schedule.degraded and schedule.status != ScheduleStatus.DAMAGED
    ]
    if not degraded:
        return Check("time zones", OK, "the zones of all schedules are known")
    text = f"{_count_text(degraded, 'schedule')} with degraded zones: {_names(degraded)}"
    return Check("time zones", WARN, text, "'tompion schedules get' shows the reason; set another --timezone")


def _check_instances(snapshot: DoctorSnapshot) -> Iterator[Check]:
    """Check that an engine is alive, that no instance is silent, and that the clocks agree."""
    alive = [instance for instance in snapshot.instances if instance.alive]
    engines = [instance for instance in alive if instance.kind == "engine"]
    workers = [instance for instance in alive if instance.kind != "engine"]
    if engines:
        yield Check("instances", OK, f"{_count_text(engines, 'engine')} alive, {_count_text(workers, 'worker')}")
    else:
        state = BAD if any(schedule.next_run_at for schedule in snapshot.schedules) else WARN
        yield Check(
            "instances",
            state,
            "no engine is running, so no schedule fires",
            "start one with 'tompion serve' or 'tompion worker'",
        )
    silent = [instance.name for instance in snapshot.instances if not instance.alive and instance.stopped_at is None]
    if silent:
        text = f"no heartbeat and no clean shutdown: {_names(silent)}"
        yield Check("instances", WARN, text, "other instances take over the runs; find out why the process ended")
    skewed = [instance.name for instance in alive if abs(instance.skew_ms) > MAX_SKEW_S * 1000]
    if skewed:
        yield Check(
            "instances",
            WARN,
            f"the clock differs from the store's: {_names(skewed)}",
            "synchronise the clocks with NTP",
        )
    releases = sorted({instance.release for instance in engines} - {version("tompion")})
    if releases:
        text = f"engines of other releases are running: {', '.join(releases)}"
        yield Check("instances", WARN, text, f"this is {version('tompion')}; finish the upgrade")


def _check_runs(snapshot: DoctorSnapshot, limits: DoctorLimits, checked_at: datetime) -> Check:
    schedules = {schedule.schedule_id: schedule for schedule in snapshot.schedules}
    stuck = [
        run.run_id for run in snapshot.running if _is_stuck(run, schedules.get(run.schedule_id), limits, checked_at)
    ]
    if stuck:
        text = f"{_count_text(stuck, 'run')} stuck or over their time limit: {_names(stuck)}"
        return Check("runs", BAD, text, "see 'tompion runs get'; end one with 'tompion runs terminate'")
    if snapshot.counts.in_flight > len(snapshot.running):
        text = f"{snapshot.counts.in_flight:,} in flight; {len(snapshot.running):,} were checked, none is stuck"
        return Check("runs", WARN, text, "list them with 'tompion runs list --status STARTED'")
    return Check("runs", OK, f"{len(snapshot.running)} in flight, none stuck")


def _is_stuck(run: Run, schedule: Schedule | None, limits: DoctorLimits, checked_at: datetime) -> bool:
    """Return whether a run waits too long for its start, or is over its time limit."""
    if run.started_at is None:
        return checked_at - run.fire_at > limits.max_wait
    max_ms = None if schedule is None else schedule.definition.policy.max_execution_ms
    return max_ms is not None and checked_at - run.started_at > timedelta(milliseconds=max_ms) + limits.max_wait


def _check_queues(snapshot: DoctorSnapshot) -> Iterator[Check]:
    unserved = [queue.queue for queue in snapshot.queues if queue.waiting and not queue.served_by and not queue.paused]
    paused = [queue.queue for queue in snapshot.queues if queue.paused]
    if unserved:
        hint = f"start one with 'tompion worker --queue {unserved[0]}'"
        yield Check("queues", BAD, f"runs wait in {_names(unserved)}, which no worker serves", hint)
    if paused:
        yield Check("queues", WARN, f"paused: {_names(paused)}", f"resume with 'tompion queues resume {paused[0]}'")
    if not unserved and not paused:
        yield Check(
            "queues", OK, f"{_count_text(snapshot.queues, 'queue')}; a worker serves each one with waiting runs"
        )


def _check_waiting(snapshot: DoctorSnapshot, limits: DoctorLimits) -> Check:
    longest = max((schedule.waiting for schedule in snapshot.schedules), default=0)
    if longest < MAX_WAITING:
        return Check("waiting", OK, f"at most {longest} runs of one schedule wait")
    names = [
        f"{schedule.schedule_id} ({schedule.waiting:,})"
        for schedule in snapshot.schedules
        if schedule.waiting >= MAX_WAITING
    ]
    hint = "runs take longer than their interval; set another --overlap, a larger --max-concurrent, or fewer ticks"
    state = BAD if longest >= limits.max_buffer else WARN
    return Check("waiting", state, f"schedules with many waiting runs: {_names(names)}", hint)


def _check_paused(snapshot: DoctorSnapshot, checked_at: datetime) -> Check:
    """Check that no schedule has been paused for very long."""
    long_paused = [
        schedule.schedule_id
        for schedule in snapshot.schedules
        if schedule.paused_at is not None
        and schedule.paused_until is None
        and checked_at - schedule.paused_at > MAX_PAUSE
    ]
    if long_paused:
        text = f"paused for more than {MAX_PAUSE.days} days: {_names(long_paused)}"
        return Check("paused", WARN, text, "use 'tompion schedules resume' or 'tompion schedules delete'")
    paused = [schedule for schedule in snapshot.schedules if schedule.status == ScheduleStatus.PAUSED]
    return Check("paused", OK, f"{_count_text(paused, 'schedule')} paused, none for more than {MAX_PAUSE.days} days")


def _check_damaged(snapshot: DoctorSnapshot) -> Check:
    damaged = [schedule.schedule_id for schedule in snapshot.schedules if schedule.status == ScheduleStatus.DAMAGED]
    if damaged:
        hint = "'tompion verify' shows the damage; 'tompion schedules delete --purge' removes a schedule"
        return Check("schedules", BAD, f"damaged: {_names(damaged)}", hint)
    return Check("schedules", OK, f"{_count_text(snapshot.schedules, 'schedule')}, none damaged")


def _print_checks(checks: Sequence[Check]) -> None:
    from rich.text import Text

    out = console.console()
    width = max(len(check.name) for check in checks)
    for check in checks:
        head = f"{check.state:<4}  {check.name:<{width}}  "
        text = check.text if out.is_terminal or not check.hint else f"{check.text}; {check.hint}"
        console.print_wrapped(out, Text(head, style=STYLES[check.state]), text, len(head))
        if check.hint and out.is_terminal:
            console.print_wrapped(out, Text(" " * len(head)), check.hint, len(head))


def _count_text(items: Sequence[object], noun: str) -> str:
    return f"{len(items):,} {noun}{'' if len(items) == 1 else 's'}"


def _names(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + rest
