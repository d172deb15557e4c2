"""Whose bound a request counts against: whoever is believed has one of their own, whatever they show."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tompion.api.rest.credentials import PEER_CERTIFICATE
from tompion.api.rest.middleware.request_limits import AUTHENTICATED_ACTORS, RequestLimitsMiddleware

MANY = 1_000
CLIENT = ("192.0.2.1", 4711)
ANN: dict[str, Any] = {"headers": [(b"cookie", b"other=1; tompion_session=ann")]}
BOB: dict[str, Any] = {"headers": [(b"cookie", b"tompion_session=bob")]}
ROBOT: dict[str, Any] = {PEER_CERTIFICATE: {"serialNumber": "01", "notAfter": "Jan  1 00:00:00 2030 GMT"}}
WORKER: dict[str, Any] = {PEER_CERTIFICATE: {"serialNumber": "02", "notAfter": "Jan  1 00:00:00 2030 GMT"}}
KEY: dict[str, Any] = {"headers": [(b"authorization", b"Bearer tpn_1")], **ROBOT}
STRANGER: dict[str, Any] = {}
EMPTY: dict[str, Any] = {"headers": [(b"cookie", b"tompion_session=")]}


class Service:
    """An application that believes everybody who shows something, and counts them."""

    def __init__(self, *, lets_in: bool = False) -> None:
        self.lets_in = lets_in
        self.limits = RequestLimitsMiddleware(self._answer, max_body_bytes=1_000, requests_per_s=3)

    async def _answer(self, scope: Any, _receive: Any, send: Any) -> None:
        who = scope["headers"] or scope.get(PEER_CERTIFICATE)
        if who or self.lets_in:
            scope[AUTHENTICATED_ACTORS].append(repr(who))
        await send({"type": "http.response.start", "status": 200 if who else 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(self, shown: dict[str, Any]) -> int:
        statuses: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {"type": "http", "scheme": "http", "method": "GET", "path": "/", "client": CLIENT, "headers": []}
        await self.limits({**scope, **shown}, None, send)
        return statuses[0]

    async def exhausted(self, shown: dict[str, Any]) -> bool:
        """Ask until it is too much."""
        return 429 in [await self.ask(shown) for _ in range(MANY)]


@pytest.mark.parametrize("known", [ANN, ROBOT, KEY], ids=["cookie", "certificate", "key"])
def test_unauthenticated_requests_do_not_exhaust_an_authenticated_caller(known: dict[str, Any]) -> None:
    async def story() -> None:
        service = Service()
        assert await service.ask(known) == 200
        assert await service.exhausted(STRANGER)
        assert await service.ask(known) == 200

    asyncio.run(story())


@pytest.mark.parametrize(("greedy", "modest"), [(ANN, BOB), (ROBOT, WORKER), (KEY, ROBOT)])
def test_two_authenticated_callers_have_separate_limits(greedy: dict[str, Any], modest: dict[str, Any]) -> None:
    async def story() -> None:
        service = Service()
        assert [await service.ask(each) for each in (greedy, modest)] == [200, 200]
        assert await service.exhausted(greedy)
        assert await service.ask(modest) == 200

    asyncio.run(story())


@pytest.mark.parametrize("shown", [STRANGER, EMPTY], ids=["nothing", "an empty cookie"])
def test_requests_without_credentials_share_the_limit_of_their_address(shown: dict[str, Any]) -> None:
    """An open service lets them in; their bound is that of their address."""

    async def story() -> None:
        service = Service(lets_in=True)
        await service.ask(shown)
        assert await service.exhausted(shown)
        elsewhere = {**shown, "client": ("192.0.2.2", 1)}
        assert await service.ask(elsewhere) != 429

    asyncio.run(story())
