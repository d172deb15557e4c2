"""Examples of answers, for the description of the API: what operations really answer, in the stories of the doors."""

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

ITEMS = 2
"""How much of a list is shown."""


def answers() -> str:
    """The first answer of each operation that says something, as a JSON document."""
    found: dict[str, Any] = {}
    for story in SCENARIOS.values():
        store = SqliteStore(clock=ManualClock(BEGIN))
        direct = Direct(runner_of(store))
        for name, args, given in story:
            try:
                answer = shortened(encode(getattr(direct, name)(*args, **given)))
            except TompionError:
                continue
            if says_something(answer):
                found.setdefault(name, answer)
        store.close()
    return json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n"


def shortened(answer: Any) -> Any:
    """An answer whose lists are short."""
    if isinstance(answer, list):
        return [shortened(each) for each in answer[:ITEMS]]
    return {name: shortened(each) for name, each in answer.items()} if isinstance(answer, dict) else answer


def says_something(answer: Any) -> bool:
    """Whether an answer shows what answers look like."""
    return answer is not None and answer != [] and not (isinstance(answer, dict) and answer.get("items") == [])
