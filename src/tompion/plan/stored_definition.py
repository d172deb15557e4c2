"""Definitions as stored texts, and the schedules compiled from them.

Texts are interned: equal specs, policies and actions of a million schedules are parsed once and shared.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from enum import StrEnum
from functools import lru_cache
from typing import Any

from tompion.errors import UnknownZone
from tompion.model.policy import CatchUp, Keep, OnResume, OnWorkerLost, Overlap, Policy
from tompion.model.rows import DefinitionRow, VersionRow
from tompion.model.schedule import Action, Definition
from tompion.model.spec import NamedCalendar, SpecDocument, WindowDocument
from tompion.plan.compiled_schedule import CompiledSchedule, compile_schedule
from tompion.plan.zone_tables import in_utc, tables_number, zones_text
from tompion.spec.compiler import depends_on_schedule_id
from tompion.spec.document import document_json, read_spec

MAX_INTERNED_TEXTS = 16_384
POLICY_CHOICES: dict[str, type[StrEnum]] = {
    "overlap_policy": Overlap,
    "catchup_policy": CatchUp,
    "on_resume": OnResume,
    "buffer_keep": Keep,
    "on_worker_lost": OnWorkerLost,
}


def compact(data: Any) -> str:
    """Return JSON in its one stored form. Equal data are equal texts."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def spec_text(spec: SpecDocument) -> str:
    """Return a spec as a text to store."""
    return compact(document_json(spec))


@lru_cache(maxsize=MAX_INTERNED_TEXTS)
def stored_spec(text: str) -> SpecDocument:
    """Return the spec of a stored text."""
    return read_spec(json.loads(text))


def policy_text(policy: Policy) -> str:
    """Return a policy as a text to store, without default values."""
    return compact(without_defaults(policy))


@lru_cache(maxsize=MAX_INTERNED_TEXTS)
def stored_policy(text: str) -> Policy:
    """Return the policy of a stored text."""
    data: dict[str, Any] = json.loads(text)
    for name, kind in POLICY_CHOICES.items():
        if name in data:
            data[name] = kind(data[name])
    return Policy(**data)


def action_text(action: Action) -> str:
    """Return an action as a text to store. It always has the queue, because claims search for it."""
    return compact({**without_defaults(action), "queue": action.queue})


@lru_cache(maxsize=MAX_INTERNED_TEXTS)
def stored_action(text: str) -> Action:
    """Return the action of a stored text."""
    return Action(**json.loads(text))


def calendar_text(calendar: NamedCalendar) -> str:
    """Return a named calendar as a text to store."""
    return compact(asdict(calendar))


@lru_cache(maxsize=1_024)
def stored_calendar(text: str) -> NamedCalendar:
    """Return the named calendar of a stored text."""
    data = json.loads(text)
    windows = tuple(WindowDocument(**window) for window in data.pop("windows"))
    return NamedCalendar(dates=tuple(data.pop("dates")), windows=windows, **data)


def stored_definition(row: VersionRow) -> Definition:
    """Return the definition of a stored version."""
    about = json.loads(row.about)
    return Definition(
        spec=stored_spec(row.spec),
        action=stored_action(row.action),
        policy=stored_policy(row.policy),
        payload=None if row.payload is None else json.loads(row.payload),
        description=about.get("description", ""),
        labels=tuple(sorted(about.get("labels", {}).items())),
        memo=about.get("memo"),
        search_attributes=about.get("search_attributes"),
    )


def compiled_from_row(row: DefinitionRow, calendars: tuple[NamedCalendar, ...] = ()) -> CompiledSchedule:
    """Return a stored version, compiled.

    A time zone that the installed data no longer has must not stop a schedule: it fires in UTC, and ``degraded`` has
    the reason.
    """
    template = _compiled_template(row.spec, row.policy, row.action)
    if template is not None and not calendars:
        return template._replace(
            schedule_key=row.schedule_key,
            version=row.version,
            namespace=row.namespace,
            schedule_id=row.schedule_id,
            payload=row.payload,
        )
    names = (row.schedule_key, row.version, row.namespace, row.schedule_id)
    spec, policy, action = stored_spec(row.spec), stored_policy(row.policy), stored_action(row.action)
    return compile_or_degrade(*names, spec, policy, action, row.payload, calendars)


def compile_or_degrade(  # noqa: PLR0913 - the parts of a version
    schedule_key: int,
    version: int,
    namespace: str,
    schedule_id: str,
    spec: SpecDocument,
    policy: Policy,
    action: Action,
    payload: str | None,
    calendars: tuple[NamedCalendar, ...],
) -> CompiledSchedule:
    """Return a compiled schedule. It fires in UTC, and ``degraded`` has the reason, if its time zone is unknown."""
    names = (schedule_key, version, namespace, schedule_id)
    try:
        return compile_schedule(*names, spec, policy, action, payload, calendars)
    except UnknownZone as error:
        degraded, zones = f"{error}; it fires in UTC meanwhile", zones_text(spec, calendars)
        spec, calendars = in_utc(spec, calendars)
    compiled = compile_schedule(*names, spec, policy, action, payload, calendars)
    return compiled._replace(degraded=degraded, zones=zones, zone_tables=tables_number(zones))


@lru_cache(maxsize=MAX_INTERNED_TEXTS)
def _compiled_template(spec_text: str, policy_text: str, action_text: str) -> CompiledSchedule | None:
    """Return a compiled schedule without an id and a payload, which all schedules with these texts share.

    Return ``None`` if the ticks depend on more than the texts, or if the time zone is unknown.
    """
    spec = stored_spec(spec_text)
    if depends_on_schedule_id(spec) or spec.exclude.named:
        return None
    try:
        return compile_schedule(0, 0, "", "", spec, stored_policy(policy_text), stored_action(action_text))
    except UnknownZone:
        return None


def definition_row(namespace: str, schedule_id: str, row: VersionRow) -> DefinitionRow:
    """Return a version in the form that an engine reads."""
    return DefinitionRow(
        schedule_key=row.schedule_key,
        version=row.version,
        namespace=namespace,
        schedule_id=schedule_id,
        spec=row.spec,
        policy=row.policy,
        action=row.action,
        payload=row.payload,
        calendars=row.calendars,
    )


def without_defaults(document: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults."""
    return {
        field.name: getattr(document, field.name)
        for field in fields(document)
        if getattr(document, field.name) != field.default
    }
