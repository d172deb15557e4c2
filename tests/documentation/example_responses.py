"""Example responses of the OpenAPI document: recorded results of the scenarios."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any

from tests.conformance.api.scenarios import SCENARIOS
from tests.support.operations import BEGIN
from tests.support.service import Direct, runner_of
from tompion.contract.json import encode
from tompion.contract.stubs import OperationStub
from tompion.errors import TompionError
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

MAX_ITEMS = 2
"""Longer lists are truncated."""


class Recorder(Direct):
    """Calls operations, and has the name of the last one."""

    operation_name = ""

    def _run_operation(self, operation: OperationStub[..., Any], args: Any, kwargs: Any, *, writes: bool = True) -> Any:
        self.operation_name = operation.__name__
        return super()._run_operation(operation, args, kwargs, writes=writes)


def example_responses() -> str:
    """Return the first useful result of each operation as a JSON document."""
    responses: dict[str, Any] = {}
    for scenario in SCENARIOS.values():
        store = SqliteStore(clock=ManualClock(BEGIN))
        direct = Recorder(runner_of(store))
        for name, args, kwargs in scenario:
            try:
                response = truncate(encode(attrgetter(name)(direct)(*args, **kwargs)))
            except TompionError:
                continue
            if is_useful(response):
                responses.setdefault(direct.operation_name, response)
        store.close()
    return json.dumps(dict(sorted(responses.items())), indent=1, ensure_ascii=False) + "\n"


def truncate(response: Any) -> Any:
    """Return a response with short lists."""
    if isinstance(response, list):
        return [truncate(item) for item in response[:MAX_ITEMS]]
    return {name: truncate(value) for name, value in response.items()} if isinstance(response, dict) else response


def is_useful(response: Any) -> bool:
    """Return whether a response is not empty."""
    return response is not None and response != [] and not (isinstance(response, dict) and response.get("items") == [])
