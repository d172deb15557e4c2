"""The action of a schedule: one field names what its runs start, the others say for which queue and user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tompion.config.settings import Settings
from tompion.errors import InvalidField, display
from tompion.model.action_options import EXECUTOR_OPTIONS, HTTP_METHODS, TARGET_FIELDS, header_problem
from tompion.model.schedule import Action
from tompion.operations.validation import check_duration_ms, check_name, check_optional_whole

ACTION_FIELDS = (*TARGET_FIELDS, "workflow_version", "queue", "user_id")

MAX_URL_CHARS = 8_000

MAX_TIMEOUT_MS = 30 * 86_400_000

TIMEOUTS = ("timeout_ms", "execution_timeout_ms", "run_timeout_ms", "task_timeout_ms")

_NO_TARGET: dict[str, Any] = {
    "function": None,
    "workflow_id": None,
    "workflow_version": None,
    "executor": None,
    "options": None,
}


def parse_action(document: Mapping[str, Any], base: Action | None, settings: Settings) -> Action:
    """Return the action of some fields, on top of ``base``. A target replaces the target of ``base``."""
    action = base or Action()
    fields = [name for name in TARGET_FIELDS if document.get(name) is not None]
    if len(fields) > 1:
        raise InvalidField(fields[1], f"sent together with {fields[0]}; a schedule runs one thing, so remove one")
    changes: dict[str, Any] = {}
    if fields:
        changes = {**_NO_TARGET, **_target(fields[0], document[fields[0]], settings)}
        if changes["workflow_id"] == action.workflow_id:
            changes["workflow_version"] = action.workflow_version
    elif action.target_field in document:
        changes = dict(_NO_TARGET)
    if "workflow_version" in document:
        changes["workflow_version"] = check_optional_whole("workflow_version", document["workflow_version"], 1, 1 << 31)
    if "queue" in document:
        changes["queue"] = check_name("queue", document["queue"], settings)
    if "user_id" in document:
        user_id = document["user_id"]
        changes["user_id"] = None if user_id is None else check_name("user_id", user_id, settings)
    action = replace(action, **changes)
    if action.target_field is None:
        names = ", ".join(TARGET_FIELDS[1:])
        raise InvalidField(
            "function", f"there is nothing to run; add function ('package.module:name') or one of {names}"
        )
    if action.workflow_id is None and action.workflow_version is not None:
        raise InvalidField(
            "workflow_version",
            f"a {action.target_field} has no versions; send workflow_id instead of {action.target_field}",
        )
    return action


def _target(field: str, value: Any, settings: Settings) -> dict[str, Any]:
    """Return the fields of an action that starts a target."""
    if field == "workflow_id":
        return {field: check_name(field, value, settings)}
    if field == "function":
        path = check_name(field, value, settings)
        if not _is_path(path):
            raise InvalidField(field, f"{display(path)} is not an import path; expected 'package.module:name'")
        return {field: path}
    if field == "command":
        return {"executor": field, "options": {field: check_name(field, value, settings)}}
    return {"executor": field, "options": _options(field, value)}


def _is_path(text: str) -> bool:
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), *name.split(".")])


def _options(executor: str, value: Any) -> dict[str, Any]:
    """Return the checked options of an executor. Options that are null count as absent."""
    names = EXECUTOR_OPTIONS[executor]
    if not isinstance(value, Mapping):
        raise InvalidField(executor, f"{display(value)} is not an object; expected one with {', '.join(names)}")
    options = {
        name: check_duration_ms(f"{executor}.{name}", option, 1, MAX_TIMEOUT_MS) if name in TIMEOUTS else option
        for name, option in value.items()
        if option is not None
    }
    for name, option in options.items():
        if name not in names:
            raise InvalidField(f"{executor}.{name}", f"there is no such option; expected one of {', '.join(names)}")
        checks = _CHECKS.get((executor, name)) or _CHECKS[name]
        checks(f"{executor}.{name}", option)
    for required in _REQUIRED[executor]:
        if not any(name in options for name in required):
            raise InvalidField(f"{executor}.{required[0]}", f"required; expected {' or '.join(required)}")
    for first, second in _EXCLUSIVE.get(executor, ()):
        if first in options and second in options:
            raise InvalidField(f"{executor}.{second}", f"sent together with {first}; remove one of them")
    _check_headers(options)
    return options


_REQUIRED: dict[str, tuple[tuple[str, ...], ...]] = {
    "http": (("url",),),
    "celery": (("task",),),
    "temporal": (("workflow",), ("task_queue",)),
    "nats": (("subject",),),
    "redis": (("stream",),),
    "rabbitmq": (("queue", "exchange"),),
    "postgres": (("table", "function"),),
}
"""The options that each executor needs: one of each group."""

_EXCLUSIVE: dict[str, tuple[tuple[str, str], ...]] = {
    "rabbitmq": (("queue", "exchange"), ("queue", "routing_key")),
    "postgres": (("table", "function"), ("table", "args"), ("function", "columns")),
    "temporal": (("start", "args"),),
}
"""Options that exclude each other."""


# --- checks of one option ---------------------------------------------------------------------------------------------


def _text(field: str, value: Any) -> None:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidField(field, f"{display(value)}; expected text")


def _text_or_empty(field: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidField(field, f"{display(value)}; expected text")


def _any_json(field: str, value: Any) -> None:
    """Accept a value. The whole action is checked to be JSON."""


def _object(field: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidField(field, f"{display(value)} is not an object")


def _list(field: str, value: Any) -> None:
    if not isinstance(value, list | tuple):
        raise InvalidField(field, f"{display(value)} is not a list")


def _one_of(*choices: str) -> Callable[[str, Any], None]:
    def check(field: str, value: Any) -> None:
        if value not in choices:
            raise InvalidField(field, f"{display(value)}; expected one of {', '.join(choices)}")

    return check


def _url(field: str, value: Any) -> None:
    """Raise if a value is not an HTTP URL, or if it has credentials."""
    expected = "expected a URL such as https://example.org/run"
    if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_URL_CHARS:
        raise InvalidField(field, expected)
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidField(field, expected) from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidField(field, expected)  # the value may hold a password
    if parts.username is not None or parts.password is not None:
        raise InvalidField(field, "must not contain a user or a password; use a header")


def _headers(field: str, value: Any) -> None:
    _object(field, value)
    for name, text in value.items():
        if not isinstance(text, str):
            raise InvalidField(f"{field}.{name}", "expected text")


def _check_headers(options: Mapping[str, Any]) -> None:
    for name, text in options.get("headers", {}).items():
        problem = header_problem(str(name), text, has_body="body" in options)
        if problem is not None:
            raise InvalidField("http.headers", problem)


def _expect(field: str, value: Any) -> None:
    rules = value if isinstance(value, list | tuple) else [value]
    classes = [f"{number}xx" for number in range(2, 6)]
    for rule in rules:
        if rule not in classes and not (type(rule) is int and 200 <= rule <= 599):
            raise InvalidField(field, f"{display(rule)}; expected statuses such as 204 or '2xx'")
    if not rules:
        raise InvalidField(field, "expected at least one status such as 204 or '2xx'")


_CHECKS: dict[str | tuple[str, str], Callable[[str, Any], None]] = {
    "url": _url,
    "cancel_url": _url,
    "method": _one_of(*HTTP_METHODS),
    "headers": _headers,
    "body": _any_json,
    "secret": _text,
    "expect": _expect,
    "timeout_ms": _any_json,
    "task": _text,
    "args": _list,
    "kwargs": _object,
    "queue": _text,
    "done": _one_of("taken", "reported"),
    ("celery", "done"): _one_of("followed", "reported", "taken"),
    ("temporal", "done"): _one_of("followed", "taken"),
    "workflow": _text,
    "task_queue": _text,
    "workflow_id": _text,
    "id": _one_of("suffix", "as_is"),
    "memo": _object,
    "search_attributes": _object,
    "start": _object,
    "execution_timeout_ms": _any_json,
    "run_timeout_ms": _any_json,
    "task_timeout_ms": _any_json,
    "subject": _text,
    "stream": _text,
    "exchange": _text,
    "routing_key": _text_or_empty,
    "table": _text,
    "columns": _object,
    "function": _text,
}
"""The check of each option, by its name, or by the executor and its name."""
