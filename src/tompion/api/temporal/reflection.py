"""gRPC reflection: which services there are and what their messages look like, for tools that do not know them.

The messages of reflection itself are so few that they are written down here.  Those of Temporal are known to whoever
has its SDK; so is health, under a name of its own.
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
SERVICES = (HEALTH_SERVICE, OPERATOR_SERVICE, WORKFLOW_SERVICE, *(f"{each}.ServerReflection" for each in VERSIONS))
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
"""Each message: the names, numbers and types of its fields, and which of them repeat."""


def reflect(body: bytes) -> bytes:
    """Answer one question about the services."""
    request, response = message(_REQUEST), message(_RESPONSE)
    try:
        request.ParseFromString(body)
    except DecodeError:
        return _error(response, INVALID_ARGUMENT, "this is no request")
    response.original_request.CopyFrom(request)
    if request.HasField("list_services"):
        for name in SERVICES:
            response.list_services_response.service.add(name=name)
        return bytes(response.SerializeToString())
    for field in ("file_by_filename", "file_containing_symbol"):
        if request.HasField(field):
            return _files(response, field, getattr(request, field))
    return _error(response, UNIMPLEMENTED, "extensions are not looked for: there are none")


def _files(response: Any, field: str, wanted: str) -> bytes:
    found = _file(field, wanted)
    if found is None:
        return _error(response, NOT_FOUND, f"there is no {wanted}")
    files = _with_dependencies(found, {})
    response.file_descriptor_response.file_descriptor_proto.extend(each.serialized_pb for each in files.values())
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


def _with_dependencies(file: FileDescriptor, found: dict[str, FileDescriptor]) -> dict[str, FileDescriptor]:
    if file.name not in found:
        found[file.name] = file
        for each in file.dependencies:
            _with_dependencies(each, found)
    return found


def _error(response: Any, code: int, said: str) -> bytes:
    response.error_response.error_code = code
    response.error_response.error_message = said
    return bytes(response.SerializeToString())


def message(name: str) -> Any:
    """Return an empty message of reflection."""
    found = _own_files().FindMessageTypeByName(f"{VERSIONS[0]}.{name}")
    return GetMessageClass(found)()


@cache
def _own_files() -> DescriptorPool:
    """The files that are not among Temporal's: reflection in both versions, and health under its usual name."""
    pool = DescriptorPool()
    for version in VERSIONS:
        pool.Add(_reflection_file(version))
    pool.Add(_health_file())
    return pool


def _health_file() -> FileDescriptorProto:
    """Health as every client knows it: the SDK has the same messages in a package of its own."""
    file = FileDescriptorProto.FromString(health_pb2.DESCRIPTOR.serialized_pb)
    text = text_format.MessageToString(file)
    package = HEALTH_SERVICE.rpartition(".")[0]
    return text_format.Parse(text.replace(file.package, package), FileDescriptorProto())


def _reflection_file(version: str) -> FileDescriptorProto:
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
            if name == _REQUEST and number > 1:  # which of the questions is asked, also if it is empty
                added.oneof_index = 0
        if name == _REQUEST:
            shape.oneof_decl.add(name="message_request")
    streams = {"client_streaming": True, "server_streaming": True}
    names = {"input_type": f".{version}.{_REQUEST}", "output_type": f".{version}.{_RESPONSE}"}
    file.service.add(name="ServerReflection").method.add(name="ServerReflectionInfo", **names, **streams)
    return file
