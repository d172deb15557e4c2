"""The Temporal API over real connections: TLS, API keys, client certificates and many connections."""

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

from tests.conformance.temporal.clients import run_temporal_cli
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
    """Serve the Temporal API on a free port, and yield its address and the operation runner."""
    store = SqliteStore()
    config: Config = load({}, {**OPEN, **flags})
    internal_errors: list[BaseException] = []
    try:
        runner = runner_of(store)
        async with (
            asyncio.timeout(SECONDS),
            serve_temporal(lambda: runner, config, on_internal_error=internal_errors.append) as address,
        ):
            assert address is not None
            yield address, runner
        assert internal_errors == []
    finally:
        store.close()


def run_scenario(scenario: Callable[[str, OperationRunner], Awaitable[Any]], **flags: Any) -> Any:
    async def run() -> Any:
        async with served(**flags) as (address, runner):
            return await scenario(address, runner)

    return asyncio.run(run())


def test_sdk_connects_and_manages_a_schedule() -> None:
    async def scenario(address: str, runner: OperationRunner) -> Any:
        client = await Client.connect(address)
        assert await client.service_client.check_health()
        handle = await client.create_schedule("s", schedule())
        with pytest.raises(ScheduleAlreadyRunningError):
            await client.create_schedule("s", schedule())
        await handle.pause(note="over the wire")
        description = await handle.describe()
        listed = [entry.id async for entry in await client.list_schedules()]
        await handle.delete()
        with pytest.raises(RPCError) as gone:
            await handle.describe()
        return description.schedule.state.note, listed, gone.value.status

    assert run_scenario(scenario) == ("over the wire", ["s"], RPCStatusCode.NOT_FOUND)


def test_operator_commands_of_the_command_line() -> None:
    """They describe a namespace and the cluster, and register search attributes."""

    async def scenario(address: str, runner: OperationRunner) -> Any:
        await run_temporal_cli(address, "operator", "search-attribute", "create", "--name", "Team", "--type", "Keyword")
        return (
            json.loads(await run_temporal_cli(address, "operator", "namespace", "describe", "-n", "default")),
            json.loads(await run_temporal_cli(address, "operator", "search-attribute", "list")),
            await run_temporal_cli(address, "operator", "cluster", "health"),
            json.loads(await run_temporal_cli(address, "operator", "cluster", "system")),
        )

    namespace, attributes, health, system = run_scenario(scenario)
    assert namespace["namespaceInfo"]["id"] == read_namespaces(["default"])["default"]
    assert attributes["customAttributes"] == {"Team": "INDEXED_VALUE_TYPE_KEYWORD"}
    assert "SERVING" in health
    assert system["capabilities"]["supportsSchedules"]


def test_only_a_valid_api_key_connects(tmp_path: Path) -> None:
    async def scenario(address: str, runner: OperationRunner) -> Any:
        key = await asyncio.wrap_future(
            runner.send(bind(create_key, "k", role="editor"), namespace="default", actor="test", writes=True)
        )
        client = await Client.connect(address, api_key=key.secret, tls=False)
        await client.create_schedule("s", schedule())
        with pytest.raises((RPCError, RuntimeError)):
            await Client.connect(address, api_key="tpn_unknown", tls=False)
        return [entry.id async for entry in await client.list_schedules()]

    assert run_scenario(scenario, auth="required") == ["s"]


class Certificates:
    """A certificate authority, and the files of a server that requires client certificates of it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        server, client = self.authority.issue_cert("127.0.0.1"), self.authority.issue_cert("ops.example.org")
        self.ca = self._write(folder / "ca.pem", self.authority.cert_pem)
        self.cert = self._write(folder / "client.pem", client.cert_chain_pems[0])
        self.key = self._write(folder / "client.key", client.private_key_pem)
        self.flags = {
            "auth": "required",
            "tls_cert": self._write(folder / "server.pem", server.cert_chain_pems[0]),
            "tls_key": self._write(folder / "server.key", server.private_key_pem),
            "tls_client_ca": self.ca,
        }
        self.config = folder / "tompion.toml"
        self.config.write_text('[[certificate]]\ndns = "ops.example.org"\nroles = { default = "editor" }\n')
        self.client_tls = TLSConfig(
            server_root_ca_cert=self.authority.cert_pem.bytes(),
            client_cert=client.cert_chain_pems[0].bytes(),
            client_private_key=client.private_key_pem.bytes(),
        )

    def _write(self, path: Path, blob: trustme.Blob) -> str:
        path.write_bytes(blob.bytes())
        return str(path)


@asynccontextmanager
async def serving_with_certificates(certificates: Certificates) -> AsyncIterator[str]:
    """Serve a Temporal API that requires client certificates, and yield its address."""
    store = SqliteStore()
    try:
        config = load({}, {**OPEN, **certificates.flags}, str(certificates.config))
        async with serve_temporal(lambda: runner_of(store), config, on_internal_error=print) as address:
            assert address is not None
            yield address
    finally:
        store.close()


def test_client_certificate_is_required(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)

    async def run() -> Any:
        async with serving_with_certificates(certificates) as address:
            client = await Client.connect(address, tls=certificates.client_tls)
            await client.create_schedule("s", schedule())
            without_certificate = TLSConfig(server_root_ca_cert=certificates.authority.cert_pem.bytes())
            with pytest.raises((RPCError, RuntimeError)):
                await Client.connect(address, tls=without_certificate)
            return [entry.id async for entry in await client.list_schedules()]

    assert asyncio.run(run()) == ["s"]


def test_certificate_has_the_permissions_of_its_role(tmp_path: Path) -> None:
    """A reader cannot change anything. A certificate without a role is rejected, although its authority is trusted."""
    certificates = Certificates(tmp_path)
    mapped = certificates.config.read_text()

    async def run() -> RPCStatusCode:
        async with serving_with_certificates(certificates) as address:
            client = await Client.connect(address, tls=certificates.client_tls)
            assert [entry async for entry in await client.list_schedules()] == []
            with pytest.raises(RPCError) as denied:
                await client.create_schedule("s", schedule())
        certificates.config.write_text(mapped.replace("ops.example.org", "other.example.org"))
        async with serving_with_certificates(certificates) as address:
            with pytest.raises(RuntimeError, match=r"Unauthenticated, message: .no ..certificate.. block names"):
                await Client.connect(address, tls=certificates.client_tls)
        return denied.value.status

    certificates.config.write_text(mapped.replace("editor", "reader"))
    assert asyncio.run(run()) is RPCStatusCode.PERMISSION_DENIED


def test_200_connections_create_schedules() -> None:
    async def scenario(address: str, runner: OperationRunner) -> Any:
        async def connect(number: int) -> None:
            client = await Client.connect(address)
            await client.create_schedule(f"s-{number}", schedule())

        await asyncio.gather(*(connect(number) for number in range(200)))
        return len([entry.id async for entry in await (await Client.connect(address)).list_schedules()])

    assert run_scenario(scenario) == 200
