"""``tompion worker``: one engine on a store, until it is told to stop."""

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
    asked,
)
from tompion.cli.options import AppDir, ConfigFile, LogFormat, LogLevel, Pairs, StoreFlag, lines_of, prepared
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    from tompion.cli.logging.queue import QueuedLog
    from tompion.config.loader import Config
    from tompion.sdk.app import Tompion

STOPPING = "stopping: runs may end within the grace, others are handed back"

Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="NAME", help="A queue to serve; may be repeated.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings.")]


def worker_command(  # noqa: PLR0913 - what can be said on the command line
    store: StoreFlag = None,
    queue: Queues = None,
    app_dir: AppDir = None,
    config: ConfigFile = None,
    quiet: Quiet = False,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", metavar="N", min=0, max=65535, help="Show metrics there, on loopback."),
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
    """Run schedules: fire what is due and execute it, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.  With --url it has no store: the service fires, and
    this process asks for the runs of its queues ('remote' unless --queue says otherwise) and executes their functions.

    Example: tompion worker --store sqlite:///jobs.db --queue reports
    """
    from tompion.bootstrap.engine import build_tompion
    from tompion.bootstrap.store import tune_garbage_collector
    from tompion.runtime import event_loop

    flags = {"metrics_port": metrics_port, "log_format": log_format, "log_level": log_level}
    told = prepared(config, {"store": store, "queues": _checked(queue), "app_dir": app_dir, **flags}, pairs)
    where = _service(url, key, TlsFiles(ca, cert, cert_key), store, namespace)
    tune_garbage_collector()
    lines = lines_of(told, quiet=quiet)
    if where is not None:
        leave(event_loop.run(_work_for(where, told, lines)), lines)
    leave(event_loop.run(_work(build_tompion(told, listener=lines), told, lines)), lines)


async def _work(tompion: Tompion, told: Config, lines: QueuedLog) -> int:
    from tompion.bootstrap.telemetry import serve_metrics
    from tompion.runtime.signals import stopping

    first = first_line(told.get("store"), tuple(told.get("queues")))
    with stopping(told.settings.shutdown_grace_ms / 1000) as state:
        async with tompion:
            with serve_metrics(tompion.runner, told) as address:
                if address:
                    lines.say(f"metrics are on {address}")
                lines.say(f"{first} (Ctrl-C to stop)")
                await state.asked.wait()
            lines.say(STOPPING)
        lines.say("stopped")
    return state.code or 0


def _service(
    url: str | None, key: str | None, papers: TlsFiles, store: str | None, namespace: str | None
) -> Connection | None:
    """Return the service that is worked for, if one is named; the environment names none: it is for who manages."""
    if url is not None:
        return asked(url, key, papers.ca, papers.cert, papers.cert_key, store, namespace)
    if key is not None or papers != TlsFiles() or namespace is not None:
        raise InvalidInput("--key, --ca, --cert, --cert-key and --namespace: only with --url, for a service")
    return None


async def _work_for(ask: Connection, told: Config, lines: QueuedLog) -> int:
    """Execute the runs of a service until somebody says that it is enough."""
    from tompion.runtime.signals import stopping
    from tompion.sdk.app import REMOTE_QUEUE, Tompion

    queues = (REMOTE_QUEUE,) if told.values["queues"].origin == "default" else tuple(told.get("queues"))
    tompion = Tompion(
        ask.address,
        queues=queues,
        key=ask.key,
        tls=ask.papers.context(),
        namespace=ask.namespace or DEFAULT_NAMESPACE,
        settings=told.settings,
        listener=lines,
    )
    with stopping(told.settings.shutdown_grace_ms / 1000) as state:
        async with tompion:
            lines.say(f"executing runs of {ask.address}, {_named(queues)} (Ctrl-C to stop)")
            await state.asked.wait()
            lines.say(STOPPING)
        lines.say("stopped")
    return state.code or 0


def first_line(store: str, queues: tuple[str, ...]) -> str:
    """Return what an engine says first: whose schedules it runs."""
    from tompion.bootstrap.service import masked

    return f"running the schedules of {masked(store)}, {_named(queues)}"


def _named(queues: tuple[str, ...]) -> str:
    return f"{'queue' if len(queues) == 1 else 'queues'} {', '.join(queues)}"


def leave(code: int, lines: QueuedLog) -> None:
    """End with that exit code, even if a function does not."""
    from tompion.runtime.signals import has_running_functions, leave_now

    if has_running_functions():
        lines.warn("left a function behind that has not ended; its run is handed back")
        lines.finish()
        with suppress(OSError, ValueError):
            sys.stdout.flush()  # what it has printed so far
        leave_now(code)
    if not lines.finish():  # a thread of ours waits for whoever does not read, and Python would wait for the thread
        leave_now(code)
    raise typer.Exit(code)


def _checked(queues: list[str] | None) -> list[str] | None:
    if any(not name.strip() for name in queues or []):
        raise InvalidInput("--queue: a queue has a name")
    return list(dict.fromkeys(queues)) if queues else None
