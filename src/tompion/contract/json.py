"""Results and errors as JSON, as REST and the CLI send them, and back.

A definition is encoded as the document that :meth:`~tompion.AsyncTompion.put` takes, without fields that have their
default. Fields whose default is a setting are always there, so that a document means the same on every service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from tompion.encoding.codec import Forms, from_fields, from_plain, to_plain
from tompion.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LaunchError,
    LimitExceeded,
    NotFound,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
    TompionError,
    TooManyRequests,
    Unauthenticated,
)
from tompion.model.action_options import EXECUTOR_OPTIONS
from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap, Policy
from tompion.model.schedule import Action, Definition, Schedule
from tompion.model.spec import SOURCE_FIELDS, SpecDocument

T = TypeVar("T")
CHOICES = {
    "overlap_policy": Overlap,
    "catchup_policy": CatchUp,
    "on_resume": OnResume,
    "buffer_keep": Keep,
    "on_worker_lost": OnWorkerLost,
}
SETTABLE = ("overlap_policy", "catchup_policy", "min_interval_ms")
"""Fields of a policy whose default is a setting."""
WINDOW = "catchup_window"
"""The name of ``catchup_window_s`` in a document, where it can be any duration."""
STATUS_CODES: dict[type[TompionError], int] = {
    InvalidInput: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    LimitExceeded: 422,
    TooManyRequests: 429,
    OutcomeUnknown: 502,
    LaunchError: 502,
    StoreError: 500,
    StoreUnavailable: 503,
}
"""The HTTP status of each branch of the error tree. The nearest ancestor decides."""
ERRORS_PAGE = "/docs/errors"
"""The page of the service that describes the code of each error."""
DETAILS = ("field", "problem", "position", "expected", "hint", "text", "stale_token", "conflict_token")
"""Attributes of errors that become members of the problem document."""


def encode(value: Any) -> Any:
    """Return a result as JSON-ready data."""
    return to_plain(value, FORMS)


def decode(kind: type[T], data: Any) -> T:
    """Return the result that :func:`encode` has encoded."""
    return from_plain(kind, data, FORMS)


def encode_error(error: TompionError) -> dict[str, Any]:
    """Return an error as a problem document."""
    more = {name: value for name in DETAILS if (value := getattr(error, name, None)) is not None}
    return {**problem_document(status_of(error), error.code, str(error)), "retryable": error.retryable, **more}


def problem_document(status: int, code: str, detail: str) -> dict[str, Any]:
    """Return the members that every problem document has."""
    kind = f"{ERRORS_PAGE}#{code}"
    return {"type": kind, "status": status, "code": code, "title": code.replace("_", " "), "detail": detail}


def status_of(error: TompionError) -> int:
    """Return the HTTP status of an error."""
    return next((STATUS_CODES[kind] for kind in type(error).__mro__ if kind in STATUS_CODES), 500)


def definition_document(definition: Definition) -> dict[str, Any]:
    """Return a definition as a document, without fields that have Tompion's default."""
    document: dict[str, Any] = _sources(definition.spec)
    document |= action_document(definition.action)
    policy = _non_defaults(definition.policy, _POLICY)
    if "catchup_window_s" in policy:
        policy[WINDOW] = policy.pop("catchup_window_s")
    document |= policy
    if definition.payload is not None:
        document["payload"] = definition.payload
    if definition.description:
        document["description"] = definition.description
    if definition.labels:
        document["labels"] = dict(definition.labels)
    document |= {name: value for name in _METADATA if (value := getattr(definition, name)) is not None}
    return document


def whole_document(definition: Definition) -> dict[str, Any]:
    """Return a definition as a document that means the same on every service, whatever its settings."""
    settable = {name: to_plain(getattr(definition.policy, name)) for name in SETTABLE}
    spec = definition.spec
    always = {"timezone": spec.timezone or "UTC", "jitter_ms": spec.jitter_ms}
    return {**definition_document(definition), **always, **settable}


def schedule_document(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as one flat document, which can be edited and sent back."""
    state = {name: to_plain(getattr(schedule, name), FORMS) for name in _STATE_NAMES}
    return {"schedule_id": schedule.schedule_id, **whole_document(schedule.definition), **state}


def read_schedule(document: dict[str, Any]) -> Schedule:
    """Return the schedule in a document that a service has sent."""
    state = {name: document[name] for name in ("schedule_id", *_STATE_NAMES) if name in document}
    return from_fields(Schedule, state, FORMS, definition=read_definition(document))


def _sources(spec: SpecDocument) -> dict[str, Any]:
    """Return the fields of a spec. An empty ``cron`` means that the schedule runs only when it is triggered."""
    from tompion.spec.document import document_json

    document = document_json(spec)
    return document if document.keys() & set(SOURCE_FIELDS) else {"cron": [], **document}


def spec_document(spec: SpecDocument) -> dict[str, Any]:
    """Return a spec as a document that means the same on every service, whatever its default jitter."""
    from tompion.spec.document import document_json  # here, because a client that only sends requests needs no specs

    return {**document_json(spec), "jitter_ms": spec.jitter_ms}


def read_spec_document(document: Mapping[str, Any]) -> SpecDocument:
    """Return the spec in a document."""
    from tompion.spec.document import read_spec

    return read_spec(document)


def read_definition(document: dict[str, Any]) -> Definition:
    """Return the definition in a document that has been validated before."""
    policy = {name: document[name] for name in _POLICY if name in document}
    if WINDOW in document:
        policy["catchup_window_s"] = document[WINDOW]
    for name, kind in CHOICES.items():
        if name in policy:
            policy[name] = kind(policy[name])
    return Definition(
        spec=_read_spec(document),
        action=read_action(document),
        policy=Policy(**policy),
        payload=document.get("payload"),
        description=document.get("description", ""),
        labels=tuple(sorted(document.get("labels", {}).items())),
        **{name: document.get(name) for name in _METADATA},
    )


def _read_spec(document: Mapping[str, Any]) -> SpecDocument:
    spec_fields = {name: document[name] for name in _SPEC_NAMES if name in document}
    if spec_fields.get("timezone") == "UTC":  # stored without a zone
        del spec_fields["timezone"]
    return read_spec_document(spec_fields)


def action_document(action: Action) -> dict[str, Any]:
    """Return the fields of an action. One of them names what the schedule runs."""
    fields_by_name = {name: value for name in _ACTION_NAMES if (value := getattr(action, name)) != _ACTION[name]}
    return fields_by_name if action.executor is None else {action.executor: action.target, **fields_by_name}


def read_action(document: Mapping[str, Any]) -> Action:
    """Return the action in a document that has been validated before."""
    names = {name: document[name] for name in _ACTION_NAMES if name in document}
    executor = next((name for name in EXECUTOR_OPTIONS if document.get(name) is not None), None)
    if executor is None:
        return Action(**names)
    options = document[executor]
    return Action(**names, executor=executor, options={executor: options} if executor == "command" else options)


def _non_defaults(value: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as JSON-ready data."""
    return {name: to_plain(field) for name, default in defaults.items() if (field := getattr(value, name)) != default}


def _defaults(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


_METADATA = ("memo", "search_attributes")
_POLICY, _ACTION = _defaults(Policy()), _defaults(Action())
_ACTION_NAMES = tuple(name for name in _ACTION if name not in ("executor", "options"))
_SPEC_NAMES = tuple(field.name for field in fields(SpecDocument))
_STATE_NAMES = tuple(field.name for field in fields(Schedule) if field.name not in ("schedule_id", "definition"))
FORMS: Forms = {
    Definition: (whole_document, read_definition),
    Schedule: (schedule_document, read_schedule),
    SpecDocument: (spec_document, read_spec_document),
}
