"""Builds the engine, its notifications and the embedded app from a configuration."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from tompion.config.schema import Config
from tompion.config.settings import Settings
from tompion.engine.engine import Engine
from tompion.engine.notifications.delivery import NotificationSender, notification_body
from tompion.engine.notifications.ping import HealthcheckPing, Pinger
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
    from tompion.outbound.healthcheck_ping import HttpPinger
    from tompion.sdk.app import AsyncTompion
    from tompion.sdk.declarations import Declarations


def add_function_path(directory: Path) -> None:
    """Import the functions of schedules from a directory: ``tasks:report`` is in its ``tasks.py``."""
    if not directory.is_dir():
        raise InvalidInput(f"--app-dir {directory}: no such directory")
    add_import_path(str(directory.resolve()))


class Outbound(NamedTuple):
    """Outbound integrations of an engine: notifications, and the ping of an external monitor."""

    sender: NotificationSender | None = None
    pinger: Pinger | None = None


def build_engine(  # noqa: PLR0913 - every part has a default
    store: Store,
    *,
    settings: Settings | None = None,
    queues: frozenset[str] = frozenset({"default"}),
    events: EngineEvents | None = None,
    executors: Mapping[str, Mapping[str, Any]] | None = None,
    public_url: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    tracing: Tracing | None = None,
    outbound: Outbound | None = None,
) -> Engine:
    """Return an engine on a store, with the built-in and the configured executors."""
    settings = settings or Settings()
    environment = ExecutorEnv(settings.max_threads, settings.max_result_bytes, public_url)
    all_executors = build_executors(executors or {}, environment)
    function_executor = all_executors["function"]
    assert isinstance(function_executor, FunctionExecutor)
    for path, function in (functions or {}).items():
        function_executor.register(path, function)
    return Engine(
        store,
        all_executors,
        clock=SystemClock(),
        settings=settings,
        queues=queues,
        name=f"{socket.gethostname()}:{os.getpid()}",
        release=version("tompion"),
        events=events,
        tracing=tracing,
        sender=None if outbound is None else outbound.sender,
        pinger=None if outbound is None else outbound.pinger,
        public_url=public_url,
        watch_loop=True,
    )


def build_notifier(
    notifications: Mapping[str, Mapping[str, Any]], settings: Settings, *, where: str = "notifications."
) -> NotificationSender | None:
    """Return the sender of notifications, or ``None`` if no receiver is configured.

    ``where`` precedes a notification's name in error messages.
    """
    if not notifications:
        return None
    from tompion.outbound.webhook_notifier import WebhookNotifier, read_receiver

    receivers = [
        read_receiver(f"{where}{name}", {"name": name, **block}, os.environ) for name, block in notifications.items()
    ]
    return WebhookNotifier(receivers, settings.notification_timeout_ms)


def configured_outbound(config: Config) -> Outbound:
    """Return the outbound integrations that a configuration names."""
    sender = build_notifier(config.notifications, config.settings, where=f"{config.path}: [[notification]] ")
    return Outbound(sender, _build_pinger(config))


def _build_pinger(config: Config) -> HttpPinger | None:
    """Return the pinger of the configured monitor, or ``None``."""
    if not config.ping_url:
        return None
    from tompion.outbound.healthcheck_ping import HttpPinger

    return HttpPinger(
        {
            "ping_url": config.ping_url,
            "ping_fail_url": config.ping_fail_url,
            "ping_every_s": config.ping_every_s,
            "ping_method": config.ping_method,
        }
    )


async def send_test_notification(config: Config, name: str) -> Delivery:
    """Send a test notification to a configured receiver, and return the result of the delivery."""
    notifier = configured_outbound(config).sender
    if notifier is None or name not in config.notifications:
        names = ", ".join(config.notifications) or "none"
        raise InvalidField("name", f"no [[notification]] {name!r} in {config.path or 'a file'}; configured: {names}")
    row = NotificationRow(
        notification_id=f"msg_{token_hex(20)}",
        rule_name=name,
        topic=NotificationKind.TEST,
        namespace="default",
        schedule_id="",
        about=compact({"notification": name}),
        state=NotificationState.PENDING,
        attempts=1,
        due_ms=None,
        created_ms=int(SystemClock().now() * 1000),
        finished_ms=None,
        last_error=None,
        summary_id=None,
    )
    try:
        return await notifier.send(name, row.notification_id, notification_body(row))
    finally:
        await notifier.aclose()


def build_tompion(
    config: Config, *, listener: Callable[[Event], None] | None = None, engine: bool = True
) -> AsyncTompion:
    """Return the app that a configuration describes, with the schedules that its file declares."""
    from tompion.sdk.app import AsyncTompion
    from tompion.sdk.parts import declarations_of, replace_outbound

    tompion = AsyncTompion(
        config.store,
        engine=engine,
        queues=config.queues,
        settings=config.settings,
        executors=config.executors,
        public_url=config.public_url or None,
        listener=listener,
        tracing=config.tracing,
    )
    replace_outbound(tompion, configured_outbound(config))
    _declare_schedules(config, declarations_of(tompion))
    return tompion


def check_schedules(config: Config) -> None:
    """Raise if a schedule in the file would be rejected: they are declared in an empty store in memory.

    Named calendars and stored workflows are in the store of the service, so schedules with them are checked in part.
    """
    from tompion.bootstrap.targets import TargetChecker
    from tompion.contract.stubs.schedule_stubs import declare
    from tompion.operations.runner import OperationRunner
    from tompion.operations.schedules.schedule_document import parse_schedule
    from tompion.operations.validation import check_name
    from tompion.sdk.declarations import Declarations
    from tompion.store.sqlite.driver import SqliteStore

    declarations = Declarations("default")
    _declare_schedules(config, declarations)
    served = frozenset(config.queues) if config.engine else frozenset()
    check_target = TargetChecker(config.executors, declarations.functions, served)
    with closing(SqliteStore()) as store:
        runner = OperationRunner(store, config.settings, check_target=check_target)
        for declaration in declarations.declared.values():
            name, fields = declaration.schedule_id, declaration.fields
            try:
                check_name("schedule_id", name, config.settings)
                definition = parse_schedule(fields, config.settings).definition
                if definition.spec.exclude.named or definition.action.workflow_id:
                    check_target(definition.action)
                    continue
                operation = partial(declare, schedule_id=name, **fields)
                runner.send(operation, namespace="default", actor="config", writes=True).result()
            except InvalidInput as error:
                raise InvalidInput(f"{declaration.where}: {error}") from None


def _declare_schedules(config: Config, declarations: Declarations) -> None:
    for schedule_id, fields in config.schedules:
        declarations.add_block(schedule_id, fields, f"{config.path}: [[schedule]] {schedule_id}")


@asynccontextmanager
async def healthcheck_pings(
    tompion: AsyncTompion, *, listener: Callable[[Event], None] | None = None
) -> AsyncIterator[None]:
    """Ping the monitor while the store is reachable, for a service without an engine. An engine pings by itself."""
    from tompion.sdk.parts import outbound_of, runner_of

    pinger = outbound_of(tompion).pinger
    if pinger is None:
        yield
        return
    stopping, events = asyncio.Event(), EngineEvents(listener, runner_of(tompion).metrics)
    task = asyncio.create_task(
        HealthcheckPing(runner_of(tompion).store, tuple, pinger, events, stopping).ping(), name="tompion-ping"
    )
    try:
        yield
    finally:
        stopping.set()
        task.cancel()
        await asyncio.wait([task])
        await pinger.aclose()
