"""The REST application: routes, and the one table that maps errors to answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from foliot.errors import FoliotError, InvalidInput, InvalidSpec, InvalidTime, LimitExceeded
from foliot.operations.context import Context
from foliot.operations.preview import MAX_PREVIEW, Preview, preview

PROBLEM = "application/problem+json"
STATUS: dict[type[FoliotError], int] = {InvalidInput: 422, LimitExceeded: 422}
"""The status of each branch of the error tree; the nearest ancestor counts."""


class PreviewRequest(BaseModel):
    """A spec to look at."""

    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any] = Field(examples=[{"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}])
    after: datetime | None = None
    count: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] = 20
    schedule_id: str = ""


class TickView(BaseModel):
    """One tick: the instant, the schedule's clock, the wall time its rule names, and what DST did."""

    at: datetime
    local: datetime
    wall: datetime
    dst: str | None
    reason: str | None
    fire_at: datetime


class FindingView(BaseModel):
    """One remark of the linter."""

    code: str
    severity: str
    field: str
    message: str
    hint: str


class PreviewView(BaseModel):
    """What a spec means and when it will fire."""

    explanation: str
    timezone: str
    ticks: list[TickView]
    findings: list[FindingView]


def create_app(context: Context, hosts: list[str]) -> FastAPI:
    """Return the application; it answers only requests addressed to one of ``hosts``."""
    app = FastAPI(title="Foliot", version=context.version, docs_url=None, redoc_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    app.add_exception_handler(FoliotError, _problem)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _refused)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok", "version": context.version}

    @app.post("/api/v1/preview")
    def preview_spec(request: PreviewRequest) -> PreviewView:
        """Explain a spec and list its coming ticks."""
        after = None if request.after is None else _epoch(request.after)
        seen = preview(
            request.spec, clock=context.clock, after=after, count=request.count, schedule_id=request.schedule_id
        )
        return _view(seen)

    return app


def _epoch(when: datetime) -> int:
    if when.tzinfo is None:
        raise InvalidTime(f"after: {when.isoformat()} has no offset; write it like 2026-03-29T00:00:00Z")
    return int(when.timestamp() // 1)


def _view(seen: Preview) -> PreviewView:
    return PreviewView(
        explanation=seen.explanation,
        timezone=seen.timezone,
        ticks=[
            TickView(
                at=tick.at,
                local=tick.local,
                wall=tick.wall,
                dst=tick.moved or None,
                reason=tick.reason or None,
                fire_at=tick.fire_at,
            )
            for tick in seen.ticks
        ],
        findings=[FindingView.model_validate(finding, from_attributes=True) for finding in seen.findings],
    )


async def _problem(_request: Request, error: Exception) -> JSONResponse:
    """Answer with problem+json: a stable code, the field, and the way out."""
    assert isinstance(error, FoliotError)
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    body: dict[str, Any] = {"status": status, "code": error.code, "title": error.code, "detail": str(error)}
    if isinstance(error, InvalidSpec):
        body |= {"field": error.field, "position": error.position, "expected": error.expected, "hint": error.hint}
    return JSONResponse(body, status, media_type=PROBLEM)


async def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    """Answer a body that has not the shape of a request in the same form."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or None
    detail = f"{field}: {first['msg']}" if field else str(first["msg"])
    body = {"status": 422, "code": InvalidInput.code, "title": InvalidInput.code, "detail": detail, "field": field}
    return JSONResponse(body, 422, media_type=PROBLEM)


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """Answer an unknown address or method in the same form."""
    assert isinstance(error, HTTPException)
    code = "not_found" if error.status_code == 404 else "refused"
    body = {"status": error.status_code, "code": code, "title": code, "detail": error.detail}
    return JSONResponse(body, error.status_code, media_type=PROBLEM, headers=error.headers)
