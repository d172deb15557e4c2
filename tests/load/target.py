"""Two HTTP targets in one process: one holds every request until it is released, the other responds immediately.

``python -m tests.load.target`` prints both ports. ``GET /stats`` at the second returns the requests that the first one
holds, and ``POST /release`` lets it answer.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

from tests.support.servers import LOOPBACK
from tests.support.servers.message_brokers import dying_with_us

BACKLOG = 8_192


class Targets:
    """The counters of both."""

    def __init__(self) -> None:
        self._released = asyncio.Event()
        self._counts = {"held": 0, "answered": 0, "cut": 0, "quick": 0}

    async def hold(self, request: web.Request) -> web.Response:
        """Respond when released. Count clients that disconnect meanwhile."""
        await request.read()
        self._counts["held"] += 1
        try:
            await self._released.wait()
        except asyncio.CancelledError:
            self._counts["cut"] += 1
            raise
        finally:
            self._counts["held"] -= 1
        self._counts["answered"] += 1
        return web.json_response("at last")

    async def quick(self, request: web.Request) -> web.Response:
        """Answer immediately."""
        await request.read()
        self._counts["quick"] += 1
        return web.json_response("at once")

    async def stats(self, request: web.Request) -> web.Response:
        """Return the counters."""
        return web.json_response(self._counts)

    async def release(self, request: web.Request) -> web.Response:
        """Release all requests."""
        self._released.set()
        return web.Response()


async def serve() -> None:
    """Serve until the process is killed."""
    targets = Targets()
    slow, fast = web.Application(), web.Application()
    slow.router.add_post("/run", targets.hold)
    fast.router.add_post("/run", targets.quick)
    fast.router.add_get("/stats", targets.stats)
    fast.router.add_post("/release", targets.release)
    ports = []
    for application in (slow, fast):
        runner = web.AppRunner(application, handler_cancellation=True, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, 0, backlog=BACKLOG).start()
        ports.append(runner.addresses[0][1])
    sys.stdout.write(f"{ports[0]} {ports[1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def argv() -> list[str]:
    """Return the command that starts the targets. They end with this process."""
    return dying_with_us([sys.executable, "-m", "tests.load.target"])


if __name__ == "__main__":
    asyncio.run(serve())
