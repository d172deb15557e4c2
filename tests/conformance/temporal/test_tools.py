"""Tools that know nothing of Temporal: they ask which services there are, learn their messages, and call them.

That is how grpcurl, grpcui and the probes of orchestrators come by what they show. The questions are written byte by
byte, so that they do not follow the server's own idea of reflection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.conformance.temporal.test_grpc import told
from tompion.api.temporal.system_service import METHODS
from tompion.operations.runner import OperationRunner

pytestmark = pytest.mark.server
FILE_BY_NAME, FILE_OF_SYMBOL, LIST_SERVICES = 3, 4, 7
FILES, SERVICES, ERROR = 4, 6, 7
HEALTH = "grpc.health.v1.Health"
WORKFLOWS = "temporal.api.workflowservice.v1.WorkflowService"


def field(number: int, value: bytes) -> bytes:
    """A field of bytes, as it is sent; everything that is asked here is short."""
    return bytes([number << 3 | 2, len(value)]) + value


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of bytes in a message; numbers are passed over."""
    place = 0

    def number() -> int:
        nonlocal place
        found = shift = 0
        while True:
            byte = data[place]
            place, found, shift = place + 1, found | (byte & 127) << shift, shift + 7
            if byte < 128:
                return found

    while place < len(data):
        tag = number()
        size = number()
        if tag & 7 == 2:
            yield tag >> 3, data[place : place + size]
            place += size


class Tool:
    """A client that learns from the server what it can ask."""

    def __init__(self, channel: Any, version: str) -> None:
        self.channel = channel
        self.stream = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")()
        self.pool = DescriptorPool()
        self.known: set[str] = set()

    async def asked(self, question: int, text: str = "") -> dict[int, bytes]:
        await self.stream.write(field(question, text.encode()))
        return dict(fields(await self.stream.read()))

    async def services(self) -> list[str]:
        found = fields((await self.asked(LIST_SERVICES))[SERVICES])
        return sorted(next(fields(each))[1].decode() for _, each in found)

    async def learn(self, service: str) -> Any:
        """What a service is, with everything that it refers to."""
        answer = await self.asked(FILE_OF_SYMBOL, service)
        files = [FileDescriptorProto.FromString(each) for _, each in fields(answer[FILES])]
        waiting = {file.name: file for file in files if file.name not in self.known}
        while waiting:
            ready = next(file for file in waiting.values() if self.known.issuperset(file.dependency))
            self.pool.Add(waiting.pop(ready.name))
            self.known.add(ready.name)
        return self.pool.FindServiceByName(service)

    async def call(self, name: str, **given: Any) -> Any:
        """Call what its full name says."""
        service, _, method_name = name.rpartition("/")
        method = (await self.learn(service)).methods_by_name[method_name]
        request = GetMessageClass(method.input_type)(**given)
        answer = await self.channel.unary_unary(f"/{name}")(request.SerializeToString())
        return GetMessageClass(method.output_type).FromString(answer)


def with_tool(version: str, story: Callable[[Tool], Awaitable[Any]]) -> Any:
    async def connected(address: str, runner: OperationRunner) -> Any:
        async with grpc.aio.insecure_channel(address) as channel:
            return await story(Tool(channel, version))

    return told(connected)


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_a_tool_lists_learns_and_calls(version: str) -> None:
    async def story(tool: Tool) -> Any:
        services = {name: await tool.learn(name) for name in await tool.services()}
        described = await tool.call(f"{WORKFLOWS}/DescribeNamespace", namespace="default")
        health = [(await tool.call(f"{HEALTH}/Check", service=name)).status for name in ("", WORKFLOWS)]
        return services, described.namespace_info.name, health

    services, namespace, health = with_tool(version, story)
    served = {name.split("/")[1] for name in METHODS}
    assert set(services) == served | {f"grpc.reflection.{each}.ServerReflection" for each in ("v1", "v1alpha")}
    for name in METHODS:
        _, service, method = name.split("/")
        assert method in services[service].methods_by_name
    assert namespace == "default"
    assert health == [1, 1]  # it serves


def test_a_tool_is_told_what_is_not_there() -> None:
    async def story(tool: Tool) -> Any:
        file, symbol = await tool.asked(FILE_BY_NAME, "no.proto"), await tool.asked(FILE_OF_SYMBOL, "no.Such")
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await tool.call(f"{HEALTH}/Check", service="no.Such")
        return file, symbol, unknown.value.code()

    file, symbol, unknown = with_tool("v1", story)
    assert "no.proto" in file[ERROR].decode()
    assert "no.Such" in symbol[ERROR].decode()
    assert unknown is grpc.StatusCode.NOT_FOUND
