"""Imports the schedules of a Temporal cluster, and compares their upcoming times on both sides.

The target is a store or a service: both have the operations that are used here.
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

from tompion.api.temporal.schedule_service import schedule_fields
from tompion.encoding.instant import datetime_ms
from tompion.errors import AlreadyExists, InvalidInput, NotFound, StoreUnavailable, TompionError
from tompion.model.import_result import ImportResult
from tompion.model.schedule import ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.compat.temporal_writes import WORKFLOW_PREFIX, in_ranges_or_empty

COMPARED_PERIOD = timedelta(days=366)
MAX_COMPARED_TIMES = 1_000
MISFIRE_GRACE_S = 30
CALL_TIMEOUT = timedelta(seconds=20)
"""The timeout of a call. For some schedules, a server would search for matching times without an end."""
MAX_NAMED_TIMES = 3
"""The report names at most this many times that only one side has."""
CLOCK_CHANGE_RANGE = timedelta(days=2)
CLOCK_CHANGE_REMARK = (
    "times: the clocks change then; Temporal's server loses and adds times, Tompion follows its documented rule"
)


class ImportComparison(NamedTuple):
    """The number of equal times, the number of compared times, and a description of the differences."""

    same: int
    compared: int
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemporalCluster:
    """The source of an import. If ``tls`` is ``None``, it is on when there is an API key."""

    address: str
    namespace: str
    api_key: str | None = None
    tls: bool | TLSConfig | None = None


def temporal_cluster(options: Mapping[str, Any]) -> TemporalCluster:
    """Return the cluster in the options of the command line. A PEM file among them turns TLS on."""
    paths = {name: options.get(f"tls_{name}") for name in ("ca", "cert", "key")}
    try:
        pem = {name: None if path is None else Path(path).read_bytes() for name, path in paths.items()}
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}") from None
    if (pem["cert"] is None) != (pem["key"] is None):
        raise InvalidInput("--tls-cert and --tls-key must be used together")
    tls = options.get("tls")
    if any(paths.values()):
        tls = TLSConfig(server_root_ca_cert=pem["ca"], client_cert=pem["cert"], client_private_key=pem["key"])
    return TemporalCluster(
        address=options["address"], namespace=options["namespace"], api_key=options.get("api_key"), tls=tls
    )


@dataclass(frozen=True, slots=True)
class ScheduleImporter:
    """Imports schedules, paused or as shadows that record the runs they would start.

    ``home`` is the target, an asynchronous app or client. With ``dry_run``, nothing is written.
    """

    home: Any
    source: TemporalCluster
    shadow: bool
    dry_run: bool = False

    async def import_all(self, now_s: int) -> AsyncIterator[ImportResult]:
        """Import every schedule and yield the result of each. Times are compared from now on."""
        now = datetime_ms(now_s * 1000)
        try:
            config = ConnectConfig(self.source.address, api_key=self.source.api_key, tls=self.source.tls)
            service = (await ServiceClient.connect(config)).workflow_service
            name = self.source.namespace
            namespace = await service.describe_namespace(DescribeNamespaceRequest(namespace=name), timeout=CALL_TIMEOUT)
            token = b""
            while True:
                request = ListSchedulesRequest(namespace=name, next_page_token=token, maximum_page_size=100)
                page = await service.list_schedules(request, retry=True, timeout=CALL_TIMEOUT)
                for entry in page.schedules:
                    yield await self._import_one(service, entry.schedule_id, namespace.namespace_info.id, now)
                token = page.next_page_token
                if not token:
                    return
        except (RPCError, RuntimeError) as error:
            raise StoreUnavailable(f"Temporal at {self.source.address} does not answer: {error}") from None

    async def _import_one(self, service: Any, schedule_id: str, namespace_id: str, now: datetime) -> ImportResult:
        """Import a schedule. An error becomes the result of this schedule and does not end the import."""
        request = DescribeScheduleRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        try:
            description = await service.describe_schedule(request, retry=True, timeout=CALL_TIMEOUT)
            fields, document = self._convert(schedule_id, description, namespace_id)
            await self._check_absent(schedule_id)
            spec = fields["spec"]
            times = await self._tompion_times(schedule_id, spec, now)
            if not times and spec != SpecDocument():
                return _not_imported(schedule_id, _no_times_reason(spec, now), possible=True)
            comparison = await self._compare(service, schedule_id, spec, times, now)
            if not self.dry_run:
                await self._create(schedule_id, fields, document)
        except TompionError as error:
            return _not_imported(schedule_id, str(error), possible=False)
        except RPCError as error:
            return _not_imported(schedule_id, f"Temporal cannot describe it: {error}", possible=False)
        return ImportResult(
            schedule_id=schedule_id,
            created=not self.dry_run,
            possible=True,
            same_times=comparison.same,
            compared_times=comparison.compared,
            differs=(*_differences(description, shadow=self.shadow), *comparison.differs),
        )

    async def _compare(
        self, service: Any, schedule_id: str, spec: SpecDocument, times: list[datetime], now: datetime
    ) -> ImportComparison:
        """Compare the times of a year before anything is written."""
        ours = [time for time in times if time <= now + COMPARED_PERIOD]
        try:
            theirs = await self._temporal_times(service, schedule_id, now)
        except RPCError as error:
            return ImportComparison(0, 0, (f"times: not compared, Temporal does not return its own: {error}",))
        end = min(side[-1] if len(side) >= MAX_COMPARED_TIMES else now + COMPARED_PERIOD for side in (ours, theirs))
        ours, theirs = ([time for time in side if time <= end] for side in (ours, theirs))
        only_ours = sorted((Counter(ours) - Counter(theirs)).elements())
        only_theirs = sorted((Counter(theirs) - Counter(ours)).elements())
        remarks = [
            _one_side_remark(name, side) for name, side in (("Tompion", only_ours), ("Temporal", only_theirs)) if side
        ]
        if remarks and await self._is_near_clock_change(schedule_id, spec, min(only_ours + only_theirs)):
            remarks.append(CLOCK_CHANGE_REMARK)
        return ImportComparison(
            same=(Counter(ours) & Counter(theirs)).total(),
            compared=max(len(ours), len(theirs)),
            differs=tuple(remarks),
        )

    async def _is_near_clock_change(self, schedule_id: str, spec: SpecDocument, time: datetime) -> bool:
        """Return whether the clocks of a schedule change near a time."""
        preview = await self.home.schedules.preview(schedule_id, spec=spec, after=time - CLOCK_CHANGE_RANGE, count=1)
        return any(change.at <= time + CLOCK_CHANGE_RANGE for change in preview.clock_changes)

    def _convert(
        self, schedule_id: str, description: DescribeScheduleResponse, namespace_id: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of the schedule and the document of its workflow, with the jitter of the cluster."""
        schedule = ScheduleMessage()
        schedule.CopyFrom(description.schedule)
        if not self.shadow:
            schedule.state.paused = True
        seed = f"{namespace_id}-{schedule_id}"
        fields, document = schedule_fields(schedule, description.memo, description.search_attributes, seed, {})
        return {**fields, "spec": in_ranges_or_empty(fields["spec"]), "shadow": self.shadow}, document

    async def _check_absent(self, schedule_id: str) -> None:
        try:
            schedule = await self.home.schedules.get(schedule_id)
        except NotFound:
            return
        if schedule.status is not ScheduleStatus.CLOSED:
            raise AlreadyExists(f"schedule {schedule_id!r} exists already")

    async def _create(self, schedule_id: str, fields: dict[str, Any], document: dict[str, Any]) -> None:
        workflow = await self.home.workflows.put(f"{WORKFLOW_PREFIX}{schedule_id}", document)
        action = {"workflow_id": workflow.workflow_id, "workflow_version": workflow.version}
        await self.home.schedules.create(schedule_id, **fields, **action)

    async def _tompion_times(self, schedule_id: str, spec: SpecDocument, now: datetime) -> list[datetime]:
        """Return the next times in Tompion, however far ahead."""
        if spec == SpecDocument():
            return []
        preview = await self.home.schedules.preview(schedule_id, spec=spec, after=now, count=MAX_COMPARED_TIMES)
        return [tick.fire_at for tick in preview.ticks]

    async def _temporal_times(self, service: Any, schedule_id: str, now: datetime) -> list[datetime]:
        """Return the times of the compared period in Temporal."""
        request = ListScheduleMatchingTimesRequest(namespace=self.source.namespace, schedule_id=schedule_id)
        request.start_time.FromDatetime(now)
        request.end_time.FromDatetime(now + COMPARED_PERIOD)
        response = await service.list_schedule_matching_times(request, timeout=CALL_TIMEOUT)
        return [datetime_ms(time.ToMilliseconds()) for time in response.start_time[:MAX_COMPARED_TIMES]]


def _not_imported(schedule_id: str, reason: str, *, possible: bool) -> ImportResult:
    return ImportResult(
        schedule_id=schedule_id,
        created=False,
        possible=possible,
        same_times=0,
        compared_times=0,
        differs=(f"not copied: {reason}",),
    )


def _one_side_remark(name: str, times: list[datetime]) -> str:
    text = ", ".join(time.isoformat() for time in times[:MAX_NAMED_TIMES])
    more = f" and {len(times) - MAX_NAMED_TIMES} more" if len(times) > MAX_NAMED_TIMES else ""
    return f"times: only in {name} {text}{more}"


def _no_times_reason(spec: SpecDocument, now: datetime) -> str:
    """Return why a schedule has no upcoming times."""
    has_ended = spec.end_at is not None and datetime.fromisoformat(spec.end_at) <= now
    return "it has ended" if has_ended else "it has no upcoming times: all are excluded, or none is left"


def _differences(description: DescribeScheduleResponse, *, shadow: bool) -> list[str]:
    """Return how the schedule differs in Tompion."""
    remarks = []
    policies, info = description.schedule.policies, description.info
    if not description.schedule.state.paused:
        remarks.append("state: a shadow in Tompion, it starts no runs" if shadow else "state: paused in Tompion")
    if policies.keep_original_workflow_id:
        remarks.append("keep_original_workflow_id: applied in Tompion")
    if policies.HasField("catchup_window") and policies.catchup_window.seconds < MISFIRE_GRACE_S:
        remarks.append(
            f"catchup_window: a tick that is at most {MISFIRE_GRACE_S} s late still runs in Tompion (misfire_grace_ms)"
        )
    active = info.buffer_size + len(info.running_workflows)
    if active:
        remarks.append(f"runs: {active} are running or waiting in Temporal, and end there")
    if info.action_count:
        remarks.append(
            f"last result: the first run in Tompion does not get the result of the last of {info.action_count} runs"
        )
    return remarks
