"""Copying the schedules of a Temporal cluster: each as it is described there, and whether it ticks the same here.

Where to does not matter: everything is done with the operations that a store and a service both have.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

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
from foliot.errors import AlreadyExists, FoliotError, InvalidInput, NotFound, StoreUnavailable
from foliot.model.moved import Moved
from foliot.model.schedule import ScheduleState
from foliot.model.spec import SpecDocument
from foliot.operations.bundled import OWN, in_ranges_or_empty

AHEAD = timedelta(days=366)
COMPARED = 1_000
GRACE_S = 30


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster whose schedules are copied; if nothing is said of TLS, an API key means it."""

    address: str
    namespace: str
    api_key: str | None = None
    tls: bool | TLSConfig | None = None


def source_of(said: Mapping[str, Any]) -> Source:
    """Return a cluster as the command line says it; certificates are files in PEM, and mean TLS."""
    named = {name: said.get(f"tls_{name}") for name in ("ca", "cert", "key")}
    try:
        read = {name: None if path is None else Path(path).read_bytes() for name, path in named.items()}
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}") from None
    if (read["cert"] is None) != (read["key"] is None):
        raise InvalidInput("--tls-cert and --tls-key: one needs the other")
    shown = TLSConfig(server_root_ca_cert=read["ca"], client_cert=read["cert"], client_private_key=read["key"])
    tls = shown if any(named.values()) else said.get("tls")
    return Source(said["address"], said["namespace"], said.get("api_key"), tls)


@dataclass(frozen=True, slots=True)
class Mover:
    """Copies schedules to a store or a service: paused, or as shadows that record what they would start.

    ``home`` has the operations as asynchronous methods; with ``dry_run`` nothing is written there.
    """

    home: Any
    source: Source
    shadow: bool
    dry_run: bool = False

    async def move(self, now_s: int) -> AsyncIterator[Moved]:
        """Copy every schedule, and tell of each; the times that are compared are those from now on."""
        now = instant(now_s * 1000)
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
                    yield await self._one(service, entry.schedule_id, about.namespace_info.id, now)
                page = found.next_page_token
                if not page:
                    return
        except (RPCError, RuntimeError) as error:
            raise StoreUnavailable(f"Temporal at {self.source.address} does not answer: {error}") from None

    async def _one(self, service: Any, schedule_id: str, namespace_id: str, now: datetime) -> Moved:
        asked = DescribeScheduleRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        known = await service.describe_schedule(asked, retry=True)
        try:
            given, document = self._translated(schedule_id, known, namespace_id)
            await self._check_absent(schedule_id)
            coming = await self._coming(schedule_id, given["spec"], now)
            if not coming and given["spec"] != SpecDocument():
                return Moved(schedule_id, False, True, 0, 0, ("not copied: its last time is over",))
            if not self.dry_run:
                await self._create(schedule_id, given, document)
        except FoliotError as error:
            return Moved(schedule_id, False, False, 0, 0, (f"not copied: {error}",))
        here = [moment for moment in coming if moment <= now + AHEAD]
        there = await self._times_there(service, schedule_id, now)
        same = _same(here, there)
        differs = [*_differences(known, shadow=self.shadow), *_other_times(here[same:], there[same:])]
        return Moved(schedule_id, not self.dry_run, True, same, max(len(here), len(there)), tuple(differs))

    def _translated(
        self, schedule_id: str, known: DescribeScheduleResponse, namespace_id: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of the schedule, and the document of what it starts, with the jitter that it has there."""
        schedule = ScheduleMessage()
        schedule.CopyFrom(known.schedule)
        if not self.shadow:
            schedule.state.paused = True
        given, document = given_of(schedule, known.memo, known.search_attributes, f"{namespace_id}-{schedule_id}", {})
        return {**given, "spec": in_ranges_or_empty(given["spec"]), "shadow": self.shadow}, document

    async def _check_absent(self, schedule_id: str) -> None:
        try:
            found = await self.home.get(schedule_id)
        except NotFound:
            return
        if found.state is not ScheduleState.CLOSED:
            raise AlreadyExists(f"schedule {schedule_id!r} exists already")

    async def _create(self, schedule_id: str, given: dict[str, Any], document: dict[str, Any]) -> None:
        made = await self.home.put_workflow(f"{OWN}{schedule_id}", document)
        action = {"workflow_id": made.workflow_id, "workflow_version": made.version}
        await self.home.create(schedule_id, **given, **action)

    async def _coming(self, schedule_id: str, spec: SpecDocument, now: datetime) -> list[datetime]:
        """Return the next times here, however far ahead."""
        if spec == SpecDocument():
            return []
        found = await self.home.preview(schedule_id, spec=spec, after=now, count=COMPARED)
        return [tick.fire_at for tick in found.ticks]

    async def _times_there(self, service: Any, schedule_id: str, now: datetime) -> list[datetime]:
        request = ListScheduleMatchingTimesRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        request.start_time.FromDatetime(now)
        request.end_time.FromDatetime(now + AHEAD)
        found = await service.list_schedule_matching_times(request, retry=True)
        return [instant(moment.ToMilliseconds()) for moment in found.start_time[:COMPARED]]


def _same(here: list[datetime], there: list[datetime]) -> int:
    """Return how many times are the same on both sides, before the first that is not."""
    pairs = enumerate(zip_longest(here, there))
    return next((place for place, (ours, theirs) in pairs if ours != theirs), len(here))


def _other_times(here: list[datetime], there: list[datetime]) -> list[str]:
    """What to say of the times after those that are the same."""
    if not here and not there:
        return []
    ours, theirs = ("no more" if not times else times[0].isoformat() for times in (here, there))
    why = "its server loses and invents times where clocks change; here its documented rule holds"
    return [f"times: the next here is {ours}, there {theirs}: {why}"]


def _differences(known: DescribeScheduleResponse, *, shadow: bool) -> list[str]:
    """What is not the same here as it was there, and why."""
    found = []
    policies, info = known.schedule.policies, known.info
    if not known.schedule.state.paused:
        found.append("state: it is a shadow here, and starts nothing" if shadow else "state: it is paused here")
    if policies.keep_original_workflow_id:
        found.append("keep_original_workflow_id: it is obeyed here")
    if policies.HasField("catchup_window") and policies.catchup_window.seconds < GRACE_S:
        found.append(f"catchup_window: a time that is at most {GRACE_S} s late still runs here (misfire_grace_ms)")
    waiting = info.buffer_size + len(info.running_workflows)
    if waiting:
        found.append(f"runs: {waiting} are running or waiting there, and end there")
    if info.action_count:
        found.append(
            f"last result: the first run here is not given what the last of {info.action_count} there has left"
        )
    return found
