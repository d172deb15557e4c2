"""Copying the schedules of a Temporal cluster: each as it is described there, and whether it ticks the same here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from temporalio.api.schedule.v1 import Schedule as ScheduleMessage
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    ListScheduleMatchingTimesRequest,
    ListSchedulesRequest,
)
from temporalio.service import ConnectConfig, RPCError, ServiceClient, TLSConfig

from foliot.api.temporal.schedules import given_of
from foliot.api.temporal.wire import instant
from foliot.errors import FoliotError, StoreUnavailable
from foliot.model.moved import Moved
from foliot.operations import bundled
from foliot.operations.attributes import search_attribute_types
from foliot.operations.bundled import Wishes
from foliot.operations.desk import Desk
from foliot.operations.dossier import matching_times
from foliot.operations.session import Session

T = TypeVar("T")
AHEAD_MS = 366 * 86_400_000
COMPARED = 1_000


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster whose schedules are copied."""

    address: str
    namespace: str
    api_key: str | None = None
    tls: bool | TLSConfig = False


@dataclass(frozen=True, slots=True)
class Mover:
    """Copies schedules to a namespace of a desk: paused, or as shadows that record what they would start."""

    desk: Desk
    source: Source
    namespace: str
    shadow: bool

    async def move(self) -> AsyncIterator[Moved]:
        """Copy every schedule, and tell of each."""
        try:
            config = ConnectConfig(self.source.address, api_key=self.source.api_key, tls=self.source.tls)
            service = (await ServiceClient.connect(config)).workflow_service
            name = self.source.namespace
            about = await service.describe_namespace(DescribeNamespaceRequest(namespace=name))
            page = b""
            while True:
                request = ListSchedulesRequest(namespace=name, next_page_token=page, maximum_page_size=100)
                found = await service.list_schedules(request, retry=True)
                for entry in found.schedules:
                    yield await self._one(service, entry.schedule_id, about.namespace_info.id)
                page = found.next_page_token
                if not page:
                    return
        except (RPCError, RuntimeError) as error:
            raise StoreUnavailable(f"Temporal at {self.source.address} does not answer: {error}") from None

    async def _one(self, service: Any, schedule_id: str, namespace_id: str) -> Moved:
        asked = DescribeScheduleRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        known = await service.describe_schedule(asked, retry=True)
        try:
            now_ms = await self._send(lambda session: self._create(session, schedule_id, known, namespace_id))
        except FoliotError as error:
            return Moved(schedule_id, False, 0, (f"not copied: {error}",))
        here = await self._send(lambda session: matching_times(session, schedule_id, now_ms, now_ms + AHEAD_MS))
        there = await self._times(service, schedule_id, now_ms)
        same = next((place for place, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]), None)
        differs = _differences(known, shadow=self.shadow)
        if same is not None:
            first = min(here[same], there[same])
            differs.append(f"times: from {first.isoformat()} on they differ, as after a change of the clocks")
        return Moved(schedule_id, True, min(len(here), len(there)) if same is None else same, tuple(differs))

    def _create(self, session: Session, schedule_id: str, known: DescribeScheduleResponse, namespace_id: str) -> int:
        schedule = ScheduleMessage()
        schedule.CopyFrom(known.schedule)
        schedule.state.paused = known.schedule.state.paused or not self.shadow
        registered = search_attribute_types(session)
        given, document = given_of(
            schedule, known.memo, known.search_attributes, f"{namespace_id}-{schedule_id}", registered
        )
        given["shadow"] = self.shadow
        bundled.create_bundle(session, schedule_id, document=document, given=given, wishes=Wishes())
        return session.now_ms

    async def _times(self, service: Any, schedule_id: str, now_ms: int) -> list[Any]:
        request = ListScheduleMatchingTimesRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        request.start_time.FromMilliseconds(now_ms)
        request.end_time.FromMilliseconds(now_ms + AHEAD_MS)
        found = await service.list_schedule_matching_times(request, retry=True)
        return [instant(moment.ToMilliseconds()) for moment in found.start_time[:COMPARED]]

    async def _send(self, operation: Callable[[Session], T]) -> T:
        sent = self.desk.send(operation, namespace=self.namespace, actor="import temporal", writes=True)
        return await asyncio.wrap_future(sent)


def _differences(known: DescribeScheduleResponse, *, shadow: bool) -> list[str]:
    """What is not the same here as it was there, and why."""
    found = []
    if not known.schedule.state.paused:
        found.append("state: it is a shadow here, and starts nothing" if shadow else "state: it is paused here")
    if known.schedule.policies.keep_original_workflow_id:
        found.append("keep_original_workflow_id: it is obeyed here")
    waiting = known.info.buffer_size + len(known.info.running_workflows)
    if waiting:
        found.append(f"runs: {waiting} are running or waiting there, and end there")
    return found
