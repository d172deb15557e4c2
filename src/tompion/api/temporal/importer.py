"""Copying the schedules of a Temporal cluster: each as it is described there, and whether it ticks the same here.

Where to does not matter: everything is done with the operations that a store and a service both have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from temporalio.api.schedule.v1 import Schedule as ScheduleMessage
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeScheduleRequest,
    DescribeScheduleResponse,
    ListScheduleMatchingTimesRequest,
    ListSchedulesRequest,
)
from temporalio.service import ConnectConfig, RPCError, ServiceClient, TLSConfig

from tompion.api.temporal.convert.values import instant
from tompion.api.temporal.schedule_service import given_of
from tompion.errors import AlreadyExists, InvalidInput, NotFound, StoreUnavailable, TompionError
from tompion.model.import_result import ImportResult
from tompion.model.schedule import ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.compat.temporal_writes import WORKFLOW_PREFIX, in_ranges_or_empty

AHEAD = timedelta(days=366)
COMPARED = 1_000
GRACE_S = 30
CALL_TIMEOUT = timedelta(seconds=20)
"""How long one call may take: a server searches for the times of some schedules until nobody waits any more."""
SHOWN = 3
"""How many times are named that only one side has."""
NEAR = timedelta(days=2)
WHY_CLOCKS = "times: clocks change there; its server loses and invents times then, here its documented rule holds"


class ImportComparison(NamedTuple):
    """How many times both sides have, of how many, and what to say of the others."""

    same: int
    most: int
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemporalCluster:
    """A cluster whose schedules are copied; if nothing is said of TLS, an API key means it."""

    address: str
    namespace: str
    api_key: str | None = None
    tls: bool | TLSConfig | None = None


def temporal_cluster(said: Mapping[str, Any]) -> TemporalCluster:
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
    return TemporalCluster(said["address"], said["namespace"], said.get("api_key"), tls)


@dataclass(frozen=True, slots=True)
class ScheduleImporter:
    """Copies schedules to a store or a service: paused, or as shadows that record what they would start.

    ``home`` has the operations as asynchronous methods; with ``dry_run`` nothing is written there.
    """

    home: Any
    source: TemporalCluster
    shadow: bool
    dry_run: bool = False

    async def move(self, now_s: int) -> AsyncIterator[ImportResult]:
        """Copy every schedule, and tell of each; the times that are compared are those from now on."""
        now = instant(now_s * 1000)
        try:
            config = ConnectConfig(self.source.address, api_key=self.source.api_key, tls=self.source.tls)
            service = (await ServiceClient.connect(config)).workflow_service
            name = self.source.namespace
            about = await service.describe_namespace(DescribeNamespaceRequest(namespace=name), timeout=CALL_TIMEOUT)
            page = b""
            while True:
                request = ListSchedulesRequest(namespace=name, next_page_token=page, maximum_page_size=100)
                found = await service.list_schedules(request, retry=True, timeout=CALL_TIMEOUT)
                for entry in found.schedules:
                    yield await self._one(service, entry.schedule_id, about.namespace_info.id, now)
                page = found.next_page_token
                if not page:
                    return
        except (RPCError, RuntimeError) as error:
            raise StoreUnavailable(f"Temporal at {self.source.address} does not answer: {error}") from None

    async def _one(self, service: Any, schedule_id: str, namespace_id: str, now: datetime) -> ImportResult:
        """Copy a schedule; whatever keeps one from being copied is said, and is not the end of the others."""
        asked = DescribeScheduleRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        try:
            known = await service.describe_schedule(asked, retry=True, timeout=CALL_TIMEOUT)
            given, document = self._translated(schedule_id, known, namespace_id)
            await self._check_absent(schedule_id)
            coming = await self._coming(schedule_id, given["spec"], now)
            if not coming and given["spec"] != SpecDocument():
                return ImportResult(schedule_id, False, True, 0, 0, (f"not copied: {_silence(given['spec'], now)}",))
            compared = await self._compared(service, schedule_id, given["spec"], coming, now)
            if not self.dry_run:
                await self._create(schedule_id, given, document)
        except TompionError as error:
            return ImportResult(schedule_id, False, False, 0, 0, (f"not copied: {error}",))
        except RPCError as error:
            return ImportResult(schedule_id, False, False, 0, 0, (f"not copied: Temporal cannot describe it: {error}",))
        differs = (*_differences(known, shadow=self.shadow), *compared.differs)
        return ImportResult(schedule_id, not self.dry_run, True, compared.same, compared.most, differs)

    async def _compared(
        self, service: Any, schedule_id: str, spec: SpecDocument, coming: list[datetime], now: datetime
    ) -> ImportComparison:
        """Compare the times of a year, before anything is written."""
        here = [moment for moment in coming if moment <= now + AHEAD]
        try:
            there = await self._times_there(service, schedule_id, now)
        except RPCError as error:
            return ImportComparison(0, 0, (f"times: not compared, Temporal cannot tell its own: {error}",))
        last = min(times[-1] if len(times) >= COMPARED else now + AHEAD for times in (here, there))
        here, there = ([moment for moment in times if moment <= last] for times in (here, there))
        same = (Counter(here) & Counter(there)).total()
        ours, theirs = (sorted((Counter(each) - Counter(other)).elements()) for each, other in _both(here, there))
        said = [
            f"times: only {where} {', '.join(each.isoformat() for each in times[:SHOWN])}"
            + (f" and {len(times) - SHOWN} more" if len(times) > SHOWN else "")
            for where, times in (("here", ours), ("there", theirs))
            if times
        ]
        if said and await self._clocks_change(schedule_id, spec, min(ours + theirs)):
            said.append(WHY_CLOCKS)
        return ImportComparison(same, max(len(here), len(there)), tuple(said))

    async def _clocks_change(self, schedule_id: str, spec: SpecDocument, moment: datetime) -> bool:
        """Return whether the clocks of a schedule change about a moment."""
        found = await self.home.preview(schedule_id, spec=spec, after=moment - NEAR, count=1)
        return any(change.at <= moment + NEAR for change in found.clock_changes)

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
        if found.state is not ScheduleStatus.CLOSED:
            raise AlreadyExists(f"schedule {schedule_id!r} exists already")

    async def _create(self, schedule_id: str, given: dict[str, Any], document: dict[str, Any]) -> None:
        made = await self.home.put_workflow(f"{WORKFLOW_PREFIX}{schedule_id}", document)
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
        found = await service.list_schedule_matching_times(request, timeout=CALL_TIMEOUT)
        return [instant(moment.ToMilliseconds()) for moment in found.start_time[:COMPARED]]


def _both(here: list[datetime], there: list[datetime]) -> tuple[tuple[list[datetime], list[datetime]], ...]:
    return (here, there), (there, here)


def _silence(spec: SpecDocument, now: datetime) -> str:
    """Why a schedule has no time to come."""
    over = spec.end_at is not None and datetime.fromisoformat(spec.end_at) <= now
    return "its last time is over" if over else "it has no time to come: all are excluded, or none is left"


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
