"""Signing in to the page and out again, and who somebody is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tompion.api.auth.principal import ANONYMOUS, Principal
from tompion.api.rest.request_binding import body_of
from tompion.contract.json import encode
from tompion.errors import InvalidField, InvalidInput, Unauthenticated
from tompion.model.security import WebSession

if TYPE_CHECKING:
    from tompion.api.rest.app import Service


async def show_visit(service: Service, request: Request, _caller: Principal, _namespace: str) -> Response:
    """Say who asks."""
    try:
        caller = await service.gate.caller(request)
    except Unauthenticated:
        caller = ANONYMOUS
    by_cookie = service.cookies is not None and await service.cookies.opened(request) is not None
    return JSONResponse(encode(_visit(service, caller, signed_in=by_cookie and caller is not ANONYMOUS)))


async def begin_visit(service: Service, request: Request, _caller: Principal, _namespace: str) -> Response:
    """Let somebody in who shows a key or a token, and remember it in a cookie."""
    credential = await _credential(request)
    if service.cookies is None:
        return await show_visit(service, request, _caller, _namespace)
    caller = await service.gate.believed(credential)
    response = JSONResponse(encode(_visit(service, caller, signed_in=True)))
    await service.cookies.give(request, response, credential)
    return response


async def end_visit(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Forget who somebody is."""
    response = JSONResponse(encode(_visit(service, ANONYMOUS, signed_in=False)))
    if service.cookies is not None:
        service.cookies.take(response)
    return response


async def _credential(request: Request) -> str:
    try:
        body = await body_of(request)
    except InvalidField:
        raise
    except InvalidInput:
        body = None
    found = body.get("credential") if isinstance(body, dict) else None
    if not isinstance(found, str) or not found.isascii() or not found.strip():
        raise InvalidField("credential", "expected an API key or a token, as text")
    return found.strip()


def _visit(service: Service, caller: Principal, *, signed_in: bool) -> WebSession:
    return WebSession(
        actor=None if caller is ANONYMOUS else caller.actor,
        roles={name: role.name.lower() for name, role in caller.roles.items()},
        home=caller.home,
        auth="open" if service.cookies is None else "required",
        signed_in=signed_in,
        read_only=service.read_only,
        version=service.version,
    )
