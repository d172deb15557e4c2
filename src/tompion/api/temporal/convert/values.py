"""Conversion of small messages: times, durations, payloads, memos and search attributes."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
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
"""The key of a memo value that is not plain JSON. It has the encoded payload."""
JSON = b"json/plain"
MIN_TIMESTAMP_S, MAX_TIMESTAMP_S = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999."""

_O = ScheduleOverlapPolicy
OVERLAPS: dict[int, Overlap] = {
    _O.SCHEDULE_OVERLAP_POLICY_SKIP: Overlap.SKIP,
    _O.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE: Overlap.BUFFER_ONE,
    _O.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL: Overlap.QUEUE,
    _O.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER: Overlap.CANCEL_OTHER,
    _O.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER: Overlap.TERMINATE_OTHER,
    _O.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL: Overlap.ALLOW,
}
TEMPORAL_OVERLAPS: dict[Overlap, Any] = {ours: theirs for theirs, ours in OVERLAPS.items()}
_S = WorkflowExecutionStatus
STATUSES: dict[RunState, Any] = {
    RunState.SUCCESS: _S.WORKFLOW_EXECUTION_STATUS_COMPLETED,
    RunState.FAILED: _S.WORKFLOW_EXECUTION_STATUS_FAILED,
    RunState.CANCELLED: _S.WORKFLOW_EXECUTION_STATUS_CANCELED,
    RunState.TERMINATED: _S.WORKFLOW_EXECUTION_STATUS_TERMINATED,
    RunState.TIMED_OUT: _S.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
}
INFERRED_TYPES = {
    str: AttributeType.KEYWORD,
    bool: AttributeType.BOOL,
    int: AttributeType.INT,
    float: AttributeType.DOUBLE,
}


def overlap_of(field: str, value: int, default: str) -> str:
    """Return an overlap policy, or the default if it is unspecified."""
    if value == _O.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED:
        return default
    if value not in OVERLAPS:
        raise InvalidField(field, f"{value} is not an overlap policy")
    return OVERLAPS[value]


def epoch_ms(field: str, value: Timestamp) -> int:
    """Return an instant in milliseconds, rounded down."""
    if not 0 <= value.nanos < 1_000_000_000 or not MIN_TIMESTAMP_S <= value.seconds <= MAX_TIMESTAMP_S:
        raise InvalidField(field, "expected a time of the years 1 to 9999")
    return value.seconds * 1000 + value.nanos // 1_000_000


def set_time(field: Timestamp, moment: datetime | None) -> None:
    """Set a timestamp, unless the instant is ``None``."""
    if moment is not None:
        field.FromDatetime(moment)


def milliseconds(field: str, value: Duration) -> int:
    """Return a duration in milliseconds, rounded towards zero."""
    if abs(value.seconds) > MAX_TIMESTAMP_S or abs(value.nanos) >= 1_000_000_000:
        raise InvalidField(field, "not a valid duration")
    return int((value.seconds * 1_000_000_000 + value.nanos) / 1_000_000)


def memo_of(memo: Memo) -> dict[str, Any]:
    """Return a memo as JSON. Payloads that are not plain JSON are stored byte for byte."""
    return {name: _value_of(payload) for name, payload in memo.fields.items()}


def memo_message(memo: Mapping[str, Any] | None) -> Memo:
    """Return a memo as a message."""
    return Memo(fields={name: _payload_of(value) for name, value in (memo or {}).items()})


def _value_of(payload: Payload) -> Any:
    if dict(payload.metadata) == {"encoding": JSON}:
        value = _parse_json(payload.data)
        if value is not None and not (isinstance(value, dict) and RAW in value):
            return value
    return {RAW: b64encode(payload.SerializeToString(deterministic=True)).decode()}


def _parse_json(data: bytes) -> Any:
    """Return the value of JSON that every store can hold, or ``None``."""
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
        except (ValueError, TypeError):  # a memo written by hand
            pass
    return json_payload(value)


def json_payload(value: Any) -> Payload:
    """Return a value encoded as by Temporal's default converter."""
    return Payload(metadata={"encoding": JSON}, data=json.dumps(value, separators=(",", ":")).encode())


def attributes_of(attributes: SearchAttributes, registered: Mapping[str, str]) -> dict[str, Any]:
    """Return search attributes with their types: their own, the registered ones, or inferred from the values."""
    return {name: _attribute_of(name, payload, registered) for name, payload in attributes.indexed_fields.items()}


def _attribute_of(name: str, payload: Payload, registered: Mapping[str, str]) -> dict[str, Any]:
    try:
        value = json.loads(payload.data)
        own_type = payload.metadata.get("type", b"").decode()
    except (ValueError, RecursionError):
        raise InvalidField(f"search_attributes.{name}", "the value is not JSON") from None
    kind = own_type or registered.get(name) or _infer_type(value)
    if kind != AttributeType.KEYWORD_LIST and isinstance(value, list) and len(value) == 1:
        value = value[0]
    return {"type": kind, "value": value}


def _infer_type(value: Any) -> str:
    if isinstance(value, list):
        return AttributeType.KEYWORD_LIST
    return INFERRED_TYPES.get(type(value), AttributeType.KEYWORD)


def attributes_message(attributes: Mapping[str, Any] | None) -> SearchAttributes:
    """Return the message of search attributes, each with its type."""
    message = SearchAttributes()
    for name, attribute in (attributes or {}).items():
        payload = json_payload(attribute["value"])
        payload.metadata["type"] = attribute["type"].encode()
        message.indexed_fields[name].CopyFrom(payload)
    return message


def add_types(attributes: SearchAttributes, registered: Mapping[str, str]) -> None:
    """Add the type to each search attribute that has none."""
    for name, payload in attributes.indexed_fields.items():
        if not payload.metadata.get("type"):
            try:
                payload.metadata["type"] = _attribute_of(name, payload, registered)["type"].encode()
            except InvalidField:  # an attribute written by hand, for which the executor reports the error
                continue
