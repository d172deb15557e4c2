"""Errors as gRPC statuses, with the details that Temporal's SDKs expect."""

from __future__ import annotations

from enum import IntEnum

from google.protobuf.message import Message
from temporalio.api.common.v1 import GrpcStatus
from temporalio.api.errordetails.v1 import (
    NamespaceNotFoundFailure,
    NotFoundFailure,
    PermissionDeniedFailure,
    WorkflowExecutionAlreadyStartedFailure,
)

from tompion.encoding.bounded_text import truncate
from tompion.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    ScheduleClosed,
    StaleToken,
    StoreUnavailable,
    TompionError,
    TooManyRequests,
    Unauthenticated,
)


class Code(IntEnum):
    """The gRPC status codes in use."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


CODES: dict[type[TompionError], Code] = {
    InvalidInput: Code.INVALID_ARGUMENT,
    LimitExceeded: Code.INVALID_ARGUMENT,
    TooManyRequests: Code.RESOURCE_EXHAUSTED,
    Unauthenticated: Code.UNAUTHENTICATED,
    Forbidden: Code.PERMISSION_DENIED,
    NotFound: Code.NOT_FOUND,
    ScheduleClosed: Code.NOT_FOUND,
    AlreadyExists: Code.ALREADY_EXISTS,
    Conflict: Code.FAILED_PRECONDITION,
    StoreUnavailable: Code.UNAVAILABLE,
    TompionError: Code.INTERNAL,
}
"""The status code of each branch of the error tree. The nearest ancestor decides."""
STALE = "mismatched conflict token"
MAX_MESSAGE_BYTES = 1_000
"""A message is sent in a header and again in the details. Clients allow 8 KiB of headers in all."""


class GrpcError(Exception):
    """An error status. ``details`` are messages for the SDK."""

    def __init__(self, code: Code, message: str, *details: Message) -> None:
        super().__init__(message)
        self.code = code
        self.message: str = truncate(message, MAX_MESSAGE_BYTES)
        self.details = details

    @property
    def status(self) -> bytes:
        """Return the status for ``grpc-status-details-bin``."""
        status = GrpcStatus(code=self.code, message=self.message)
        for detail in self.details:
            status.details.add().Pack(detail)
        return status.SerializeToString()


def grpc_error_of(error: TompionError, schedule_id: str = "") -> GrpcError:
    """Return the gRPC status of an error."""
    code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    message = f"{STALE}: {str(error).removeprefix('conflict_token: ')}" if isinstance(error, StaleToken) else str(error)
    details: list[Message] = []
    if code is Code.ALREADY_EXISTS and schedule_id:
        details.append(WorkflowExecutionAlreadyStartedFailure(start_request_id="", run_id=schedule_id))
    elif code is Code.NOT_FOUND:
        details.append(NotFoundFailure())
    elif code is Code.PERMISSION_DENIED:
        details.append(PermissionDeniedFailure(reason=truncate(message, MAX_MESSAGE_BYTES)))
    return GrpcError(code, message, *details)


def unknown_namespace(name: str) -> GrpcError:
    """Return the status for a namespace that does not exist, or that the caller has no role in."""
    name = truncate(name, MAX_MESSAGE_BYTES // 2)
    return GrpcError(Code.NOT_FOUND, f"Namespace {name} is not found.", NamespaceNotFoundFailure(namespace=name))
