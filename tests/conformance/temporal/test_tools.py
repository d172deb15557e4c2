"""Generic gRPC tools: they list the services by reflection, load their messages, and call them.

grpcurl, grpcui and the probes of orchestrators work this way. The reflection requests are encoded by hand, so that the
tests do not depend on the server's own implementation of reflection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.conformance.temporal.test_grpc import run_scenario
from tompion.api.temporal.system_service import METHODS
from tompion.operations.runner import OperationRunner

pytestmark = pytest.mark.server
FILE_BY_NAME, FILE_OF_SYMBOL, LIST_SERVICES = 3, 4, 7
FILES, SERVICES, ERROR = 4, 6, 7
HEALTH = "grpc.health.v1.Health"
WORKFLOWS = "temporal.api.workflowservice.v1.WorkflowService"


def field(number: int, value: bytes) -> bytes:
    """Encode a field of bytes. The value must be shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes fields of a message, and skip the numbers."""
    position = 0

    def read_varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position, value, shift = position + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while position < len(data):
        tag = read_varint()
        size = read_varint()
        if tag & 7 == 2:
            yield tag >> 3, data[position : position + size]
            position += size


class Tool:
    """A client that loads the descriptors of its calls from the server."""

    def __init__(self, channel: Any, version: str) -> None:
        self.channel = channel
        self.stream = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")()
        self.pool = DescriptorPool()
        self.loaded: set[str] = set()

    async def reflect(self, kind: int, text: str = "") -> dict[int, bytes]:
        await self.stream.write(field(kind, text.encode()))
        return dict(fields(await self.stream.read()))

    async def services(self) -> list[str]:
        services = fields((await self.reflect(LIST_SERVICES))[SERVICES])
        return sorted(next(fields(service))[1].decode() for _, service in services)

    async def load(self, service: str) -> Any:
        """Load the descriptor of a service and its dependencies."""
        answer = await self.reflect(FILE_OF_SYMBOL, service)
        files = [FileDescriptorProto.FromString(file) for _, file in fields(answer[FILES])]
        waiting = {file.name: file for file in files if file.name not in self.loaded}
        while waiting:
            ready = next(file for file in waiting.values() if self.loaded.issuperset(file.dependency))
            self.pool.Add(waiting.pop(ready.name))
            self.loaded.add(ready.name)
        return self.pool.FindServiceByName(service)

    async def call(self, name: str, **request_fields: Any) -> Any:
        """Call a method by its full name."""
        service, _, method_name = name.rpartition("/")
        method = (await self.load(service)).methods_by_name[method_name]
        request = GetMessageClass(method.input_type)(**request_fields)
        answer = await self.channel.unary_unary(f"/{name}")(request.SerializeToString())
        return GetMessageClass(method.output_type).FromString(answer)


def run_with_tool(version: str, scenario: Callable[[Tool], Awaitable[Any]]) -> Any:
    async def connected(address: str, runner: OperationRunner) -> Any:
        async with grpc.aio.insecure_channel(address) as channel:
            return await scenario(Tool(channel, version))

    return run_scenario(connected)


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_generic_tool_lists_services_and_calls_them(version: str) -> None:
    async def scenario(tool: Tool) -> Any:
        services = {name: await tool.load(name) for name in await tool.services()}
        described = await tool.call(f"{WORKFLOWS}/DescribeNamespace", namespace="default")
        health = [(await tool.call(f"{HEALTH}/Check", service=name)).status for name in ("", WORKFLOWS)]
        return services, described.namespace_info.name, health

    services, namespace, health = run_with_tool(version, scenario)
    served = {name.split("/")[1] for name in METHODS}
    assert set(services) == served | {f"grpc.reflection.{number}.ServerReflection" for number in ("v1", "v1alpha")}
    for name in METHODS:
        _, service, method = name.split("/")
        assert method in services[service].methods_by_name
    assert namespace == "default"
    assert health == [1, 1]  # SERVING


def test_unknown_names_are_reported_to_a_tool() -> None:
    async def scenario(tool: Tool) -> Any:
        file, symbol = await tool.reflect(FILE_BY_NAME, "no.proto"), await tool.reflect(FILE_OF_SYMBOL, "no.Such")
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await tool.call(f"{HEALTH}/Check", service="no.Such")
        return file, symbol, unknown.value.code()

    file, symbol, unknown = run_with_tool("v1", scenario)
    assert "no.proto" in file[ERROR].decode()
    assert "no.Such" in symbol[ERROR].decode()
    assert unknown is grpc.StatusCode.NOT_FOUND
