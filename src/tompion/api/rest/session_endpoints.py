"""Sessions of the web UI: sign in, sign out, and the current caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tompion.api.auth.principal import ANONYMOUS, Principal
from tompion.api.auth.session_cookie import COOKIE_NAME, MAX_SESSION_S
from tompion.api.rest.credentials import credentials_of
from tompion.api.rest.request_binding import read_json_body
from tompion.contract.json import encode
from tompion.errors import InvalidField, InvalidInput, Unauthenticated
from tompion.model.web_session import WebSession

if TYPE_CHECKING:
    from tompion.api.rest.app import Service


async def get_session(service: Service, request: Request, _caller: Principal, _namespace: str) -> Response:
    """Return the caller and its roles."""
    credentials = credentials_of(request)
    try:
        caller = await service.authenticator.authenticate(credentials)
    except Unauthenticated:
        caller = ANONYMOUS
    has_cookie = service.session_cookies is not None and credentials.session_cookie is not None
    return JSONResponse(encode(_session(service, caller, signed_in=has_cookie and caller is not ANONYMOUS)))


async def sign_in(service: Service, request: Request, caller: Principal, namespace: str) -> Response:
    """Authenticate with an API key or a JWT, and set the session cookie."""
    credential = await _read_credential(request)
    if service.session_cookies is None:
        return await get_session(service, request, caller, namespace)
    caller = await service.authenticator.authenticate_token(credential)
    response = JSONResponse(encode(_session(service, caller, signed_in=True)))
    response.set_cookie(
        COOKIE_NAME,
        await service.session_cookies.encrypt(credential),
        max_age=MAX_SESSION_S,
        secure=service.session_cookies.over_tls or request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


async def sign_out(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Delete the session cookie."""
    response = JSONResponse(encode(_session(service, ANONYMOUS, signed_in=False)))
    if service.session_cookies is not None:
        response.delete_cookie(COOKIE_NAME, httponly=True, samesite="strict")
    return response


async def _read_credential(request: Request) -> str:
    try:
        body = await read_json_body(request)
    except InvalidField:
        raise
    except InvalidInput:
        body = None
    credential = body.get("credential") if isinstance(body, dict) else None
    if not isinstance(credential, str) or not credential.isascii() or not credential.strip():
        raise InvalidField("credential", "expected an API key or a JWT, as text")
    return credential.strip()


def _session(service: Service, caller: Principal, *, signed_in: bool) -> WebSession:
    return WebSession(
        actor=None if caller is ANONYMOUS else caller.actor,
        roles={name: role.name.lower() for name, role in caller.roles.items()},
        home=caller.home,
        auth="open" if service.session_cookies is None else "required",
        signed_in=signed_in,
        read_only=service.read_only,
        version=service.version,
    )
