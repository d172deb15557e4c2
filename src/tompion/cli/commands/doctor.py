"""``tompion doctor``: is everything as it should be, and what to do where it is not."""

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
from tompion.cli.snapshot import PAGE, Snapshot, survey
from tompion.errors import Forbidden, NotFound, SchemaTooNew, TompionError
from tompion.model.schedule import Run, Schedule, ScheduleStatus

if TYPE_CHECKING:
    from tompion.cli.connection import Api

OK, WARN, BAD = "ok", "warn", "bad"
NAMED = 3
"""How many things a line names."""
FORGOTTEN = timedelta(days=30)
"""How long a pause without an end lasts before somebody should look at it."""
GROWING = 100
"""How many waiting runs of one schedule are worth a look."""
SKEW_S = 2
"""How far clocks may be apart before it is worth a word."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it is, and the way out."""

    check: str
    state: str
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DoctorLimits:
    """From where on something is bad, as the engines see it."""

    zombie_after_ms: int
    max_buffer: int
    max_clock_skew_ms: int

    @property
    def stuck(self) -> timedelta:
        """Return how long a run may wait for somebody to start it."""
        return timedelta(milliseconds=self.zombie_after_ms)


@with_options(connection=watch_options)
def doctor_command(connection: Connection) -> None:
    """Look at the store, clocks, versions, instances, queues and runs.  Exits 1 if anything is bad.

    Example: tompion doctor --store postgresql://user@host/name
    """
    checks = connection.repeat(lambda: list(examined(connection)), _lines)
    if any(each.state == BAD for each in checks):
        raise typer.Exit(1)


def examined(connection: Connection) -> Iterator[Check]:
    """Yield one check after another; without a store there is nothing else to look at."""
    yield _versions()
    reached = _service(connection) if connection.is_service else _store(connection)
    yield reached
    if reached.state == BAD:
        return
    with connection.open() as api:
        limits, settings = _settings(api)
        yield settings
        found = survey(api)
        yield _clock(api, limits)
        yield from _set_back(api)
        present = now()
        yield _zones(found)
        yield from _instances(found)
        yield _runs(found, limits, present)
        yield from _queues(found)
        yield _buffers(found, limits)
        yield _paused(found, present)
        yield _damage(found)
        if not found.is_whole:
            more = "more than " if found.tally.capped else ""
            text = f"only the first {len(found.schedules):,} of {more}{_total(found):,} were looked at one by one"
            yield Check("schedules", WARN, text)


def _versions() -> Check:
    import sqlite3

    from tompion.sdk.spec import TZDATA_VERSION

    parts = [f"tompion {version('tompion')}", f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    try:
        parts.append(f"psycopg {version('psycopg')}")
    except PackageNotFoundError:
        parts.append("no psycopg")
    return Check("versions", OK, ", ".join([*parts, f"time zone data {TZDATA_VERSION}"]))


def _service(connection: Connection) -> Check:
    try:
        with connection.open() as api:
            api.list_instances()
    except TompionError as error:
        return Check("service", BAD, str(error), "is it running, and is --url right? 'tompion serve' starts one")
    return Check("service", OK, f"{connection.address} answers")


def _store(connection: Connection) -> Check:
    from tompion.bootstrap.store import open_migrator
    from tompion.store.url_masking import mask_password

    shown = mask_password(connection.address)
    try:
        with open_migrator(connection.address) as migrator:
            migrator.refuse_newer()
            missing = [each.name for each in migrator.status() if not each.applied]
    except SchemaTooNew as error:
        return Check("store", BAD, str(error))
    except TompionError as error:
        return Check("store", BAD, str(error), "is it running, and is --store right?")
    if missing:
        return Check("store", BAD, f"{shown} lacks {_some(missing)}", "'tompion migrate up' brings it up to date")
    return Check("store", OK, f"{shown} answers, and its schema is this release's")


def _settings(api: Api) -> tuple[DoctorLimits, Check]:
    """Return the limits that the engines have, as far as somebody tells them."""
    from tompion.client.sync_client import Client
    from tompion.config.loader import load_config
    from tompion.config.schema import LIMITS
    from tompion.config.settings import Settings

    names = [each.name for each in fields(DoctorLimits)]
    usual = DoctorLimits(**{name: getattr(Settings(), name) for name in names})
    try:
        if isinstance(api, Client):
            said = {each["name"]: each["value"] for each in api.read("/config")["values"]}
            limits = DoctorLimits(**{name: said[f"{LIMITS}.{name}"] for name in names})
            return limits, Check("settings", OK, "the service's own count here")
        settings = load_config({}).settings
    except (Forbidden, NotFound):
        return usual, Check("settings", OK, "the usual ones count here: only a key for all namespaces may read others")
    except TompionError as error:
        return usual, Check("settings", BAD, str(error), "'tompion config' shows what is meant")
    limits = DoctorLimits(**{name: getattr(settings, name) for name in names})
    return limits, Check("settings", OK, "those of this machine count here" if limits != usual else "the usual ones")


def _clock(api: Api, limits: DoctorLimits) -> Check:
    """Compare the clock here with the store's, which shows in the next whole second that it sees coming."""
    before = now()
    tick = api.preview(cron="* * * * * *", count=1).ticks[0].at
    after = now()
    earliest, latest = tick - timedelta(seconds=1), tick
    skew = max((before - latest).total_seconds(), (earliest - after).total_seconds(), 0.0)
    if skew <= SKEW_S:
        return Check("clock", OK, "this machine's and the store's agree")
    side = "ahead of" if before > latest else "behind"
    state = BAD if skew * 1000 > limits.max_clock_skew_ms else WARN
    return Check("clock", state, f"this machine's is {length(skew)} {side} the store's", "let NTP set both")


def _set_back(api: Api) -> Iterator[Check]:
    """Tell what the store holds of a time that is still to come."""
    for each in api.problems(limit=PAGE).problems:
        if each.kind == "clock_set_back":
            hint = "it goes on when that time has come; what must fire before needs a schedule of another name"
            whose = "" if each.subject == "clock" else f"{each.subject}: "
            yield Check("clock", BAD, f"{whose}{each.text}", hint)


def _zones(found: Snapshot) -> Check:
    degraded = [each.schedule_id for each in found.schedules if each.degraded and each.state != ScheduleStatus.DAMAGED]
    if not degraded:
        return Check("time zones", OK, "every schedule's zone is known")
    text = f"{_counted(degraded, 'schedule')} not as defined: {_some(degraded)}"
    return Check("time zones", WARN, text, "'tompion schedules get' says why; give another --timezone")


def _instances(found: Snapshot) -> Iterator[Check]:
    alive = [each for each in found.instances if each.alive]
    engines = [each for each in alive if each.kind == "engine"]
    workers = [each for each in alive if each.kind != "engine"]
    if engines:
        yield Check("instances", OK, f"{_counted(engines, 'engine')} alive, {_counted(workers, 'worker')}")
    else:
        state = BAD if any(each.next_run_at for each in found.schedules) else WARN
        yield Check(
            "instances", state, "no engine is alive: nothing fires", "'tompion worker' or 'tompion serve' runs one"
        )
    silent = [each.name for each in found.instances if not each.alive and each.stopped_at is None]
    if silent:
        text = f"{_some(silent)} went silent without a goodbye"
        yield Check("instances", WARN, text, "others take over what they held; look at why they ended")
    skewed = [each.name for each in alive if abs(each.skew_ms) > SKEW_S * 1000]
    if skewed:
        yield Check("instances", WARN, f"clocks are off on {_some(skewed)}", "let NTP set them")
    releases = sorted({each.release for each in engines} - {version("tompion")})
    if releases:
        text = f"engines of other releases are alive: {', '.join(releases)}"
        yield Check("instances", WARN, text, f"this is {version('tompion')}; finish the upgrade")


def _runs(found: Snapshot, limits: DoctorLimits, present: datetime) -> Check:
    known = {each.schedule_id: each for each in found.schedules}
    stuck = [run.run_id for run in found.running if _is_stuck(run, known.get(run.schedule_id), limits, present)]
    if stuck:
        text = f"{_counted(stuck, 'run')} stuck or beyond their time: {_some(stuck)}"
        return Check("runs", BAD, text, "'tompion runs get' says more; 'tompion runs terminate' ends one")
    unseen = found.tally.in_flight - len(found.running)
    if unseen > 0:
        text = f"{found.tally.in_flight:,} in flight; {len(found.running):,} were looked at, none of them is stuck"
        return Check("runs", WARN, text, "'tompion runs list --state STARTED' shows them")
    return Check("runs", OK, f"{len(found.running)} in flight, none of them stuck")


def _is_stuck(run: Run, schedule: Schedule | None, limits: DoctorLimits, present: datetime) -> bool:
    """Whether nobody has started a run for long, or it should have ended long ago."""
    if run.started_at is None:
        return present - run.fire_at > limits.stuck
    most_ms = None if schedule is None else schedule.definition.policy.max_execution_ms
    return most_ms is not None and present - run.started_at > timedelta(milliseconds=most_ms) + limits.stuck


def _queues(found: Snapshot) -> Iterator[Check]:
    lonely = [each.queue for each in found.queues if each.waiting and not each.served_by and not each.paused]
    paused = [each.queue for each in found.queues if each.paused]
    if lonely:
        hint = f"'tompion worker --queue {lonely[0]}' serves it"
        yield Check("queues", BAD, f"runs wait in {_some(lonely)}, which nobody serves", hint)
    if paused:
        yield Check("queues", WARN, f"paused: {_some(paused)}", f"'tompion queues resume {paused[0]}' lets it go on")
    if not lonely and not paused:
        yield Check("queues", OK, f"{_counted(found.queues, 'queue')}, every one that has runs is served")


def _buffers(found: Snapshot, limits: DoctorLimits) -> Check:
    most = max((each.waiting for each in found.schedules), default=0)
    if most < GROWING:
        return Check("buffers", OK, f"no schedule has more than {most} runs waiting")
    long = [f"{each.schedule_id} ({each.waiting:,})" for each in found.schedules if each.waiting >= GROWING]
    hint = "runs take longer than their interval: another --overlap, a larger --max-concurrent, or fewer ticks"
    return Check("buffers", BAD if most >= limits.max_buffer else WARN, f"many runs wait: {_some(long)}", hint)


def _paused(found: Snapshot, present: datetime) -> Check:
    forgotten = [
        each.schedule_id
        for each in found.schedules
        if each.paused_at is not None and each.paused_until is None and present - each.paused_at > FORGOTTEN
    ]
    if forgotten:
        text = f"paused for more than {FORGOTTEN.days} days: {_some(forgotten)}"
        return Check("paused", WARN, text, "'tompion schedules resume' or 'delete'")
    paused = [each for each in found.schedules if each.state == ScheduleStatus.PAUSED]
    return Check("paused", OK, f"{_counted(paused, 'schedule')}, none forgotten")


def _total(found: Snapshot) -> int:
    return found.tally.active + found.tally.paused


def _damage(found: Snapshot) -> Check:
    damaged = [each.schedule_id for each in found.schedules if each.state == ScheduleStatus.DAMAGED]
    if damaged:
        hint = "'tompion verify' says what is wrong; 'tompion schedules delete --purge' removes one"
        return Check("schedules", BAD, f"cannot be read: {_some(damaged)}", hint)
    return Check("schedules", OK, f"{_counted(found.schedules, 'schedule')}, all readable")


def _lines(checks: Sequence[Check]) -> None:
    from rich.text import Text

    out = console.console()
    width = max(len(each.check) for each in checks)
    for each in checks:
        head = f"{each.state:<4}  {each.check:<{width}}  "
        text = each.text if out.is_terminal or not each.hint else f"{each.text}; {each.hint}"
        console.print_wrapped(out, Text(head, style=STYLES[each.state]), text, len(head))
        if each.hint and out.is_terminal:
            console.print_wrapped(out, Text(" " * len(head)), each.hint, len(head))


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things):,} {noun}{'' if len(things) == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest
