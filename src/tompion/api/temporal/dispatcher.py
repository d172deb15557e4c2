"""The calls: which there are, who may make them, and how each becomes an operation.

A door knows nothing of connections: it is given the name of a call, its bytes, what was said beside it and whose
certificate stands behind it, and answers with bytes, or raises :class:`~tompion.api.temporal.errors.GrpcError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import NAMESPACE_URL, uuid5

from google.protobuf.message import DecodeError, Message
from starlette.requests import Request

from tompion.api.auth.authenticator import PEER, Authenticator, OpenAuthenticator
from tompion.api.auth.principal import ANONYMOUS, Principal, authorise
from tompion.api.rate_limit import NamespaceRateLimiter
from tompion.api.temporal.errors import Code, GrpcError, refusal_of, unknown_namespace
from tompion.contract.roles import Role
from tompion.errors import Forbidden, InvalidField, NotFound, TompionError, Unauthenticated
from tompion.operations.context import OperationContext
from tompion.operations.runner import OperationRunner

T = TypeVar("T")
Metadata = Sequence[tuple[str, str | bytes]]
MISTAKE = "the service has made a mistake; its log says more"


@dataclass(frozen=True)
class ServiceDeps:
    """What a door opens on: where operations are sent, who is let in, and which namespaces there are, with their ids.

    ``mistakes`` is told of what should never happen; ``neighbours`` says how often a namespace may be asked about.
    """

    runner: OperationRunner
    version: str
    namespaces: Mapping[str, str]
    gate: Authenticator = field(default_factory=OpenAuthenticator)
    read_only: bool = False
    mistakes: Callable[[BaseException], None] = lambda _: None
    neighbours: NamespaceRateLimiter = field(default_factory=lambda: NamespaceRateLimiter(0))


class CallContext(NamedTuple):
    """A call that its caller may make."""

    house: ServiceDeps
    caller: Principal
    namespace: str

    @property
    def namespace_id(self) -> str:
        """Return the id of its namespace."""
        return self.house.namespaces[self.namespace]

    async def send(self, operation: Callable[[OperationContext], T], *, writes: bool = False) -> T:
        """Have an operation done."""
        sent = self.house.runner.send(operation, namespace=self.namespace, actor=self.caller.actor, writes=writes)
        return await asyncio.wrap_future(sent)


Handler = Callable[[CallContext, Any], Awaitable[Message]]


class Method(NamedTuple):
    """A call: what it is given, the least role that may make it, and what it does."""

    kind: type[Message]
    role: Role
    handler: Handler
    writes: bool = False


def read_namespaces(texts: Sequence[str]) -> dict[str, str]:
    """Return the namespaces that a configuration names, each with its id: ``default``, or ``default=<id>``."""
    found: dict[str, str] = {}
    for text in texts:
        name, _, given = text.partition("=")
        if not name or name in found or "/" in name:
            raise InvalidField("temporal_namespaces", f"{text!r}: expected a name, or name=id, each name once")
        found[name] = given or str(uuid5(NAMESPACE_URL, f"tompion:{name}"))
    return found


class Dispatcher:
    """Answers calls."""

    def __init__(self, house: ServiceDeps, methods: Mapping[str, Method]) -> None:
        """Take what it opens on, and the calls by their full names."""
        self._house = house
        self._methods = methods

    async def answer(
        self, name: str, body: bytes, metadata: Metadata = (), peer: Mapping[str, Any] | None = None
    ) -> bytes:
        """Answer a call.  Raises :class:`~tompion.api.temporal.errors.GrpcError`."""
        method = self._methods.get(name)
        if method is None:
            raise GrpcError(Code.UNIMPLEMENTED, f"{name} is not served here: only the calls about schedules are")
        schedule_id = ""
        try:
            caller = ANONYMOUS if method.role is Role.PUBLIC else await self._caller(metadata, peer)
            request = _read(method.kind, body)
            schedule_id = str(getattr(request, "schedule_id", ""))
            asked = CallContext(self._house, caller, self._namespace(request, caller, method))
            return (await method.handler(asked, request)).SerializeToString()
        except TompionError as error:
            raise refusal_of(error, schedule_id) from None
        except (GrpcError, asyncio.CancelledError):
            raise
        except Exception as error:
            self._house.mistakes(error)
            raise GrpcError(Code.INTERNAL, MISTAKE) from error

    async def _caller(self, metadata: Metadata, peer: Mapping[str, Any] | None) -> Principal:
        shown = [value for key, value in metadata if key == "authorization"]
        headers = [(b"authorization", value if isinstance(value, bytes) else value.encode()) for value in shown]
        return await self._house.gate.caller(Request({"type": "http", "headers": headers, PEER: peer}))

    def _namespace(self, request: Message, caller: Principal, method: Method) -> str:
        """Return the namespace of a request, if it is there and the caller may do that in it."""
        if "namespace" not in request.DESCRIPTOR.fields_by_name or method.role is Role.PUBLIC:
            if method.role is not Role.PUBLIC and not caller.roles:
                raise Unauthenticated("whoever asks has no role in any namespace")
            return caller.home
        name = request.namespace  # type: ignore[attr-defined]  # the descriptor has said so
        if not name:
            raise InvalidField("namespace", "it is not set on the request")
        if name not in self._house.namespaces:
            raise unknown_namespace(name)
        try:
            authorise(caller, name, method.role)
        except NotFound:
            raise unknown_namespace(name) from None
        self._house.neighbours.admit(name)
        if method.writes and self._house.read_only:
            raise Forbidden("this service is read-only: nothing can be changed through it")
        return str(name)


def _read(kind: type[Message], body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except (DecodeError, ValueError):
        raise InvalidField("request", f"this is no {kind.DESCRIPTOR.name}") from None


def bound(operation: Callable[..., T], *args: Any, **given: Any) -> Callable[[OperationContext], T]:
    """Return an operation with everything but its session bound."""
    return partial(_called, operation, args, given)


def _called(
    operation: Callable[..., T], args: tuple[Any, ...], given: Mapping[str, Any], session: OperationContext
) -> T:
    return operation(session, *args, **given)
