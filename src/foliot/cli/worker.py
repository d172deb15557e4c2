"""``foliot worker``: one engine on a store, until it is told to stop."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.options import AppDir, Config, StoreFlag, prepared
from foliot.errors import InvalidInput

if TYPE_CHECKING:
    from foliot.cli.events import EventLines
    from foliot.embedded import Foliot

STOPPING = "stopping: runs may end within the grace, others are handed back"

Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="NAME", help="A queue to serve; may be repeated.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings.")]


def worker_command(
    store: StoreFlag = None,
    queue: Queues = None,
    app_dir: AppDir = None,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Run schedules: fire what is due and execute it, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.

    Example: foliot worker --store sqlite:///jobs.db --queue reports
    """
    from foliot import eventloop, wiring
    from foliot.cli.events import EventLines
    from foliot.clock import SystemClock

    told = prepared(config, {"store": store, "queues": _checked(queue), "app_dir": app_dir})
    wiring.settle_in()
    lines = EventLines(SystemClock(), quiet=quiet)
    line = first_line(told.get("store"), tuple(told.get("queues")))
    leave(eventloop.run(_work(wiring.build_foliot(told, listener=lines), line, lines)), lines)


async def _work(foliot: Foliot, first: str, lines: EventLines) -> int:
    from foliot.stopping import stopping

    with stopping() as state:
        async with foliot:
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


def leave(code: int, lines: EventLines) -> None:
    """End with that exit code, even if a function does not."""
    from foliot.stopping import functions_go_on, leave_now

    if functions_go_on():
        lines.warn("left a function behind that has not ended; its run is handed back")
        with suppress(OSError, ValueError):
            sys.stdout.flush()  # what it has printed so far
        leave_now(code)
    raise typer.Exit(code)


def _checked(queues: list[str] | None) -> list[str] | None:
    if any(not name.strip() for name in queues or []):
        raise InvalidInput("--queue: a queue has a name")
    return list(dict.fromkeys(queues)) if queues else None
