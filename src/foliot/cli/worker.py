"""``foliot worker``: one engine on a store, until it is told to stop."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.options import DEFAULT_STORE, AppDir, Store
from foliot.errors import InvalidInput

if TYPE_CHECKING:
    from foliot.cli.events import EventLines

DEFAULT_QUEUE = "default"
STOPPING = "stopping: runs may end within the grace, others are handed back"

Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="NAME", help="A queue to serve; may be repeated.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings.")]


def worker_command(
    store: Store = DEFAULT_STORE,
    queue: Queues = None,
    app_dir: AppDir = Path(),
    quiet: Quiet = False,
) -> None:
    """Run schedules: fire what is due and execute it, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.

    Example: foliot worker --store sqlite:///jobs.db --queue reports
    """
    from foliot import eventloop, wiring
    from foliot.cli.events import EventLines
    from foliot.clock import SystemClock

    queues = _checked(queue)
    wiring.find_functions_in(app_dir)
    wiring.settle_in()
    lines = EventLines(SystemClock(), quiet=quiet)
    leave(eventloop.run(_work(store, queues, lines)), lines)


async def _work(store: str, queues: tuple[str, ...], lines: EventLines) -> int:
    from foliot.embedded import Foliot
    from foliot.stopping import stopping

    with stopping() as state:
        async with Foliot(store, queues=queues, listener=lines):
            lines.say(f"{first_line(store, queues)} (Ctrl-C to stop)")
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


def _checked(queues: list[str] | None) -> tuple[str, ...]:
    if any(not name.strip() for name in queues or []):
        raise InvalidInput("--queue: a queue has a name")
    return tuple(dict.fromkeys(queues or [DEFAULT_QUEUE]))
