"""The door over real connections: with TLS, with keys, and with too much of everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from temporalio.client import Client, ScheduleAlreadyRunningError, TLSConfig
from temporalio.service import RPCError, RPCStatusCode

from foliot.api.temporal.door import bound
from foliot.configuration import Configuration, load
from foliot.operations.desk import Desk
from foliot.operations.keys import create_key
from foliot.store.sqlite.driver import SqliteStore
from foliot.wiring import serve_temporal
from tests.conformance.api.kit import desk_of
from tests.conformance.temporal.kit import schedule

pytestmark = pytest.mark.server
SECONDS = 60
OPEN: dict[str, Any] = {"temporal_address": "127.0.0.1:0"}


@asynccontextmanager
async def served(**flags: Any) -> AsyncIterator[tuple[str, Desk]]:
    """A door on a free port, and the desk behind it."""
    store = SqliteStore()
    told: Configuration = load({}, {**OPEN, **flags})
    mistakes: list[BaseException] = []
    try:
        desk = desk_of(store)
        async with asyncio.timeout(SECONDS), serve_temporal(lambda: desk, told, mistakes=mistakes.append) as address:
            assert address is not None
            yield address, desk
        assert mistakes == []
    finally:
        store.close()


def told(story: Callable[[str, Desk], Awaitable[Any]], **flags: Any) -> Any:
    async def tell() -> Any:
        async with served(**flags) as (address, desk):
            return await story(address, desk)

    return asyncio.run(tell())


def test_the_sdk_connects_and_manages_a_schedule() -> None:
    async def story(address: str, desk: Desk) -> Any:
        client = await Client.connect(address)
        assert await client.service_client.check_health()
        handle = await client.create_schedule("s", schedule())
        with pytest.raises(ScheduleAlreadyRunningError):
            await client.create_schedule("s", schedule())
        await handle.pause(note="over the wire")
        found = await handle.describe()
        listed = [each.id async for each in await client.list_schedules()]
        await handle.delete()
        with pytest.raises(RPCError) as gone:
            await handle.describe()
        return found.schedule.state.note, listed, gone.value.status

    assert told(story) == ("over the wire", ["s"], RPCStatusCode.NOT_FOUND)


def test_keys(tmp_path: Path) -> None:
    async def story(address: str, desk: Desk) -> Any:
        made = await asyncio.wrap_future(
            desk.send(bound(create_key, "k", role="editor"), namespace="default", actor="test", writes=True)
        )
        client = await Client.connect(address, api_key=made.secret, tls=False)
        await client.create_schedule("s", schedule())
        with pytest.raises((RPCError, RuntimeError)):
            await Client.connect(address, api_key="flt_nobody", tls=False)
        return [each.id async for each in await client.list_schedules()]

    assert told(story, auth="required") == ["s"]


def test_certificates(tmp_path: Path) -> None:
    authority, mine = trustme.CA(), tmp_path / "server.pem"
    server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("ops.example.org")
    mine.write_bytes(server.cert_chain_pems[0].bytes())
    (tmp_path / "server.key").write_bytes(server.private_key_pem.bytes())
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    config = tmp_path / "foliot.toml"
    config.write_text('[[certificate]]\ndns = "ops.example.org"\nroles = { default = "editor" }\n')
    flags = {
        "auth": "required",
        "tls_cert": str(mine),
        "tls_key": str(tmp_path / "server.key"),
        "tls_client_ca": str(tmp_path / "ca.pem"),
    }

    async def tell() -> Any:
        store = SqliteStore()
        try:
            configured = load({}, {**OPEN, **flags}, str(config))
            async with serve_temporal(lambda: desk_of(store), configured, mistakes=print) as address:
                tls = TLSConfig(
                    server_root_ca_cert=authority.cert_pem.bytes(),
                    client_cert=client.cert_chain_pems[0].bytes(),
                    client_private_key=client.private_key_pem.bytes(),
                )
                assert address is not None
                connected = await Client.connect(address, tls=tls)
                await connected.create_schedule("s", schedule())
                with pytest.raises((RPCError, RuntimeError)):
                    await Client.connect(address, tls=TLSConfig(server_root_ca_cert=authority.cert_pem.bytes()))
                return [each.id async for each in await connected.list_schedules()]
        finally:
            store.close()

    assert asyncio.run(tell()) == ["s"]


def test_two_hundred_connections() -> None:
    async def story(address: str, desk: Desk) -> Any:
        async def one(number: int) -> None:
            client = await Client.connect(address)
            await client.create_schedule(f"s-{number}", schedule())

        await asyncio.gather(*(one(number) for number in range(200)))
        return len([each.id async for each in await (await Client.connect(address)).list_schedules()])

    assert told(story) == 200
