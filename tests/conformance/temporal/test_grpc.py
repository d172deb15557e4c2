"""The door over real connections: with TLS, with keys, and with too much of everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from temporalio.client import Client, ScheduleAlreadyRunningError, TLSConfig
from temporalio.service import RPCError, RPCStatusCode

from tests.conformance.temporal.clients import temporal
from tests.conformance.temporal.kit import schedule
from tests.support.service import runner_of
from tompion.api.temporal.dispatcher import bind, read_namespaces
from tompion.bootstrap.temporal import serve_temporal
from tompion.config.loader import load
from tompion.config.schema import Config
from tompion.operations.resources.api_keys import create_key
from tompion.operations.runner import OperationRunner
from tompion.store.sqlite.driver import SqliteStore

pytestmark = pytest.mark.server
SECONDS = 120
OPEN: dict[str, Any] = {"temporal_address": "127.0.0.1:0"}


@asynccontextmanager
async def served(**flags: Any) -> AsyncIterator[tuple[str, OperationRunner]]:
    """A door on a free port, and the operation runner behind it."""
    store = SqliteStore()
    told: Config = load({}, {**OPEN, **flags})
    mistakes: list[BaseException] = []
    try:
        runner = runner_of(store)
        async with (
            asyncio.timeout(SECONDS),
            serve_temporal(lambda: runner, told, on_internal_error=mistakes.append) as address,
        ):
            assert address is not None
            yield address, runner
        assert mistakes == []
    finally:
        store.close()


def told(story: Callable[[str, OperationRunner], Awaitable[Any]], **flags: Any) -> Any:
    async def tell() -> Any:
        async with served(**flags) as (address, runner):
            return await story(address, runner)

    return asyncio.run(tell())


def test_the_sdk_connects_and_manages_a_schedule() -> None:
    async def story(address: str, runner: OperationRunner) -> Any:
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


def test_the_operator_commands_of_the_command_line() -> None:
    """They show what there is to know of a namespace, and register search attributes."""

    async def story(address: str, runner: OperationRunner) -> Any:
        await temporal(address, "operator", "search-attribute", "create", "--name", "Team", "--type", "Keyword")
        return (
            json.loads(await temporal(address, "operator", "namespace", "describe", "-n", "default")),
            json.loads(await temporal(address, "operator", "search-attribute", "list")),
            await temporal(address, "operator", "cluster", "health"),
            json.loads(await temporal(address, "operator", "cluster", "system")),
        )

    namespace, attributes, health, system = told(story)
    assert namespace["namespaceInfo"]["id"] == read_namespaces(["default"])["default"]
    assert attributes["customAttributes"] == {"Team": "INDEXED_VALUE_TYPE_KEYWORD"}
    assert "SERVING" in health
    assert system["capabilities"]["supportsSchedules"]


def test_keys(tmp_path: Path) -> None:
    async def story(address: str, runner: OperationRunner) -> Any:
        made = await asyncio.wrap_future(
            runner.send(bind(create_key, "k", role="editor"), namespace="default", actor="test", writes=True)
        )
        client = await Client.connect(address, api_key=made.secret, tls=False)
        await client.create_schedule("s", schedule())
        with pytest.raises((RPCError, RuntimeError)):
            await Client.connect(address, api_key="tpn_nobody", tls=False)
        return [each.id async for each in await client.list_schedules()]

    assert told(story, auth="required") == ["s"]


class Papers:
    """An authority, and the files of a server that asks everybody for a certificate of it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        server, client = self.authority.issue_cert("127.0.0.1"), self.authority.issue_cert("ops.example.org")
        self.ca = self._written(folder / "ca.pem", self.authority.cert_pem)
        self.cert = self._written(folder / "client.pem", client.cert_chain_pems[0])
        self.key = self._written(folder / "client.key", client.private_key_pem)
        self.flags = {
            "auth": "required",
            "tls_cert": self._written(folder / "server.pem", server.cert_chain_pems[0]),
            "tls_key": self._written(folder / "server.key", server.private_key_pem),
            "tls_client_ca": self.ca,
        }
        self.config = folder / "tompion.toml"
        self.config.write_text('[[certificate]]\ndns = "ops.example.org"\nroles = { default = "editor" }\n')
        self.shown = TLSConfig(
            server_root_ca_cert=self.authority.cert_pem.bytes(),
            client_cert=client.cert_chain_pems[0].bytes(),
            client_private_key=client.private_key_pem.bytes(),
        )

    def _written(self, path: Path, blob: trustme.Blob) -> str:
        path.write_bytes(blob.bytes())
        return str(path)


@asynccontextmanager
async def guarded(papers: Papers) -> AsyncIterator[str]:
    """A door that demands certificates."""
    store = SqliteStore()
    try:
        told = load({}, {**OPEN, **papers.flags}, str(papers.config))
        async with serve_temporal(lambda: runner_of(store), told, on_internal_error=print) as address:
            assert address is not None
            yield address
    finally:
        store.close()


def test_certificates(tmp_path: Path) -> None:
    papers = Papers(tmp_path)

    async def tell() -> Any:
        async with guarded(papers) as address:
            connected = await Client.connect(address, tls=papers.shown)
            await connected.create_schedule("s", schedule())
            trusting = TLSConfig(server_root_ca_cert=papers.authority.cert_pem.bytes())
            with pytest.raises((RPCError, RuntimeError)):
                await Client.connect(address, tls=trusting)
            return [each.id async for each in await connected.list_schedules()]

    assert asyncio.run(tell()) == ["s"]


def test_a_certificate_may_do_what_its_role_allows(tmp_path: Path) -> None:
    """A reader reads and changes nothing; whom no table maps to a role is nobody, although the authority knows them."""
    papers = Papers(tmp_path)
    mapped = papers.config.read_text()

    async def tell() -> RPCStatusCode:
        async with guarded(papers) as address:
            client = await Client.connect(address, tls=papers.shown)
            assert [each async for each in await client.list_schedules()] == []
            with pytest.raises(RPCError) as small:
                await client.create_schedule("s", schedule())
        papers.config.write_text(mapped.replace("ops.example.org", "other.example.org"))
        async with guarded(papers) as address:
            with pytest.raises(RuntimeError, match=r"Unauthenticated, message: .no ..certificate.. block names"):
                await Client.connect(address, tls=papers.shown)
        return small.value.status

    papers.config.write_text(mapped.replace("editor", "reader"))
    assert asyncio.run(tell()) is RPCStatusCode.PERMISSION_DENIED


def test_two_hundred_connections() -> None:
    async def story(address: str, runner: OperationRunner) -> Any:
        async def one(number: int) -> None:
            client = await Client.connect(address)
            await client.create_schedule(f"s-{number}", schedule())

        await asyncio.gather(*(one(number) for number in range(200)))
        return len([each.id async for each in await (await Client.connect(address)).list_schedules()])

    assert told(story) == 200
