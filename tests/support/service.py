"""A service in a thread of its own, on a store of the test, and clients for it."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from typing import Any

from tests.support.http import PromptServer
from tompion import AsyncTompion
from tompion.bootstrap.security import server_config
from tompion.bootstrap.service import build_service
from tompion.bootstrap.targets import TargetChecker
from tompion.client import AsyncClient
from tompion.config.loader import load
from tompion.config.schema import Config
from tompion.config.settings import Settings
from tompion.contract.stubs import OperationStub
from tompion.contract.sync_methods import SyncMethods
from tompion.operations.runner import OperationRunner
from tompion.runtime.clock import Clock
from tompion.store.base import Store

SECONDS = 120


class Served:
    """Serves an operation runner on a free port, in a thread."""

    def __init__(
        self,
        runner: OperationRunner,
        config: Config | None = None,
        clock: Clock | None = None,
        problems: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        config = config or load({})
        self._listening = socket.socket(proto=socket.IPPROTO_TCP)  # otherwise small answers wait for an acknowledgement
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        uvicorn_config = server_config(build_service(runner, config, clock=clock, problems=problems), config)
        uvicorn_config.lifespan = "off"
        self._server = PromptServer(uvicorn_config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()
        scheme = "https" if config.tls_cert else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._server.stop()
        self._thread.join(SECONDS)
        self._listening.close()


@contextmanager
def serve_runner(runner: OperationRunner) -> Iterator[str]:
    """Serve an operation runner on a free port, and yield the address."""
    served = Served(runner)
    try:
        yield served.url
    finally:
        served.close()


def runner_of(store: Store, settings: Settings | None = None) -> OperationRunner:
    checker = TargetChecker({}, dict, frozenset())
    return OperationRunner(store, settings or Settings(), check_target=checker)


@dataclass
class Response:
    """A response of a service."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Http:
    """Plain requests, as curl sends them."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        host, port = url.partition("://")[2].split(":")
        if tls is None:
            self._connection = HTTPConnection(host, int(port), timeout=SECONDS)
        else:
            self._connection = HTTPSConnection(host, int(port), timeout=SECONDS, context=tls)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        text = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if text is not None:
            named.setdefault("Content-Type", "application/json")
        named = {name: value for name, value in named.items() if value or name != "Content-Type"}
        self._connection.request(method, path, text, named)
        response = self._connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, fields, response.read())

    def close(self) -> None:
        self._connection.close()


class Blocking(SyncMethods):
    """The asynchronous client with synchronous methods."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(url, tls=tls)

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return self._runner.run(self._client._run_operation(operation, args, kwargs, writes=writes))

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


class BlockingTompion(SyncMethods):
    """``AsyncTompion`` on a store, with synchronous methods."""

    def __init__(self, store: str) -> None:
        self._runner = asyncio.Runner()
        self._tompion = AsyncTompion(store, engine=False)
        self._runner.run(self._tompion.open())

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool) -> Any:
        return self._runner.run(self._tompion._run_operation(operation, args, kwargs, writes=writes))

    def close(self) -> None:
        self._runner.run(self._tompion.close())
        self._runner.close()


class Direct(SyncMethods):
    """An operation runner called without an API. It gives the expected result of every API."""

    def __init__(self, runner: OperationRunner) -> None:
        self._runner = runner

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool = True) -> Any:
        sent = self._runner.send(
            lambda session: operation(session, *args, **kwargs), namespace="default", actor="local", writes=writes
        )
        return sent.result(SECONDS)
