"""From loose fields to a checked definition: what a person may write about a schedule, in one flat document."""

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
from tompion.model.schedule import Action, Definition
from tompion.model.spec import SpecDocument
from tompion.operations.schedules.attributes import read_attributes
from tompion.operations.validation import (
    MAX_DEPTH,
    UNSET,
    _flag,
    _whole,
    check_name,
    check_note,
    check_text,
    choice,
    is_deep,
)
from tompion.plan.stored_definition import compact
from tompion.spec.compiler import compile_spec
from tompion.spec.document import document_json, read_spec
from tompion.spec.duration import parse_duration

SPEC_FIELDS = tuple(field.name for field in fields(SpecDocument))


ACTION_FIELDS = ("function", "workflow_id", "workflow_version", "queue", "user_id")


ABOUT_FIELDS = ("payload", "description", "labels", "memo", "search_attributes")


STATE_FIELDS = ("remaining_actions", "paused", "note")


_CHOICES: dict[str, tuple[type[StrEnum], dict[str, Any]]] = {
    "overlap_policy": (Overlap, OVERLAP_ALIASES),
    "catchup_policy": (CatchUp, CATCHUP_ALIASES),
    "on_resume": (OnResume, {}),
    "buffer_keep": (Keep, {}),
    "on_worker_lost": (OnWorkerLost, {}),
}


NUMBERS = {
    "max_concurrent": (1, 10_000),
    "max_attempts": (1, 1_000),
    "retry_delay_ms": (0, 86_400_000),
    "min_interval_ms": (0, 366 * 86_400_000),
}


_NULLABLE_NUMBERS = {"max_execution_ms": (1, 30 * 86_400_000), "max_interval_ms": (1_000, 366 * 86_400_000)}


_FLAGS = ("pause_on_failure", "shadow", "adaptive", "failure_backoff", "notify")


POLICY_FIELDS = (*_CHOICES, *NUMBERS, *_NULLABLE_NUMBERS, *_FLAGS, "catchup_window")


FIELDS = ("spec", *SPEC_FIELDS, *ACTION_FIELDS, *POLICY_FIELDS, *ABOUT_FIELDS, *STATE_FIELDS)


MAX_LABELS = 64


MAX_DESCRIPTION_CHARS = 2_000


class ScheduleInput(NamedTuple):
    """A checked definition, and what the same document says about the schedule's state."""

    definition: Definition
    remaining: Any = UNSET
    paused: Any = UNSET
    note: Any = UNSET


def parse_schedule(given: Mapping[str, Any], settings: Settings, base: Definition | None = None) -> ScheduleInput:
    """Return the definition that fields describe, on top of ``base``, or of the defaults.

    Raises :class:`~tompion.errors.InvalidInput` naming the field.
    """
    _check_fields(given, FIELDS)
    definition = Definition(
        spec=_spec(given, base, settings.default_jitter_ms),
        action=_action(given, base, settings),
        policy=_policy(given, base, settings),
        payload=payload_of(given["payload"], settings) if "payload" in given else base.payload if base else None,
        description=_description(given.get("description", UNSET), base),
        labels=_labels(given["labels"], settings) if "labels" in given else base.labels if base else (),
        memo=_memo(given["memo"], settings) if "memo" in given else base.memo if base else None,
        search_attributes=(read_attributes(given["search_attributes"], settings) or None)
        if "search_attributes" in given
        else base.search_attributes
        if base
        else None,
    )
    remaining = _whole("remaining_actions", given["remaining_actions"], 0, 1 << 40, nullable=True) if (
        "remaining_actions" in given
    ) else UNSET  # fmt: skip
    paused = _flag("paused", given["paused"]) if "paused" in given else UNSET
    return ScheduleInput(definition, remaining, paused, check_note(given["note"]) if "note" in given else UNSET)


def spec_of(given: Mapping[str, Any]) -> SpecDocument:
    """Return the spec that fields describe; there may be no others among them."""
    _check_fields(given, ("spec", *SPEC_FIELDS))
    return _spec(given, None, 0)


def _check_fields(given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            begun = [field for field in known if field.startswith(f"{name}_")]
            near = begun or get_close_matches(str(name), known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; expected one of {', '.join(known)}"
            raise InvalidField(str(name), f"there is no such field{hint}")


def _spec(given: Mapping[str, Any], base: Definition | None, jitter_ms: int) -> SpecDocument:
    """Return the spec; a document of fields without jitter gets that much, a whole one is taken as it is."""
    flat = {name: given[name] for name in SPEC_FIELDS if name in given}
    if "spec" in given:
        if flat:
            raise InvalidField("spec", f"given together with {next(iter(flat))}; write the spec in one place")
        spec = given["spec"]
        document = (
            read_spec(document_json(spec))
            if isinstance(spec, SpecDocument)
            else _read_new(_mapping("spec", spec), jitter_ms)
        )
    elif flat:
        document = read_spec({**document_json(base.spec), **flat}) if base else _read_new(flat, jitter_ms)
    elif base is not None:
        return base.spec
    else:
        raise InvalidField("spec", "when should it run? give cron, intervals, calendars, rrules or times")
    is_empty = not (document.cron or document.calendars or document.intervals or document.rrules or document.times)
    if is_empty and ("spec" not in given or document != SpecDocument()):  # an empty spec has no ticks, and says so
        raise InvalidField("spec", "when should it run? give cron, intervals, calendars, rrules or times")
    if not document.exclude.named:
        compile_spec(document)
    return document


def _read_new(given: Mapping[str, Any], jitter_ms: int) -> SpecDocument:
    """Read the fields of a spec, with the default jitter unless they say theirs, or have no ticks that could move."""
    return read_spec(given if not given or "jitter_ms" in given or not jitter_ms else {**given, "jitter_ms": jitter_ms})


def _action(given: Mapping[str, Any], base: Definition | None, settings: Settings) -> Action:
    action = base.action if base else Action()
    changes: dict[str, Any] = {}
    for name in ACTION_FIELDS:
        if name not in given:
            continue
        value = given[name]
        if name == "workflow_version":
            changes[name] = _whole(name, value, 1, 1 << 31, nullable=True)
        elif value is None and name != "queue":
            changes[name] = None
        else:
            changes[name] = check_name(name, value, settings)
    if changes.get("function") and "workflow_id" not in changes:
        changes["workflow_id"] = changes["workflow_version"] = None
    if changes.get("workflow_id") and "function" not in changes:
        changes["function"] = None
    if changes.get("workflow_id", action.workflow_id) != action.workflow_id:
        changes.setdefault("workflow_version", None)  # a version of the other workflow
    action = replace(action, **changes)
    if action.function is not None and given.get("workflow_version") is not None:
        raise InvalidField("workflow_version", "a function has no versions; give workflow_id instead of function")
    if (action.function is None) == (action.workflow_id is None):
        raise InvalidField("function", "what should it run? give either function='package.module:name' or workflow_id")
    if action.function is not None and not _is_path(action.function):
        raise InvalidField(
            "function", f"{display(action.function)} is not an import path; expected 'package.module:name'"
        )
    return action


def _is_path(text: str) -> bool:
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), *name.split(".")])


def _policy(given: Mapping[str, Any], base: Definition | None, settings: Settings) -> Policy:
    changes: dict[str, Any] = {}
    for name, (kind, aliases) in _CHOICES.items():
        if name in given:
            changes[name] = choice(name, given[name], kind, aliases)
    for name, (least, most) in NUMBERS.items():
        if name in given:
            changes[name] = _whole(name, given[name], least, most)
    for name, (least, most) in _NULLABLE_NUMBERS.items():
        if name in given:
            changes[name] = _whole(name, given[name], least, most, nullable=True)
    for name in _FLAGS:
        if name in given:
            changes[name] = _flag(name, given[name])
    if "catchup_window" in given:
        changes["catchup_window_s"] = _window(given["catchup_window"])
    if changes.get("min_interval_ms", settings.min_interval_ms) < settings.min_interval_ms:
        expected = f"at least {settings.min_interval_ms}, which is the least that this service allows"
        raise InvalidField("min_interval_ms", f"{changes['min_interval_ms']}; expected {expected}")
    policy = replace(base.policy if base else default_policy(settings), **changes)
    _check_governor(policy, given)
    return policy


def default_policy(settings: Settings) -> Policy:
    """Return the policy of a schedule that says nothing of it."""
    return Policy(
        overlap_policy=settings.default_overlap_policy,
        catchup_policy=settings.default_catchup_policy,
        min_interval_ms=settings.min_interval_ms,
    )


def without_defaults(settings: Settings) -> Settings:
    """Return settings whose defaults for schedules are those that Tompion comes with."""
    names = ("default_overlap_policy", "default_catchup_policy", "default_jitter_ms", "min_interval_ms")
    return replace(settings, **{name: getattr(_PLAIN, name) for name in names})


_PLAIN = Settings()


def _check_governor(policy: Policy, given: Mapping[str, Any]) -> None:
    """Raise if the bounds of an adaptive schedule contradict each other, or belong to one that is not."""
    longest = policy.max_interval_ms
    if not policy.adaptive:
        for field, alone in (("max_interval_ms", longest is not None), ("failure_backoff", not policy.failure_backoff)):
            if alone:
                raise InvalidField(field, "only an adaptive schedule has this; set adaptive to true as well")
    if longest is not None and policy.min_interval_ms > longest:
        field = "max_interval_ms" if "max_interval_ms" in given else "min_interval_ms"
        raise InvalidField(
            field, f"min_interval_ms ({policy.min_interval_ms}) is more than max_interval_ms ({longest})"
        )


def _window(value: Any) -> int | None:
    if value is None:
        return None
    try:
        seconds = parse_duration(value, field="catchup_window")
    except TompionError as error:
        raise InvalidField("catchup_window", str(error).removeprefix("catchup_window: ")) from None
    if seconds < 0:
        raise InvalidField("catchup_window", f"{display(value)} is negative; 0 drops all missed ticks, null keeps all")
    return int(seconds)


def payload_of(value: object, settings: Settings, field: str = "payload") -> Any:
    """Return a document that can be stored: JSON as every reader understands it, and not too large."""
    if is_deep(value):
        raise InvalidField(field, f"not JSON: it is nested more than {MAX_DEPTH} deep, or contains itself")
    try:
        json.dumps(value, allow_nan=False)
        odd_keys = _odd_keys(value)
        text = "" if odd_keys else compact(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(field, f"not JSON: {error}") from None
    if odd_keys:
        raise InvalidField(field, f"the key {display(odd_keys[0])} is not text; JSON has no other keys")
    if size > settings.max_payload_bytes:
        raise InvalidField(field, f"{size} bytes, more than max_payload_bytes ({settings.max_payload_bytes})")
    return json.loads(text)


def _odd_keys(value: object) -> list[object]:
    """The keys that are not text: they would be stored as text, and read back as something else than was given."""
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        return odd or [key for each in value.values() for key in _odd_keys(each)]
    if isinstance(value, list | tuple):
        return [key for each in value for key in _odd_keys(each)]
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
        raise InvalidField("labels", f"{len(labels)} of them, more than {MAX_LABELS}")
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
