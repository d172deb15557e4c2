"""``foliot serve``: the service and its page."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from foliot.cli import render
from foliot.errors import InvalidInput

DEFAULT_PORT = 8640


def serve_command(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 = any free one.")
    ] = DEFAULT_PORT,
) -> None:
    """Serve the API and the page until interrupted.

    Example: foliot serve --port 8641
    """
    import uvicorn

    from foliot.wiring import build_service

    app = build_service(host)
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    render.paragraph(f"Foliot is on http://{shown}:{listening.getsockname()[1]} (Ctrl-C to stop)")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


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
