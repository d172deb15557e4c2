"""``tompion serve``: the service and its page, with an engine beside them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.commands.worker import STOPPING, first_line, leave
from tompion.cli.options import AppDir, ConfigFile, LogFormat, LogLevel, Pairs, StoreFlag, lines_of, prepared
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.loader import Config
    from tompion.sdk.app import Tompion

PREFIX = "/api/v1"
HELP = "tompion --help"
Auth = Annotated[
    str | None,
    typer.Option("--auth", metavar="MODE", help="open (loopback only) or required: callers show who they are."),
]


def serve_command(  # noqa: PLR0913 - what can be said on the command line
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Where to listen (127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", min=0, max=65535, help="0 = any free one (8640).")
    ] = None,
    store: StoreFlag = None,
    no_engine: Annotated[bool, typer.Option("--no-engine", help="Leave running the schedules to workers.")] = False,
    temporal_address: Annotated[
        str | None,
        typer.Option("--temporal-address", metavar="HOST:PORT", help="Where to serve Temporal's SDKs, too."),
    ] = None,
    app_dir: AppDir = None,
    auth: Auth = None,
    config: ConfigFile = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    pairs: Pairs = None,
) -> None:
    """Serve the API and the page and run the schedules, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.

    Example: tompion serve --port 8641 --store sqlite:///jobs.db --set read_only=true
    """
    import asyncio

    from tompion.bootstrap.security import check_exposure

    flags = {"host": host, "port": port, "store": store, "app_dir": app_dir, "auth": auth}
    flags |= {"temporal_address": temporal_address, "log_format": log_format, "log_level": log_level}
    told = prepared(config, {**flags, "engine": False if no_engine else None}, pairs)
    check_exposure(told)
    lines = lines_of(told)
    tompion = _home(told, lines)
    listening = _listen(told.get("host"), told.get("port"))
    try:
        code = asyncio.run(_serve(tompion, listening, told, lines))
    finally:
        listening.close()
    leave(code, lines)


def _home(told: Config, lines: QueuedLog) -> Tompion:
    from tompion.bootstrap.engine import build_tompion

    return build_tompion(told, listener=lines, engine=told.get("engine"))


async def _serve(tompion: Tompion, listening: socket.socket, told: Config, lines: QueuedLog) -> int:
    """Run the server, and the engine beside it, if there is one; the engine is the last to go."""
    from tompion.bootstrap.engine import healthcheck_pings
    from tompion.bootstrap.security import server_config
    from tompion.bootstrap.service import build_service
    from tompion.bootstrap.store import tune_garbage_collector
    from tompion.bootstrap.telemetry import serve_metrics
    from tompion.cli.uvicorn_server import UvicornServer
    from tompion.runtime.signals import stopping

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    with_engine = told.get("engine")
    with stopping(told.settings.shutdown_grace_ms / 1000) as state:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(tompion)
            temporal = await opened.enter_async_context(_temporal(tompion, told, lines))
            metrics = opened.enter_context(serve_metrics(tompion.runner, told))
            if not with_engine:
                await opened.enter_async_context(healthcheck_pings(tompion, listener=lines))
            app = build_service(
                tompion.runner,
                told,
                tracing=tompion.tracing,
                requests=lines.request,
                problems=lambda: tompion.health_problems,
            )
            config = server_config(app, told)
            tune_garbage_collector()
            scheme = "https" if told.get("tls_cert") else "http"
            others = {"Temporal SDKs": temporal, "metrics": metrics}
            for line in _first_lines(f"{scheme}://{shown}:{port}", others):
                lines.say(line)
            if with_engine:
                lines.say(first_line(told.get("store"), tuple(told.get("queues"))))
            await UvicornServer(config).serve_until(state.asked, listening)
            if with_engine:
                lines.say(STOPPING)
    return state.code or 0


def _first_lines(here: str, others: Mapping[str, str | None]) -> list[str]:
    """Return what a service says first: where everything is."""
    places = [
        ("page", f"{here}/"),
        ("API", f"{here}{PREFIX}"),
        ("description", f"{here}{PREFIX}/openapi.json"),
        ("help", HELP),
    ]
    places += [(name, place) for name, place in others.items() if place is not None]
    width = max(len(name) for name, _ in places)
    return [f"Tompion is on {here} (Ctrl-C to stop)", *(f"  {name:<{width}}  {place}" for name, place in places)]


def _temporal(tompion: Tompion, told: Config, lines: QueuedLog) -> AbstractAsyncContextManager[str | None]:
    """Return the door for Temporal's SDKs, which may be nowhere."""
    from tompion.bootstrap.temporal import serve_temporal

    def warn(error: BaseException) -> None:
        lines.warn(f"a call of Temporal's API has failed by our own mistake: {type(error).__name__}: {error}")

    return serve_temporal(lambda: tompion.runner, told, mistakes=warn)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, so that asyncio knows it for TCP and sends every answer at once instead of waiting for the other side.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on connections wait for the server instead of being refused
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    return listening
