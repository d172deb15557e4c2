"""``tompion worker``: an engine on a store, or a remote worker of a service."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.connection import (
    DEFAULT_NAMESPACE,
    Ca,
    Cert,
    CertKey,
    Connection,
    Key,
    Namespace,
    TlsFiles,
    Url,
    connection_options,
)
from tompion.cli.options import AppDir, ConfigFile, LogFormat, LogLevel, Pairs, StoreFlag, load_process_config, open_log
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.schema import Config
    from tompion.sdk.app import AsyncTompion

STOPPING = "stopping: runs have until the end of the grace period, then they are handed back"

Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="NAME", help="Queue to serve. Repeatable (default).", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Log only warnings and errors.")]


def worker_command(  # noqa: PLR0913 - each is an option of the command
    store: StoreFlag = None,
    queue: Queues = None,
    app_dir: AppDir = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", metavar="N", min=0, max=65535, help="Serve metrics on this loopback port."),
    ] = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
    pairs: Pairs = None,
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    namespace: Namespace = None,
) -> None:
    """Run schedules without the API, or as a worker of a service.

    SIGTERM or Ctrl-C stops it gracefully, a second Ctrl-C immediately.

    With --url the worker has no store. The service fires, and the worker
    executes the functions of the runs in its queues (default: remote).

    Example: tompion worker --store sqlite:///jobs.db --queue reports
    """
    from tompion.bootstrap.engine import build_tompion
    from tompion.bootstrap.store import tune_garbage_collector
    from tompion.runtime import event_loop

    flags = {"metrics_port": metrics_port, "log_format": log_format, "log_level": log_level}
    config = load_process_config(
        config_file, {"store": store, "queues": _check_queues(queue), "app_dir": app_dir, **flags}, pairs
    )
    service = _service(url, key, TlsFiles(ca, cert, cert_key), store, namespace)
    tune_garbage_collector()
    process_log = open_log(config, quiet=quiet)
    if service is not None:
        exit_process(event_loop.run(_work_for(service, config, process_log)), process_log)
    exit_process(event_loop.run(_work(build_tompion(config, listener=process_log), config, process_log)), process_log)


async def _work(tompion: AsyncTompion, config: Config, process_log: QueuedLog) -> int:
    """Run the engine until a stop signal. Return the exit code."""
    from tompion.bootstrap.telemetry import serve_metrics
    from tompion.runtime.stop_signals import handle_stop_signals
    from tompion.sdk.parts import runner_of

    with handle_stop_signals(config.settings.shutdown_grace_ms / 1000) as state:
        async with tompion:
            with serve_metrics(runner_of(tompion), config) as address:
                if address:
                    process_log.say(f"metrics: {address}")
                process_log.say(f"{first_line(config.store, config.queues)} (Ctrl-C to stop)")
                await state.requested.wait()
            process_log.say(STOPPING)
        process_log.say("stopped")
    return state.code or 0


def _service(
    url: str | None, key: str | None, tls: TlsFiles, store: str | None, namespace: str | None
) -> Connection | None:
    """Return the service of a remote worker, or ``None``. ``TOMPION_URL`` is only for commands that manage."""
    if url is not None:
        return connection_options(url, key, tls.ca, tls.cert, tls.cert_key, store, namespace)
    if key is not None or tls != TlsFiles() or namespace is not None:
        raise InvalidInput("--key, --ca, --cert, --cert-key and --namespace need --url")
    return None


async def _work_for(service: Connection, config: Config, process_log: QueuedLog) -> int:
    """Execute the runs of a service until a signal arrives."""
    from tompion.config.schema import DEFAULT_ORIGIN
    from tompion.runtime.stop_signals import handle_stop_signals
    from tompion.sdk.app import REMOTE_QUEUE, AsyncTompion

    queues = (REMOTE_QUEUE,) if config.origin("queues") == DEFAULT_ORIGIN else config.queues
    tompion = AsyncTompion(
        service.address,
        queues=queues,
        key=service.key,
        tls=service.tls.context(),
        namespace=service.namespace or DEFAULT_NAMESPACE,
        settings=config.settings,
        listener=process_log,
    )
    with handle_stop_signals(config.settings.shutdown_grace_ms / 1000) as state:
        async with tompion:
            process_log.say(f"executing runs of {service.address}, {_queue_names(queues)} (Ctrl-C to stop)")
            await state.requested.wait()
            process_log.say(STOPPING)
        process_log.say("stopped")
    return state.code or 0


def first_line(store: str, queues: tuple[str, ...]) -> str:
    """Return the first line in the log of an engine: its store and its queues."""
    from tompion.runtime.url_masking import mask_password

    return f"running the schedules of {mask_password(store)}, {_queue_names(queues)}"


def _queue_names(queues: tuple[str, ...]) -> str:
    return f"{'queue' if len(queues) == 1 else 'queues'} {', '.join(queues)}"


def exit_process(code: int, process_log: QueuedLog) -> None:
    """Exit with this code, even if a function is still running."""
    from tompion.runtime.stop_signals import exit_now, has_running_functions

    if has_running_functions():
        process_log.warn("a function is still running; its run is handed back")
        process_log.finish()
        with suppress(OSError, ValueError):
            sys.stdout.flush()  # output of the function so far
        exit_now(code)
    if not process_log.finish():  # the printing thread is blocked by a reader that stalls, and Python would wait for it
        exit_now(code)
    raise typer.Exit(code)


def _check_queues(queues: list[str] | None) -> list[str] | None:
    if any(not name.strip() for name in queues or []):
        raise InvalidInput("--queue: expected the name of a queue")
    return list(dict.fromkeys(queues)) if queues else None
