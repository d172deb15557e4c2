"""The smaller messages of Temporal's API and what they are here: instants, durations, payloads, memos, attributes."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Memo, Payload, SearchAttributes
from temporalio.api.enums.v1 import ScheduleOverlapPolicy, WorkflowExecutionStatus

from tompion.errors import InvalidField
from tompion.model.policy import Overlap
from tompion.model.run import RunState
from tompion.model.search_attribute import AttributeType
from tompion.operations.validation import is_deep

RAW = "$payload"
"""Under which key a memo keeps a payload that is no JSON."""
JSON = b"json/plain"
MIN_TIMESTAMP_S, MAX_TIMESTAMP_S = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_O = ScheduleOverlapPolicy
OVERLAPS: dict[int, Overlap] = {
    _O.SCHEDULE_OVERLAP_POLICY_SKIP: Overlap.SKIP,
    _O.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE: Overlap.BUFFER_ONE,
    _O.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL: Overlap.QUEUE,
    _O.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER: Overlap.CANCEL_OTHER,
    _O.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER: Overlap.TERMINATE_OTHER,
    _O.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL: Overlap.ALLOW,
}
SHOWN_OVERLAPS: dict[Overlap, Any] = {ours: theirs for theirs, ours in OVERLAPS.items()}
_S = WorkflowExecutionStatus
STATUSES: dict[RunState, Any] = {
    RunState.SUCCESS: _S.WORKFLOW_EXECUTION_STATUS_COMPLETED,
    RunState.FAILED: _S.WORKFLOW_EXECUTION_STATUS_FAILED,
    RunState.CANCELLED: _S.WORKFLOW_EXECUTION_STATUS_CANCELED,
    RunState.TERMINATED: _S.WORKFLOW_EXECUTION_STATUS_TERMINATED,
    RunState.TIMED_OUT: _S.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
}
INFERRED = {str: AttributeType.KEYWORD, bool: AttributeType.BOOL, int: AttributeType.INT, float: AttributeType.DOUBLE}


def overlap_of(field: str, value: int, default: str) -> str:
    """Return an overlap policy; unspecified, it is the default."""
    if value == _O.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED:
        return default
    if value not in OVERLAPS:
        raise InvalidField(field, f"{value} is no overlap policy")
    return OVERLAPS[value]


def epoch_ms(field: str, value: Timestamp) -> int:
    """Return an instant in milliseconds, rounded down."""
    if not 0 <= value.nanos < 1_000_000_000 or not MIN_TIMESTAMP_S <= value.seconds <= MAX_TIMESTAMP_S:
        raise InvalidField(field, "this is no instant of the years 1 to 9999")
    return value.seconds * 1000 + value.nanos // 1_000_000


def instant(milliseconds: int) -> datetime:
    """Return an instant."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def set_time(field: Timestamp, moment: datetime | None) -> None:
    """Write an instant, if there is one."""
    if moment is not None:
        field.FromDatetime(moment)


def milliseconds(field: str, value: Duration) -> int:
    """Return a duration in milliseconds, rounded towards zero."""
    if abs(value.seconds) > MAX_TIMESTAMP_S or abs(value.nanos) >= 1_000_000_000:
        raise InvalidField(field, "this is no duration")
    return int((value.seconds * 1_000_000_000 + value.nanos) / 1_000_000)


# --- memo -----------------------------------------------------------------------------------------------------------


def memo_of(memo: Memo) -> dict[str, Any]:
    """Return a memo as JSON: what is JSON there as it is, anything else byte for byte."""
    return {name: _value_of(payload) for name, payload in memo.fields.items()}


def memo_message(memo: Mapping[str, Any] | None) -> Memo:
    """Return a memo as a message."""
    return Memo(fields={name: _payload_of(value) for name, value in (memo or {}).items()})


def _value_of(payload: Payload) -> Any:
    if dict(payload.metadata) == {"encoding": JSON}:
        value = _plain(payload.data)
        if value is not None and not (isinstance(value, dict) and RAW in value):
            return value
    return {RAW: b64encode(payload.SerializeToString(deterministic=True)).decode()}


def _plain(data: bytes) -> Any:
    """What JSON says that can be stored and read by everybody; ``None`` if it is no such JSON."""
    try:
        value = json.loads(data)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return None if is_deep(value) else value


def _payload_of(value: Any) -> Payload:
    if isinstance(value, Mapping) and set(value) == {RAW}:
        try:
            return Payload.FromString(b64decode(value[RAW], validate=True))
        except (ValueError, TypeError):  # somebody has written it by hand
            pass
    return json_payload(value)


def json_payload(value: Any) -> Payload:
    """Return a value as Temporal's default converter writes it."""
    return Payload(metadata={"encoding": JSON}, data=json.dumps(value, separators=(",", ":")).encode())


# --- search attributes ----------------------------------------------------------------------------------------------


def attributes_of(given: SearchAttributes, registered: Mapping[str, str]) -> dict[str, Any]:
    """Return search attributes with their types: as they say, as registered, or as their value suggests."""
    return {name: _attribute_of(name, each, registered) for name, each in given.indexed_fields.items()}


def _attribute_of(name: str, payload: Payload, registered: Mapping[str, str]) -> dict[str, Any]:
    try:
        value = json.loads(payload.data)
        said = payload.metadata.get("type", b"").decode()
    except (ValueError, RecursionError):
        raise InvalidField(f"search_attributes.{name}", "its value is no JSON") from None
    kind = said or registered.get(name) or _inferred(value)
    if kind != AttributeType.KEYWORD_LIST and isinstance(value, list) and len(value) == 1:
        value = value[0]
    return {"type": kind, "value": value}


def _inferred(value: Any) -> str:
    return AttributeType.KEYWORD_LIST if isinstance(value, list) else INFERRED.get(type(value), AttributeType.KEYWORD)


def attributes_message(attributes: Mapping[str, Any] | None) -> SearchAttributes:
    """Return search attributes as a message, each with its type."""
    message = SearchAttributes()
    for name, each in (attributes or {}).items():
        payload = json_payload(each["value"])
        payload.metadata["type"] = each["type"].encode()
        message.indexed_fields[name].CopyFrom(payload)
    return message


def with_types(given: SearchAttributes, registered: Mapping[str, str]) -> None:
    """Write its type beside each search attribute that does not say it."""
    for name, payload in given.indexed_fields.items():
        if not payload.metadata.get("type"):
            try:
                payload.metadata["type"] = _attribute_of(name, payload, registered)["type"].encode()
            except InvalidField:  # somebody has written it by hand; the executor says so when it starts it
                continue
