"""Dispatches gRPC calls: authenticates the caller, checks its role and runs the handler.

A dispatcher does not know connections. It gets the name of a call, its body and the caller's credentials, and returns
the body of the response or raises :class:`~tompion.api.temporal.errors.GrpcError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import NAMESPACE_URL, uuid5

from google.protobuf.message import DecodeError, Message

from tompion.api.auth.authenticator import Authenticator, Credentials, OpenAuthenticator
from tompion.api.auth.principal import ANONYMOUS, Principal, authorise
from tompion.api.rate_limit import NamespaceRateLimiter
from tompion.api.temporal.errors import Code, GrpcError, grpc_error_of, unknown_namespace
from tompion.contract.roles import Role
from tompion.errors import Forbidden, InvalidField, NotFound, TompionError, Unauthenticated
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner

T = TypeVar("T")
INTERNAL_ERROR = "internal error; see the server log"
NO_CREDENTIALS = Credentials()


@dataclass(frozen=True)
class ServiceDeps:
    """The dependencies of the handlers.

    ``namespaces`` has the id of each namespace. ``on_internal_error`` receives unexpected errors.
    """

    runner: OperationRunner
    version: str
    namespaces: Mapping[str, str]
    authenticator: Authenticator = field(default_factory=OpenAuthenticator)
    read_only: bool = False
    on_internal_error: Callable[[BaseException], None] = lambda _: None
    namespace_limits: NamespaceRateLimiter = field(default_factory=lambda: NamespaceRateLimiter(0))


class CallContext(NamedTuple):
    """The context of an authorised call."""

    deps: ServiceDeps
    caller: Principal
    namespace: str

    @property
    def namespace_id(self) -> str:
        """Return the id of the namespace."""
        return self.deps.namespaces[self.namespace]

    async def run(self, operation: Callable[[OperationContext], T], *, writes: bool = False) -> T:
        """Run an operation and return its result."""
        future = self.deps.runner.send(operation, namespace=self.namespace, actor=self.caller.actor, writes=writes)
        return await asyncio.wrap_future(future)


Handler = Callable[[CallContext, Any], Awaitable[Message]]


class Method(NamedTuple):
    """A gRPC method: the type of its request, the role that it needs, and its handler."""

    request_type: type[Message]
    role: Role
    handler: Handler
    writes: bool = False


def read_namespaces(texts: Sequence[str]) -> dict[str, str]:
    """Return the ids of the configured namespaces: ``default``, or ``default=<id>``."""
    ids: dict[str, str] = {}
    for text in texts:
        name, _, namespace_id = text.partition("=")
        if not name or name in ids or "/" in name:
            raise InvalidField("temporal_namespaces", f"{text!r}: expected a name, or name=id, each name once")
        ids[name] = namespace_id or str(uuid5(NAMESPACE_URL, f"tompion:{name}"))
    return ids


class Dispatcher:
    """Runs the handlers of gRPC calls. ``methods`` has the methods by their full names."""

    def __init__(self, deps: ServiceDeps, methods: Mapping[str, Method]) -> None:
        self._deps = deps
        self._methods = methods

    async def dispatch(self, name: str, body: bytes, credentials: Credentials = NO_CREDENTIALS) -> bytes:
        """Return the response of a call. Raises :class:`~tompion.api.temporal.errors.GrpcError`."""
        method = self._methods.get(name)
        if method is None:
            raise GrpcError(Code.UNIMPLEMENTED, f"{name} is not implemented; only schedule calls are")
        schedule_id = ""
        try:
            is_public = method.role is Role.PUBLIC
            caller = ANONYMOUS if is_public else await self._deps.authenticator.authenticate(credentials)
            request = _parse(method.request_type, body)
            schedule_id = str(getattr(request, "schedule_id", ""))
            context = CallContext(self._deps, caller, self._namespace(request, caller, method))
            return (await method.handler(context, request)).SerializeToString()
        except TompionError as error:
            raise grpc_error_of(error, schedule_id) from None
        except (GrpcError, asyncio.CancelledError):
            raise
        except Exception as error:
            self._deps.on_internal_error(error)
            raise GrpcError(Code.INTERNAL, INTERNAL_ERROR) from error

    def _namespace(self, request: Message, caller: Principal, method: Method) -> str:
        """Return the namespace of a request. Raises if it does not exist or the caller lacks the role in it."""
        if "namespace" not in request.DESCRIPTOR.fields_by_name or method.role is Role.PUBLIC:
            if method.role is not Role.PUBLIC and not caller.roles:
                raise Unauthenticated("the caller has no role in any namespace")
            return caller.home
        name = request.namespace  # type: ignore[attr-defined]  # the descriptor has the field
        if not name:
            raise InvalidField("namespace", "not set on the request")
        if name not in self._deps.namespaces:
            raise unknown_namespace(name)
        try:
            authorise(caller, name, method.role)
        except NotFound:
            raise unknown_namespace(name) from None
        self._deps.namespace_limits.admit(name)
        if method.writes and self._deps.read_only:
            raise Forbidden("this service is read-only")
        return str(name)


def _parse(request_type: type[Message], body: bytes) -> Any:
    try:
        return request_type.FromString(body)
    except (DecodeError, ValueError):
        raise InvalidField("request", f"not a valid {request_type.DESCRIPTOR.name}") from None


def bind(operation: Callable[..., T], *args: Any, **kwargs: Any) -> Callable[[OperationContext], T]:
    """Return an operation with all arguments but its context bound."""
    return partial(_call, operation, args, kwargs)


def _call(
    operation: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any], context: OperationContext
) -> T:
    return operation(context, *args, **kwargs)
