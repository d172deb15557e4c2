"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

from importlib.metadata import version
from ipaddress import ip_address

from fastapi import FastAPI

from foliot.api.rest.app import create_app
from foliot.clock import SystemClock
from foliot.errors import InvalidInput
from foliot.operations.context import Context
from foliot.web.app import mount_page


def build_service(host: str) -> FastAPI:
    """Return the service with its page, to be served on ``host``.

    There is no authentication yet, so only loopback addresses are allowed: nobody else can reach them.
    """
    if not _is_loopback(host):
        raise InvalidInput(f"--host {host}: only a loopback address such as 127.0.0.1, because there is no login yet")
    app = create_app(Context(SystemClock(), version("foliot")), hosts=["127.0.0.1", "localhost", "[::1]", host])
    mount_page(app)
    return app


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
