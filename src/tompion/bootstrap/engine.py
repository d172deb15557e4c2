"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tompion.config.loader import Config
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.notifications.dispatcher import notification_body
from tompion.engine.notifications.outside import Outside
from tompion.engine.notifications.ping import HealthcheckPing
from tompion.engine.telemetry.events import EngineEvents, Event
from tompion.errors import InvalidField, InvalidInput
from tompion.executors.function import FunctionExecutor, add_import_path
from tompion.executors.options import ExecutorEnv
from tompion.executors.registry import build_executors
from tompion.model.notification import Delivery, NotificationKind, NotificationRow, NotificationState
from tompion.plan.stored_definition import compact
from tompion.runtime.clock import SystemClock
from tompion.store.base import Store

if TYPE_CHECKING:
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.sdk.app import Tompion


def add_function_path(directory: Path) -> None:
    """Let the functions of schedules be found in a directory: ``tasks:report`` in its ``tasks.py``."""
    if not directory.is_dir():
        raise InvalidInput(f"--app-dir {directory}: there is no such directory")
    add_import_path(str(directory.resolve()))


def build_engine(  # noqa: PLR0913 - every part has a default
    store: Store,
    *,
    settings: Settings | None = None,
    queues: frozenset[str] = frozenset({"default"}),
    probe: EngineEvents | None = None,
    executors: Mapping[str, Mapping[str, Any]] | None = None,
    public_url: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    tracing: Tracing | None = None,
    outside: Outside | None = None,
) -> Engine:
    """Return an engine on a store, with the executors that are always there and those that are configured."""
    settings = settings or Settings()
    site = ExecutorEnv(settings.max_threads, settings.max_result_bytes, public_url)
    built = build_executors(executors or {}, site)
    calls = built["function"]
    assert isinstance(calls, FunctionExecutor)
    for path, function in (functions or {}).items():
        calls.register(path, function)
    return Engine(
        store,
        built,
        clock=SystemClock(),
        settings=settings,
        queues=queues,
        name=f"{socket.gethostname()}:{os.getpid()}",
        release=version("tompion"),
        probe=probe,
        tracing=tracing,
        outside=outside,
    )


def build_notifications(
    notifications: Mapping[str, Mapping[str, Any]],
    ping: Mapping[str, Any],
    settings: Settings,
    public_url: str | None = None,
    where: str = "notifications.",
) -> Outside:
    """Return whom an engine tells something outside; ``where`` is what the name of a notification comes after."""
    courier = pinger = None
    if notifications:
        from tompion.outbound.webhook_notifier import WebhookNotifier, read_receiver

        receivers = [
            read_receiver(f"{where}{name}", {"name": name, **block}, os.environ)
            for name, block in notifications.items()
        ]
        courier = WebhookNotifier(receivers, settings.notification_timeout_ms)
    if ping.get("ping_url"):
        from tompion.outbound.healthcheck_ping import HttpPinger

        pinger = HttpPinger(ping)
    return Outside(courier, pinger, public_url)


def configured_notifications(told: Config) -> Outside:
    """Return whom a configuration wants to be told something."""
    ping = {name: told.get(name) for name in ("ping_url", "ping_fail_url", "ping_every_s", "ping_method")}
    where = f"{told.path}: [[notification]] "
    return build_notifications(told.notifications, ping, told.settings, told.get("public_url") or None, where)


async def send_test_notification(told: Config, name: str) -> Delivery:
    """Send a notice that says nothing but that it is a test; return what became of it."""
    courier = configured_notifications(told).courier
    if courier is None or name not in told.notifications:
        known = ", ".join(told.notifications) or "none"
        raise InvalidField(
            "name", f"there is no [[notification]] {name!r} in {told.path or 'a file'}; there is {known}"
        )
    now_ms = int(SystemClock().now() * 1000)
    row = NotificationRow(
        f"msg_{token_hex(20)}", name, NotificationKind.TEST, "default", "", compact({"notification": name}),
        NotificationState.PENDING, 1, None, now_ms, None, None, None,
    )  # fmt: skip
    try:
        return await courier.send(name, row.notification_id, notification_body(row))
    finally:
        await courier.aclose()


def build_tompion(told: Config, *, listener: Callable[[Event], None] | None = None, engine: bool = True) -> Tompion:
    """Return what runs schedules as a configuration wants it, with the schedules that its file declares."""
    from tompion.sdk.app import Tompion

    tompion = Tompion(
        told.get("store"),
        engine=engine,
        queues=told.get("queues"),
        settings=told.settings,
        executors=told.executors,
        public_url=told.get("public_url") or None,
        listener=listener,
        tracing=told.get("tracing"),
    )
    tompion.outside = configured_notifications(told)
    for schedule_id, fields in told.schedules:
        tompion.declarations.add_block(schedule_id, fields, f"{told.path}: [[schedule]] {schedule_id}")
    return tompion


def check_schedules(told: Config) -> None:
    """Raise if a schedule that the file declares cannot be right; which calendars there are is for a store to say."""
    from tompion.operations.schedules.definition import parse_schedule
    from tompion.operations.validation import check_name
    from tompion.sdk.declarations import Declarations
    from tompion.spec.compiler import compile_spec

    declared = Declarations("default")
    for schedule_id, fields in told.schedules:
        declared.add_block(schedule_id, fields, f"{told.path}: [[schedule]] {schedule_id}")
    for each in declared.declared.values():
        try:
            check_name("schedule_id", each.schedule_id, told.settings)
            spec = parse_schedule(each.fields, told.settings).definition.spec
            if not spec.exclude.named:
                compile_spec(spec, schedule_id=each.schedule_id)
        except InvalidInput as error:
            raise InvalidInput(f"{each.where}: {error}") from None


@asynccontextmanager
async def healthcheck_pings(
    tompion: Tompion, *, listener: Callable[[Event], None] | None = None
) -> AsyncIterator[None]:
    """Tell the monitor of a service that has no engine, which would do it, as long as the store answers."""
    pinger = tompion.outside.pinger
    if pinger is None:
        yield
        return
    stopping, probe = asyncio.Event(), EngineEvents(listener, tompion.runner.tally)
    task = asyncio.create_task(
        HealthcheckPing(tompion.runner.store, tuple, pinger, probe, stopping).ping(), name="tompion-ping"
    )
    try:
        yield
    finally:
        stopping.set()
        task.cancel()
        await asyncio.wait([task])
        await pinger.aclose()
