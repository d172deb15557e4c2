"""``tompion serve``: the API, the web UI and an engine."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.commands.worker import STOPPING, exit_process, first_line
from tompion.cli.options import AppDir, ConfigFile, LogFormat, LogLevel, Pairs, StoreFlag, load_process_config, open_log
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.schema import Config
    from tompion.sdk.app import AsyncTompion

PREFIX = "/api/v1"
Auth = Annotated[
    str | None,
    typer.Option("--auth", metavar="MODE", help="open (loopback only), or required: callers need credentials."),
]


def serve_command(  # noqa: PLR0913 - each is an option of the command
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on (127.0.0.1).")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on, 0 for any free port (8640)."),
    ] = None,
    store: StoreFlag = None,
    no_engine: Annotated[bool, typer.Option("--no-engine", help="Run no engine. Workers run the schedules.")] = False,
    temporal_address: Annotated[
        str | None,
        typer.Option("--temporal-address", metavar="HOST:PORT", help="Also serve Temporal's SDKs on this address."),
    ] = None,
    app_dir: AppDir = None,
    auth: Auth = None,
    config_file: ConfigFile = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    pairs: Pairs = None,
) -> None:
    """Serve the API and the web UI, and run schedules.

    SIGTERM or Ctrl-C stops it gracefully, a second Ctrl-C immediately.

    Example: tompion serve --port 8641 --store sqlite:///jobs.db --set read_only=true
    """
    import asyncio

    from tompion.bootstrap.engine import build_tompion
    from tompion.bootstrap.security import check_exposure

    flags = {"host": host, "port": port, "store": store, "app_dir": app_dir, "auth": auth}
    flags |= {"temporal_address": temporal_address, "log_format": log_format, "log_level": log_level}
    config = load_process_config(config_file, {**flags, "engine": False if no_engine else None}, pairs)
    check_exposure(config)
    process_log = open_log(config)
    tompion = build_tompion(config, listener=process_log, engine=config.engine)
    listening = _listen(config.host, config.port)
    try:
        code = asyncio.run(_serve(tompion, listening, config, process_log))
    finally:
        listening.close()
    exit_process(code, process_log)


async def _serve(tompion: AsyncTompion, listening: socket.socket, config: Config, process_log: QueuedLog) -> int:
    """Run the server, and the engine if there is one. The engine stops last."""
    from tompion.bootstrap.engine import healthcheck_pings
    from tompion.bootstrap.security import server_config
    from tompion.bootstrap.service import build_service
    from tompion.bootstrap.store import tune_garbage_collector
    from tompion.bootstrap.telemetry import serve_metrics
    from tompion.cli.uvicorn_server import UvicornServer
    from tompion.runtime.stop_signals import handle_stop_signals
    from tompion.sdk.parts import runner_of, tracing_of

    host, port = listening.getsockname()[:2]
    shown_host = f"[{host}]" if ":" in host else host
    with handle_stop_signals(config.settings.shutdown_grace_ms / 1000) as state:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(tompion)
            temporal = await stack.enter_async_context(_serve_temporal(tompion, config, process_log))
            metrics = stack.enter_context(serve_metrics(runner_of(tompion), config))
            if not config.engine:
                await stack.enter_async_context(healthcheck_pings(tompion, listener=process_log))
            app = build_service(
                runner_of(tompion),
                config,
                tracing=tracing_of(tompion),
                log_request=process_log.request,
                problems=lambda: tompion.health_problems,
            )
            server = UvicornServer(server_config(app, config))
            tune_garbage_collector()
            scheme = "https" if config.tls_cert else "http"
            others = {"Temporal SDKs": temporal, "metrics": metrics}
            for line in _first_lines(f"{scheme}://{shown_host}:{port}", others):
                process_log.say(line)
            if config.engine:
                process_log.say(first_line(config.store, config.queues))
            serve = server.serve_in_thread if config.engine else server.serve_until
            await serve(state.requested, listening)
            if config.engine:
                process_log.say(STOPPING)
    return state.code or 0


def _first_lines(here: str, others: Mapping[str, str | None]) -> list[str]:
    """Return the first lines of the log: the addresses of the service."""
    addresses = [
        ("web UI", f"{here}/"),
        ("API", f"{here}{PREFIX}"),
        ("OpenAPI", f"{here}{PREFIX}/openapi.json"),
        ("help", "tompion --help"),
    ]
    addresses += [(name, address) for name, address in others.items() if address is not None]
    width = max(len(name) for name, _ in addresses)
    return [
        f"Tompion is running on {here} (Ctrl-C to stop)",
        *(f"  {name:<{width}}  {address}" for name, address in addresses),
    ]


def _serve_temporal(
    tompion: AsyncTompion, config: Config, process_log: QueuedLog
) -> AbstractAsyncContextManager[str | None]:
    """Return the context that serves Temporal's SDKs, if an address is configured."""
    from tompion.bootstrap.temporal import serve_temporal
    from tompion.sdk.parts import runner_of

    def warn(error: BaseException) -> None:
        process_log.warn(f"internal error in a call of Temporal's API: {type(error).__name__}: {error}")

    return serve_temporal(lambda: runner_of(tompion), config, on_internal_error=warn)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # IPPROTO_TCP makes asyncio set TCP_NODELAY, so that responses are sent at once.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # connections now queue for the server instead of being refused
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    return listening
