"""Sequences of REST requests that use earlier responses, drawn from the OpenAPI document.

A request that stands alone mostly names what is not there.  Here schemathesis follows links, which it reads from the
description: after a PUT of a schedule come requests that pause, trigger, patch or delete it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.checks import not_a_server_error
from schemathesis.generation.stateful.state_machine import APIStateMachine
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.operations import BEGIN
from tests.support.service import runner_of, serve_runner
from tompion.store.sqlite.driver import SqliteStore
from tompion.testing.clock import ManualClock

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs/reference/openapi.json").read_text(encoding="utf-8"))
ENDLESS = "/api/v1/events"
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
)
STEPS = 12
PATIENCE_S = 300.0
"""How long an answer may take: that is not what is looked for, and the machine may be busy with other searches."""
AT_A_TIME = 25


def converse(seed: int, seconds: float, most: int | None = None) -> Counter[str]:
    """Run sequences for a time or a number. Return counts of requests, statuses and links between requests."""
    counts: Counter[str] = Counter()
    machine = _machine(counts)
    until, number = time.monotonic() + seconds, 0
    at_a_time = min(AT_A_TIME, most or AT_A_TIME)
    while time.monotonic() < until and (most is None or number * at_a_time < most):
        try:
            seeded(f"{seed}/{number}")(machine).run(settings=_settings(at_a_time))
        except FlakyStrategyDefinition:  # an answer held something random, such as a key, which a request repeated
            counts["unrepeatable"] += 1
        number += 1
    return counts


def _settings(conversations: int) -> settings:
    return settings(
        max_examples=conversations,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=False,  # else the seed is ignored
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def _machine(counts: Counter[str]) -> type[APIStateMachine]:
    base = schemathesis.openapi.from_dict(DOCUMENT).exclude(path=ENDLESS).as_state_machine()

    class Conversation(base):  # type: ignore[misc, valid-type]  # a class that the description makes
        """One conversation, with a service of its own."""

        def setup(self) -> None:
            self.open = ExitStack()
            store = SqliteStore(clock=ManualClock(BEGIN))
            self.open.callback(store.close)
            self.url = self.open.enter_context(serve_runner(runner_of(store)))
            counts["conversations"] += 1

        def teardown(self) -> None:
            super().teardown()
            self.open.close()

        def before_call(self, case: Any) -> None:
            case.headers.pop("Idempotency-Key", None)  # one that was used would be all that is looked at
            if isinstance(case.body, dict) and type(case.body.get("wait_ms")) is int:
                case.body["wait_ms"] = min(case.body["wait_ms"], 1)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"base_url": self.url, "timeout": PATIENCE_S}

        def step(self, input: Any) -> Any:  # noqa: A002 - as schemathesis calls it
            counts["linked" if input.transition is not None else "alone"] += 1
            output = super().step(input)
            counts[f"status {output.response.status_code}"] += 1
            counts[f"{input.case.method} {input.case.path}"] += 1
            return output

        def validate_response(self, response: Any, case: Any, *_args: Any, **_fields: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    return Conversation
