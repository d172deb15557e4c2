"""Example responses of the OpenAPI document: recorded results of the scenarios."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.api.scenarios import SCENARIOS
from tests.support.operations import BEGIN
from tests.support.service import Direct, runner_of
from tompion.contract.json import encode
from tompion.errors import TompionError
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

MAX_ITEMS = 2
"""Longer lists are truncated."""


def example_responses() -> str:
    """Return the first useful result of each operation as a JSON document."""
    responses: dict[str, Any] = {}
    for scenario in SCENARIOS.values():
        store = SqliteStore(clock=ManualClock(BEGIN))
        direct = Direct(runner_of(store))
        for name, args, kwargs in scenario:
            try:
                response = truncate(encode(getattr(direct, name)(*args, **kwargs)))
            except TompionError:
                continue
            if is_useful(response):
                responses.setdefault(name, response)
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
