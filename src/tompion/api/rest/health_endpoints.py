"""``/healthz`` and ``/readyz``: whether the process runs, and whether it can serve requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tompion.api.auth.principal import Principal
from tompion.api.rest.problems import problem

if TYPE_CHECKING:
    from tompion.api.rest.app import Service


MAX_PROBE_S = 5.0
"""The longest time that ``/readyz`` waits for the store."""


async def healthz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Respond that the process is running."""
    return JSONResponse({"status": "ok", "version": service.version})


async def readyz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Respond whether the store answers and the engine in the same process works.

    ``engine/health.py`` checks the engine: it has started, its loop moves, and its clock agrees with the store's.
    """
    problems = [*service.problems(), *await store_problems(service.runner.store)]
    if problems:
        return problem(503, "not_ready", "; ".join(problems), problems=problems, retryable=True)
    return JSONResponse({"status": "ready", "version": service.version})


class ReadableStore(Protocol):
    """The part of a store that the readiness check needs."""

    def read(self, work: Callable[[Any], int]) -> Future[int]:
        """Run work in a read transaction."""


async def store_problems(store: ReadableStore) -> list[str]:
    """Return the problems of a store. The list is empty if the store answers."""
    try:
        future = asyncio.wrap_future(store.read(lambda transaction: transaction.now_ms()))
        done, _ = await asyncio.wait([future], timeout=MAX_PROBE_S)
        if done:
            future.result()
            return []
        future.cancel()
    except Exception as error:  # noqa: BLE001 - any error means that the store does not answer
        return [f"the store does not answer: {error}"]
    return [f"the store has not answered within {MAX_PROBE_S:.0f} s"]
