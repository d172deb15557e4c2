"""gRPC reflection: the services and their messages, for tools such as ``grpcurl``.

The descriptors of the reflection service are built here. Those of Temporal and of the health service come with
Temporal's SDK, which has health in a package of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from temporalio.bridge.proto.health.v1 import health_pb2

from tompion.api.temporal.system_service import HEALTH_SERVICE, OPERATOR_SERVICE, WORKFLOW_SERVICE

VERSIONS = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
METHODS = frozenset(f"/{version}.ServerReflection/ServerReflectionInfo" for version in VERSIONS)
SERVICES = (
    HEALTH_SERVICE,
    OPERATOR_SERVICE,
    WORKFLOW_SERVICE,
    *(f"{version}.ServerReflection" for version in VERSIONS),
)
NOT_FOUND, INVALID_ARGUMENT, UNIMPLEMENTED = 5, 3, 12
_TEXT, _BYTES, _INT = (
    FieldDescriptorProto.TYPE_STRING,
    FieldDescriptorProto.TYPE_BYTES,
    FieldDescriptorProto.TYPE_INT32,
)
_REQUEST, _RESPONSE = "ServerReflectionRequest", "ServerReflectionResponse"
_SHAPES: dict[str, list[tuple[str, int, int | str, bool]]] = {
    _REQUEST: [
        ("host", 1, _TEXT, False),
        ("file_by_filename", 3, _TEXT, False),
        ("file_containing_symbol", 4, _TEXT, False),
        ("list_services", 7, _TEXT, False),
    ],
    "FileDescriptorResponse": [("file_descriptor_proto", 1, _BYTES, True)],
    "ServiceResponse": [("name", 1, _TEXT, False)],
    "ListServiceResponse": [("service", 1, "ServiceResponse", True)],
    "ErrorResponse": [("error_code", 1, _INT, False), ("error_message", 2, _TEXT, False)],
    _RESPONSE: [
        ("valid_host", 1, _TEXT, False),
        ("original_request", 2, _REQUEST, False),
        ("file_descriptor_response", 4, "FileDescriptorResponse", False),
        ("list_services_response", 6, "ListServiceResponse", False),
        ("error_response", 7, "ErrorResponse", False),
    ],
}
"""Each message: name, number and type of its fields, and whether they repeat."""


def reflect(body: bytes) -> bytes:
    """Return the response to a reflection request."""
    request, response = message(_REQUEST), message(_RESPONSE)
    try:
        request.ParseFromString(body)
    except DecodeError:
        return _error(response, INVALID_ARGUMENT, "not a reflection request")
    response.original_request.CopyFrom(request)
    if request.HasField("list_services"):
        for name in SERVICES:
            response.list_services_response.service.add(name=name)
        return bytes(response.SerializeToString())
    for field in ("file_by_filename", "file_containing_symbol"):
        if request.HasField(field):
            return _files(response, field, getattr(request, field))
    return _error(response, UNIMPLEMENTED, "extensions are not supported")


def _files(response: Any, field: str, wanted: str) -> bytes:
    file = _file(field, wanted)
    if file is None:
        return _error(response, NOT_FOUND, f"unknown symbol or file {wanted}")
    files = _with_dependencies(file, {})
    response.file_descriptor_response.file_descriptor_proto.extend(file.serialized_pb for file in files.values())
    return bytes(response.SerializeToString())


def _file(field: str, wanted: str) -> FileDescriptor | None:
    from temporalio.api.operatorservice.v1 import service_pb2 as operator_service  # noqa: F401 - known when imported
    from temporalio.api.workflowservice.v1 import service_pb2 as workflow_service  # noqa: F401 - known when imported

    for pool in (_own_files(), Default()):
        try:
            if field == "file_by_filename":
                return pool.FindFileByName(wanted)
            return pool.FindFileContainingSymbol(wanted)
        except KeyError:
            continue
    return None


def _with_dependencies(file: FileDescriptor, files: dict[str, FileDescriptor]) -> dict[str, FileDescriptor]:
    if file.name not in files:
        files[file.name] = file
        for dependency in file.dependencies:
            _with_dependencies(dependency, files)
    return files


def _error(response: Any, code: int, text: str) -> bytes:
    response.error_response.error_code = code
    response.error_response.error_message = text
    return bytes(response.SerializeToString())


def message(name: str) -> Any:
    """Return an empty message of the reflection service."""
    return GetMessageClass(_own_files().FindMessageTypeByName(f"{VERSIONS[0]}.{name}"))()


@cache
def _own_files() -> DescriptorPool:
    """Return the files that Temporal's SDK does not have: reflection in both versions, and the standard health."""
    pool = DescriptorPool()
    for version in VERSIONS:
        pool.Add(_reflection_file(version))
    pool.Add(_health_file())
    return pool


def _health_file() -> FileDescriptorProto:
    """Return the standard health service. The SDK has the same messages in another package."""
    file = FileDescriptorProto.FromString(health_pb2.DESCRIPTOR.serialized_pb)
    text = text_format.MessageToString(file)
    package = HEALTH_SERVICE.rpartition(".")[0]
    return text_format.Parse(text.replace(file.package, package), FileDescriptorProto())


def _reflection_file(version: str) -> FileDescriptorProto:
    """Return the description of the reflection service itself."""
    file = FileDescriptorProto(name=f"{version.replace('.', '/')}/reflection.proto", package=version, syntax="proto3")
    for name, fields in _SHAPES.items():
        shape = file.message_type.add(name=name)
        for field_name, number, kind, repeated in fields:
            added = shape.field.add(name=field_name, number=number)
            added.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
            if isinstance(kind, str):
                added.type = FieldDescriptorProto.TYPE_MESSAGE
                added.type_name = f".{version}.{kind}"
            else:
                added.type = kind  # type: ignore[assignment]  # one of the three above
            if name == _REQUEST and number > 1:  # a oneof, so that an empty field is present too
                added.oneof_index = 0
        if name == _REQUEST:
            shape.oneof_decl.add(name="message_request")
    streams = {"client_streaming": True, "server_streaming": True}
    names = {"input_type": f".{version}.{_REQUEST}", "output_type": f".{version}.{_RESPONSE}"}
    file.service.add(name="ServerReflection").method.add(name="ServerReflectionInfo", **names, **streams)
    return file
