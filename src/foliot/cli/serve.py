"""``foliot serve``: the service and its page, with an engine beside them."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.options import DEFAULT_STORE, AppDir, Store
from foliot.cli.worker import DEFAULT_QUEUE, STOPPING, first_line, leave
from foliot.errors import InvalidInput

if TYPE_CHECKING:
    import uvicorn

    from foliot.cli.events import EventLines

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

    import uvicorn

    from foliot.cli.events import EventLines
    from foliot.clock import SystemClock
    from foliot.wiring import build_service, find_functions_in, settle_in

    server = uvicorn.Server(uvicorn.Config(build_service(host), log_level="warning"))
    lines = EventLines(SystemClock())
    find_functions_in(app_dir)
    settle_in()
    listening = _listen(host, port)
    try:
        code = asyncio.run(_serve(server, listening, None if no_engine else store, lines))
    finally:
        listening.close()
    leave(code, lines)


async def _serve(server: uvicorn.Server, listening: socket.socket, store: str | None, lines: EventLines) -> int:
    """Run the server and, if there is a store, an engine beside it; the engine is the last to go."""
    from foliot.embedded import Foliot
    from foliot.stopping import stopping

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    async with AsyncExitStack() as stack:
        # The server takes the signals and, when it has ended, sends them again: to whoever had them before.
        state = stack.enter_context(stopping())
        if store is not None:
            await stack.enter_async_context(Foliot(store, listener=lines))
        lines.say(f"Foliot is on http://{shown}:{port} (Ctrl-C to stop)")
        if store is not None:
            lines.say(first_line(store, (DEFAULT_QUEUE,)))
        if state.code is None:
            await server.serve(sockets=[listening])
        if store is not None:
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
