"""gRPC reflection: which services there are and what their messages look like, for tools that do not know them.

The messages of reflection itself are so few that they are written down here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from foliot.api.temporal.system import OPERATOR_SERVICE, WORKFLOW_SERVICE

VERSIONS = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
METHODS = frozenset(f"/{version}.ServerReflection/ServerReflectionInfo" for version in VERSIONS)
NOT_FOUND, INVALID_ARGUMENT, UNIMPLEMENTED = 5, 3, 12
_TEXT, _BYTES, _INT = (
    FieldDescriptorProto.TYPE_STRING,
    FieldDescriptorProto.TYPE_BYTES,
    FieldDescriptorProto.TYPE_INT32,
)
_PACKAGE = "foliot.reflection"
_SHAPES: dict[str, list[tuple[str, int, int | str, bool]]] = {
    "Request": [
        ("host", 1, _TEXT, False),
        ("file_by_filename", 3, _TEXT, False),
        ("file_containing_symbol", 4, _TEXT, False),
        ("list_services", 7, _TEXT, False),
    ],
    "Files": [("file_descriptor_proto", 1, _BYTES, True)],
    "Service": [("name", 1, _TEXT, False)],
    "Services": [("service", 1, "Service", True)],
    "Error": [("error_code", 1, _INT, False), ("error_message", 2, _TEXT, False)],
    "Response": [
        ("valid_host", 1, _TEXT, False),
        ("original_request", 2, "Request", False),
        ("file_descriptor_response", 4, "Files", False),
        ("list_services_response", 6, "Services", False),
        ("error_response", 7, "Error", False),
    ],
}
"""Each message: the names, numbers and types of its fields, and which of them repeat."""


def reflected(body: bytes) -> bytes:
    """Answer one question about the services."""
    request, response = message("Request"), message("Response")
    try:
        request.ParseFromString(body)
    except DecodeError:
        return _error(response, INVALID_ARGUMENT, "this is no request")
    response.original_request.CopyFrom(request)
    if request.HasField("list_services"):
        for name in (WORKFLOW_SERVICE, OPERATOR_SERVICE, *(f"{each}.ServerReflection" for each in VERSIONS)):
            response.list_services_response.service.add(name=name)
        return bytes(response.SerializeToString())
    for field in ("file_by_filename", "file_containing_symbol"):
        if request.HasField(field):
            return _files(response, field, getattr(request, field))
    return _error(response, UNIMPLEMENTED, "extensions are not looked for: there are none")


def _files(response: Any, field: str, wanted: str) -> bytes:
    from temporalio.api.operatorservice.v1 import service_pb2 as operator_service  # noqa: F401 - known when imported
    from temporalio.api.workflowservice.v1 import service_pb2 as workflow_service  # noqa: F401 - known when imported

    pool = Default()
    try:
        found = pool.FindFileByName(wanted) if field == "file_by_filename" else pool.FindFileContainingSymbol(wanted)
    except KeyError:
        return _error(response, NOT_FOUND, f"there is no {wanted}")
    files = _with_dependencies(found, {})
    response.file_descriptor_response.file_descriptor_proto.extend(each.serialized_pb for each in files.values())
    return bytes(response.SerializeToString())


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
    return _classes()[name]()


@cache
def _classes() -> dict[str, type[Message]]:
    file = FileDescriptorProto(name="foliot/reflection.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _SHAPES.items():
        shape = file.message_type.add(name=name)
        for field_name, number, kind, repeated in fields:
            added = shape.field.add(name=field_name, number=number)
            added.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
            if isinstance(kind, str):
                added.type = FieldDescriptorProto.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
            else:
                added.type = kind  # type: ignore[assignment]  # one of the three above
            if name == "Request" and number > 1:  # which of the questions is asked, also if it is empty
                added.oneof_index = 0
        if name == "Request":
            shape.oneof_decl.add(name="message_request")
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _SHAPES}
