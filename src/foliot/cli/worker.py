"""``foliot worker``: one engine on a store, until it is told to stop."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.options import AppDir, Config, LogFormat, LogLevel, StoreFlag, lines_of, prepared
from foliot.errors import InvalidInput

if TYPE_CHECKING:
    from foliot.cli.later import LaterLines
    from foliot.configuration import Configuration
    from foliot.embedded import Foliot

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
    config: Config = None,
    quiet: Quiet = False,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", metavar="N", min=0, max=65535, help="Show metrics there, on loopback."),
    ] = None,
    log_format: LogFormat = None,
    log_level: LogLevel = None,
) -> None:
    """Run schedules: fire what is due and execute it, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.

    Example: foliot worker --store sqlite:///jobs.db --queue reports
    """
    from foliot import eventloop, wiring

    flags = {"metrics_port": metrics_port, "log_format": log_format, "log_level": log_level}
    told = prepared(config, {"store": store, "queues": _checked(queue), "app_dir": app_dir, **flags})
    wiring.settle_in()
    lines = lines_of(told, quiet=quiet)
    leave(eventloop.run(_work(wiring.build_foliot(told, listener=lines), told, lines)), lines)


async def _work(foliot: Foliot, told: Configuration, lines: LaterLines) -> int:
    from foliot.stopping import stopping
    from foliot.wiring import serve_metrics

    first = first_line(told.get("store"), tuple(told.get("queues")))
    with stopping(told.settings.shutdown_grace_ms / 1000) as state:
        async with foliot:
            with serve_metrics(foliot.desk, told) as address:
                if address:
                    lines.say(f"metrics are on {address}")
                lines.say(f"{first} (Ctrl-C to stop)")
                await state.asked.wait()
            lines.say(STOPPING)
        lines.say("stopped")
    return state.code or 0


def first_line(store: str, queues: tuple[str, ...]) -> str:
    """Return what an engine says first: whose schedules it runs."""
    from foliot.wiring import masked

    named = "queue" if len(queues) == 1 else "queues"
    return f"running the schedules of {masked(store)}, {named} {', '.join(queues)}"


def leave(code: int, lines: LaterLines) -> None:
    """End with that exit code, even if a function does not."""
    from foliot.stopping import functions_go_on, leave_now

    if functions_go_on():
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
