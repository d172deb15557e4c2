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
"""The longest time that ``/readyz`` waits for the store to answer a read."""
MAX_WRITE_PROBE_S = 1.0
"""The longest time that ``/readyz`` waits for the store to accept a write."""


async def healthz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Respond that the process is running."""
    return JSONResponse({"status": "ok", "version": service.version})


async def readyz(service: Service, _request: Request, _caller: Principal, _namespace: str) -> Response:
    """Respond whether the store answers and accepts writes, and the engine in the same process works.

    ``engine/health.py`` checks the engine: it has started, its loop moves, it is not overloaded, and its clock agrees
    with the store's.
    """
    store = service.runner.store
    problems = [*service.problems(), *await store_problems(store)]
    if not problems and not service.read_only:
        problems = await write_problems(store)
    if problems:
        return problem(503, "not_ready", "; ".join(problems), problems=problems, retryable=True)
    return JSONResponse({"status": "ready", "version": service.version})


class ProbedStore(Protocol):
    """The part of a store that the readiness check needs."""

    def read(self, work: Callable[[Any], int]) -> Future[int]:
        """Run work in a read transaction."""

    def write(self, work: Callable[[Any], int]) -> Future[int]:
        """Run work in a write transaction."""


async def store_problems(store: ProbedStore) -> list[str]:
    """Return the problems of a store. The list is empty if the store answers."""
    try:
        if await _probe(store.read, MAX_PROBE_S):
            return []
    except Exception as error:  # noqa: BLE001 - any error means that the store does not answer
        return [f"the store does not answer: {error}"]
    return [f"the store has not answered within {MAX_PROBE_S:.0f} s"]


async def write_problems(store: ProbedStore) -> list[str]:
    """Return why a store does not accept writes. The list is empty if it does."""
    try:
        if await _probe(store.write, MAX_WRITE_PROBE_S):
            return []
    except Exception as error:  # noqa: BLE001 - any error means that the store accepts no writes
        return [f"the store does not accept writes: {error}"]
    return [f"the store has not accepted a write within {MAX_WRITE_PROBE_S:.0f} s: it is locked or overloaded"]


async def _probe(call: Callable[[Callable[[Any], int]], Future[int]], limit_s: float) -> bool:
    """Return whether a store answers a call within a limit."""
    future = asyncio.wrap_future(call(lambda transaction: transaction.now_ms()))
    done, _ = await asyncio.wait([future], timeout=limit_s)
    if not done:
        future.cancel()
        return False
    future.result()
    return True
