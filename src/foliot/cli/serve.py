"""``foliot serve``: the service and its page, with an engine beside them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.options import DEFAULT_STORE, AppDir, Store
from foliot.cli.worker import DEFAULT_QUEUE, STOPPING, first_line, leave
from foliot.errors import InvalidInput

if TYPE_CHECKING:
    from foliot.cli.events import EventLines
    from foliot.embedded import Foliot

DEFAULT_PORT = 8640


def serve_command(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 = any free one.")
    ] = DEFAULT_PORT,
    store: Store = DEFAULT_STORE,
    no_engine: Annotated[bool, typer.Option("--no-engine", help="Leave running the schedules to workers.")] = False,
    app_dir: AppDir = Path(),
) -> None:
    """Serve the API and the page and run the schedules, until interrupted.

    SIGTERM or Ctrl-C ends it gracefully, a second Ctrl-C at once.

    Example: foliot serve --port 8641 --store sqlite:///jobs.db
    """
    import asyncio

    from foliot.cli.events import EventLines
    from foliot.clock import SystemClock
    from foliot.embedded import Foliot
    from foliot.wiring import find_functions_in, refuse_open_doors

    refuse_open_doors(host)
    lines = EventLines(SystemClock())
    find_functions_in(app_dir)
    foliot = Foliot(store, engine=not no_engine, listener=lines)
    listening = _listen(host, port)
    try:
        code = asyncio.run(_serve(foliot, listening, None if no_engine else first_line(store, (DEFAULT_QUEUE,)), lines))
    finally:
        listening.close()
    leave(code, lines)


async def _serve(foliot: Foliot, listening: socket.socket, about_engine: str | None, lines: EventLines) -> int:
    """Run the server, and the engine beside it, if there is one; the engine is the last to go."""
    import uvicorn

    from foliot.stopping import stopping
    from foliot.wiring import build_service, settle_in

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    # The server takes the signals and, when it has ended, sends them again: to whoever had them before.
    with stopping() as state:
        async with foliot:
            config = uvicorn.Config(build_service(host, foliot.desk), log_level="warning")
            settle_in()
            lines.say(f"Foliot is on http://{shown}:{port} (Ctrl-C to stop)")
            if about_engine is not None:
                lines.say(about_engine)
            if state.code is None:
                await uvicorn.Server(config).serve(sockets=[listening])
            if about_engine is not None:
                lines.say(STOPPING)
    return state.code or 0


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on connections wait for the server instead of being refused
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port") from None
    return listening
