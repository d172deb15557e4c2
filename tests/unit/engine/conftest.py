"""A world for each test, whose ledger must be whole at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.unit.engine.kit import World
from tompion.operations.schedules import crud
from tompion.operations.verify.schedule import verify


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    asyncio.set_event_loop(made.loop)
    yield made
    for name in made.ask(crud.list_schedules).items:
        assert made.ask(verify, name.schedule_id).ok
    made.store.close()
    made.loop.close()
    asyncio.set_event_loop(None)
