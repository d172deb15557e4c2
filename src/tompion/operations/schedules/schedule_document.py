"""Validates the flat document of a schedule and converts it to a definition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, NamedTuple

from tompion.config.settings import Settings
from tompion.errors import InvalidField, TompionError, display
from tompion.model.policy import (
    CATCHUP_ALIASES,
    OVERLAP_ALIASES,
    CatchUp,
    Keep,
    OnResume,
    OnWorkerLost,
    Overlap,
    Policy,
)
from tompion.model.schedule import Action, Definition, Schedule
from tompion.model.spec import SOURCE_FIELDS, SpecDocument
from tompion.operations.schedules.action import ACTION_FIELDS, parse_action
from tompion.operations.schedules.attributes import read_attributes
from tompion.operations.validation import (
    MAX_DEPTH,
    UNSET,
    check_duration_ms,
    check_flag,
    check_name,
    check_note,
    check_optional_whole,
    check_text,
    check_whole,
    choice,
    is_deep,
)
from tompion.plan.stored_definition import compact
from tompion.spec.compiler import compile_spec
from tompion.spec.document import document_json, read_spec
from tompion.spec.duration import parse_duration

SPEC_FIELDS = tuple(field.name for field in fields(SpecDocument))

ABOUT_FIELDS = ("payload", "description", "labels", "memo", "search_attributes")

STATE_FIELDS = ("remaining_actions", "paused", "note")

_CHOICES: dict[str, tuple[type[StrEnum], dict[str, Any]]] = {
    "overlap_policy": (Overlap, OVERLAP_ALIASES),
    "catchup_policy": (CatchUp, CATCHUP_ALIASES),
    "on_resume": (OnResume, {}),
    "buffer_keep": (Keep, {}),
    "on_worker_lost": (OnWorkerLost, {}),
}

NUMBERS = {"max_concurrent": (1, 10_000), "max_attempts": (1, 1_000)}

DURATIONS = {"retry_delay_ms": (0, 86_400_000), "min_interval_ms": (0, 366 * 86_400_000)}

NULLABLE_DURATIONS = {
    "max_execution_ms": (1, 30 * 86_400_000),
    "max_interval_ms": (1_000, 366 * 86_400_000),
    "launch_deadline_ms": (0, 366 * 86_400_000),
}

_FLAGS = ("pause_on_failure", "shadow", "adaptive", "failure_backoff", "notify")

POLICY_FIELDS = (*_CHOICES, *NUMBERS, *DURATIONS, *NULLABLE_DURATIONS, *_FLAGS, "catchup_window")

FIELDS = ("spec", *SPEC_FIELDS, *ACTION_FIELDS, *POLICY_FIELDS, *ABOUT_FIELDS, *STATE_FIELDS)

SHORT_NAMES = {
    "overlap": "overlap_policy",
    "catchup": "catchup_policy",
    "version": "workflow_version",
    "cron_expr": "cron",
}
"""Short forms that are accepted in every document."""

READ_ONLY_FIELDS = frozenset(field.name for field in fields(Schedule)) - {"definition", "schedule_id", *STATE_FIELDS}
"""Fields of a schedule that a caller may send back as it read them. They are ignored."""

DEFAULT_ZONE = "UTC"

MAX_LABELS = 64

NO_SOURCE = (
    "there is no source of ticks; add cron, intervals, calendars, rrules or times, "
    "or an empty list as cron for a schedule that runs only when it is triggered"
)

MAX_DESCRIPTION_CHARS = 2_000


class ScheduleInput(NamedTuple):
    """A checked definition, and the fields of the same document that concern the schedule's state."""

    definition: Definition
    remaining: Any = UNSET
    paused: Any = UNSET
    note: Any = UNSET


def parse_schedule(document: Mapping[str, Any], settings: Settings, base: Definition | None = None) -> ScheduleInput:
    """Return the definition of some fields, on top of ``base`` or of the defaults.

    Raises :class:`~tompion.errors.InvalidInput` with the name of the field.
    """
    document = _writable(document)
    _check_fields(document, FIELDS)
    definition = Definition(
        spec=_spec(document, base, settings.default_jitter_ms),
        action=_action(document, base, settings),
        policy=_policy(document, base, settings),
        payload=payload_of(document["payload"], settings) if "payload" in document else base.payload if base else None,
        description=_description(document.get("description", UNSET), base),
        labels=_labels(document["labels"], settings) if "labels" in document else base.labels if base else (),
        memo=_memo(document["memo"], settings) if "memo" in document else base.memo if base else None,
        search_attributes=(read_attributes(document["search_attributes"], settings) or None)
        if "search_attributes" in document
        else base.search_attributes
        if base
        else None,
    )
    remaining = check_optional_whole("remaining_actions", document["remaining_actions"], 0, 1 << 40) if (
        "remaining_actions" in document
    ) else UNSET  # fmt: skip
    paused = check_flag("paused", document["paused"]) if "paused" in document else UNSET
    return ScheduleInput(definition, remaining, paused, check_note(document["note"]) if "note" in document else UNSET)


def spec_of(document: Mapping[str, Any]) -> SpecDocument:
    """Return the spec of some fields. Other fields are rejected."""
    _check_fields(document, ("spec", *SPEC_FIELDS))
    return _spec(document, None, 0)


def _writable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the full names of fields, without those that only the service writes."""
    fields_by_name: dict[str, Any] = {}
    for name, value in document.items():
        full_name = SHORT_NAMES.get(name, name)
        if full_name in fields_by_name:
            raise InvalidField(name, f"sent twice: {full_name} is the same field; send one of them")
        if full_name not in READ_ONLY_FIELDS:
            fields_by_name[full_name] = value
    return fields_by_name


def _check_fields(document: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in document:
        if name not in names:
            longer_names = [field for field in names if field.startswith(f"{name}_")]
            similar = longer_names or get_close_matches(str(name), names, 1)
            hint = f"; did you mean {similar[0]}?" if similar else f"; expected one of {', '.join(names)}"
            raise InvalidField(str(name), f"there is no such field{hint}")


def _spec(document: Mapping[str, Any], base: Definition | None, jitter_ms: int) -> SpecDocument:
    """Return the spec. A document without jitter gets the default jitter, a :class:`SpecDocument` is used as it is."""
    flat = {name: document[name] for name in SPEC_FIELDS if name in document}
    if flat.get("timezone") == DEFAULT_ZONE:
        flat["timezone"] = None  # one form, so that a document that is sent back changes nothing
    if "spec" in document:
        if flat:
            raise InvalidField("spec", f"sent together with {next(iter(flat))}; write the spec in one place")
        value = document["spec"]
        if isinstance(value, SpecDocument):
            spec = read_spec(document_json(value))
        else:
            spec = _read_new(_mapping("spec", value), jitter_ms)
    elif flat:
        spec = read_spec({**document_json(base.spec), **flat}) if base else _read_new(flat, jitter_ms)
    elif base is not None:
        return base.spec
    else:
        raise InvalidField("spec", NO_SOURCE)
    has_source = spec.cron or spec.calendars or spec.intervals or spec.rrules or spec.times
    is_empty_on_purpose = "spec" in document and spec == SpecDocument()
    is_empty_on_purpose |= any(flat.get(name) == [] for name in SOURCE_FIELDS)
    if not has_source and not is_empty_on_purpose:
        raise InvalidField("spec", NO_SOURCE)
    if not spec.exclude.named:
        compile_spec(spec)
    return spec


def _read_new(document: Mapping[str, Any], jitter_ms: int) -> SpecDocument:
    """Parse the fields of a spec. Without ``jitter_ms`` it gets the default, unless it has no ticks."""
    if document and jitter_ms and "jitter_ms" not in document:
        document = {**document, "jitter_ms": jitter_ms}
    return read_spec(document)


def _action(document: Mapping[str, Any], base: Definition | None, settings: Settings) -> Action:
    action = parse_action(document, base.action if base else None, settings)
    if action.executor is None:
        return action
    return replace(action, options=payload_of(action.options, settings, action.executor))


def _policy(document: Mapping[str, Any], base: Definition | None, settings: Settings) -> Policy:
    """Return the policy in a document. Missing fields have the values of ``base`` or the defaults."""
    changes: dict[str, Any] = {}
    for name, (kind, aliases) in _CHOICES.items():
        if name in document:
            changes[name] = choice(name, document[name], kind, aliases)
    for name, (least, most) in NUMBERS.items():
        if name in document:
            changes[name] = check_whole(name, document[name], least, most)
    for name, (least, most) in (DURATIONS | NULLABLE_DURATIONS).items():
        if name in document:
            is_null = document[name] is None and name in NULLABLE_DURATIONS
            changes[name] = None if is_null else check_duration_ms(name, document[name], least, most)
    for name in _FLAGS:
        if name in document:
            changes[name] = check_flag(name, document[name])
    if "catchup_window" in document:
        changes["catchup_window_s"] = _catchup_window_s(document["catchup_window"])
    if changes.get("min_interval_ms", settings.min_interval_ms) < settings.min_interval_ms:
        expected = f"at least {settings.min_interval_ms}, the minimum of this service"
        raise InvalidField("min_interval_ms", f"{changes['min_interval_ms']}; expected {expected}")
    if (changes.get("max_execution_ms") or 0) > settings.max_execution_ms:
        expected = f"at most {settings.max_execution_ms}, the limit max_execution_ms of this service"
        raise InvalidField("max_execution_ms", f"{changes['max_execution_ms']}; expected {expected}")
    policy = replace(base.policy if base else default_policy(settings), **changes)
    _check_adaptive(policy, document)
    return policy


def default_policy(settings: Settings) -> Policy:
    """Return the policy of a schedule without policy fields."""
    return Policy(
        overlap_policy=settings.default_overlap_policy,
        catchup_policy=settings.default_catchup_policy,
        min_interval_ms=settings.min_interval_ms,
    )


def without_defaults(settings: Settings) -> Settings:
    """Return settings with Tompion's own defaults for schedules."""
    names = ("default_overlap_policy", "default_catchup_policy", "default_jitter_ms", "min_interval_ms")
    return replace(settings, **{name: getattr(_PLAIN, name) for name in names})


_PLAIN = Settings()


def _check_adaptive(policy: Policy, document: Mapping[str, Any]) -> None:
    """Raise if the bounds of an adaptive schedule contradict each other, or if another schedule has them."""
    max_interval_ms = policy.max_interval_ms
    if not policy.adaptive:
        for field, alone in (
            ("max_interval_ms", max_interval_ms is not None),
            ("failure_backoff", not policy.failure_backoff),
        ):
            if alone:
                raise InvalidField(field, "only an adaptive schedule has this field; set adaptive to true as well")
    if max_interval_ms is not None and policy.min_interval_ms > max_interval_ms:
        field = "max_interval_ms" if "max_interval_ms" in document else "min_interval_ms"
        raise InvalidField(
            field, f"min_interval_ms ({policy.min_interval_ms}) is greater than max_interval_ms ({max_interval_ms})"
        )


def _catchup_window_s(value: Any) -> int | None:
    if value is None:
        return None
    try:
        seconds = parse_duration(value, field="catchup_window")
    except TompionError as error:
        raise InvalidField("catchup_window", str(error).removeprefix("catchup_window: ")) from None
    if seconds < 0:
        raise InvalidField(
            "catchup_window", f"{display(value)} is negative; 0 drops every missed tick, null catches up on every one"
        )
    return int(seconds)


def payload_of(value: object, settings: Settings, field: str = "payload") -> Any:
    """Return a document that can be stored: valid JSON, and not too large."""
    if is_deep(value):
        raise InvalidField(field, f"not JSON: nested more than {MAX_DEPTH} levels deep, or contains itself")
    try:
        json.dumps(value, allow_nan=False)
        odd_keys = _non_text_keys(value)
        text = "" if odd_keys else compact(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(field, f"not JSON: {error}") from None
    if odd_keys:
        raise InvalidField(field, f"the key {display(odd_keys[0])} is not text; JSON has only text keys")
    if size > settings.max_payload_bytes:
        raise InvalidField(field, f"{size} bytes, more than max_payload_bytes ({settings.max_payload_bytes})")
    return json.loads(text)


def _non_text_keys(value: object) -> list[object]:
    """Return the keys that are not text. They would be stored as text and would not be read back as they were sent."""
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        return odd or [key for item in value.values() for key in _non_text_keys(item)]
    if isinstance(value, list | tuple):
        return [key for item in value for key in _non_text_keys(item)]
    return []


def _description(value: Any, base: Definition | None) -> str:
    if value is UNSET:
        return base.description if base else ""
    if value is None:
        return ""
    return check_text("description", value, MAX_DESCRIPTION_CHARS)


def _labels(value: object, settings: Settings) -> tuple[tuple[str, str], ...]:
    labels = _mapping("labels", value if value is not None else {})
    if len(labels) > MAX_LABELS:
        raise InvalidField("labels", f"{len(labels)} labels; at most {MAX_LABELS} are allowed")
    return tuple(
        sorted(
            (check_name("labels", name, settings), check_name(f"labels.{name}", text, settings))
            for name, text in labels.items()
        )
    )


def _memo(value: object, settings: Settings) -> dict[str, Any] | None:
    memo = payload_of(_mapping("memo", value if value is not None else {}), settings, "memo")
    return memo or None


def _mapping(field: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField(field, f"{display(value)} is not an object")
    return value
