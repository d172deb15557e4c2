"""An engine harness for each test. The ledger must verify at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.unit.engine.harness import EngineHarness
from tompion.operations.schedules import crud
from tompion.operations.verify.schedule import verify


@pytest.fixture
def harness() -> Iterator[EngineHarness]:
    engine_harness = EngineHarness()
    asyncio.set_event_loop(engine_harness.loop)
    yield engine_harness
    for name in engine_harness.call(crud.list_schedules).items:
        assert engine_harness.call(verify, name.schedule_id).ok
    engine_harness.store.close()
    engine_harness.loop.close()
    asyncio.set_event_loop(None)
