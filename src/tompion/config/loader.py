"""Loads the configuration: defaults, then a TOML file, then the environment, then flags. The last one wins.

A wrong value is an error before anything starts. The message names the file, the section and the field.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tompion.config.schema import (
    CERTIFICATE,
    CHOICES,
    EXECUTORS,
    FLAG_ORIGIN,
    ISSUER,
    LIMITS,
    MAX_NUMBER,
    MAX_VALUES,
    NOTIFICATION,
    OPTIONS,
    SCHEDULE,
    SECTIONS,
    SETTINGS,
    Config,
    limit_name,
)
from tompion.config.settings import ENUM_SETTINGS, Settings, check_setting
from tompion.errors import InvalidField, InvalidInput, display

DEFAULT_FILE = "tompion.toml"
PREFIX = "TOMPION_"
UNPREFIXED_LIMITS = (
    "tick_ms", "lookahead_ms", "max_catchup_per_tick", "misfire_grace_ms", "max_buffer", "backfills_per_iteration",
    "lock_ttl_ms", "heartbeat_ms", "zombie_after_ms", "default_overlap_policy", "default_catchup_policy",
    "default_jitter_ms", "min_interval_ms",
)  # fmt: skip
"""Limits whose environment variable also works without the prefix."""
OTHER_VARIABLES = frozenset({
    "URL", "KEY", "CA", "CERT", "CERT_KEY", "CONFIG", "TOKEN",
    "RUN_ID", "NAMESPACE", "SCHEDULE_ID", "SCHEDULED_FOR", "SOURCE", "ATTEMPT", "USER_ID", "WORKFLOW_ID",
    "SKIP_UI",
})  # fmt: skip
"""Variables with the prefix that are not settings: of clients, of commands that a run starts, of builds."""
FOREIGN_PREFIXES = ("TEST_", "SERVICE_", "PORT_")
"""Prefixes of variables that belong to tests, or that Kubernetes sets for a service with the name ``tompion``."""
KIND_NAMES = {str: "text", int: "a whole number", bool: "true or false", tuple: "a list of strings"}
BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def load(
    environment: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    path: str | None = None,
    pairs: Sequence[str] = (),
) -> Config:
    """Return the configuration. Raise :class:`~tompion.errors.InvalidInput` if a value is wrong.

    ``pairs`` are ``name=value`` texts of the command line. A flag with the same name wins over a pair.
    """
    document = {} if path is None else _read_file(path)
    _reject_unknown_variables(environment, document)
    values = _ConfigValues()
    values.read_file(document, path or "")
    values.read_environment(environment)
    values.read_pairs(pairs)
    values.read_flags(flags or {})
    return Config(
        **values.options,
        settings=values.settings(),
        executors=_executors(document, path),
        schedules=_schedules(document, path),
        issuers=_blocks(document, ISSUER, path),
        certificates=_blocks(document, CERTIFICATE, path),
        notifications=dict(_named_blocks(document, path, NOTIFICATION, "name")),
        path=path,
        origins=values.origins,
    )


def load_config(flags: Mapping[str, Any], path: str | None = None, pairs: Sequence[str] = ()) -> Config:
    """Return the configuration of this process.

    Without a path, ``TOMPION_CONFIG`` names the file. Without that, ``tompion.toml`` is read if it exists.
    """
    file = path or os.environ.get(f"{PREFIX}CONFIG") or (DEFAULT_FILE if Path(DEFAULT_FILE).exists() else None)
    return load(os.environ, flags, file, pairs)


class _ConfigValues:
    """Values that are not defaults, each with its origin."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.limits: dict[str, Any] = {}
        self.origins: dict[str, str] = {}

    def read_file(self, document: Mapping[str, Any], path: str) -> None:
        for name, value in document.items():
            if name in OPTIONS:
                self._set_option(name, value, f"{path}: {name}", path)
            elif name == LIMITS:
                self._read_limits(value, path)
            elif name not in SECTIONS:
                names = ", ".join([*OPTIONS, LIMITS, *SECTIONS])
                raise InvalidField(f"{path}: {name}", f"unknown setting; expected one of {names}")

    def _read_limits(self, limits: Any, path: str) -> None:
        if not isinstance(limits, Mapping):
            raise InvalidField(f"{path}: {LIMITS}", "expected a table, [limits]")
        for name, value in limits.items():
            if limit_name(name) not in SETTINGS:
                raise InvalidField(f"{path}: {limit_name(name)}", "unknown limit; 'tompion config' lists all")
            self._set_limit(name, value, path)

    def read_environment(self, environment: Mapping[str, str]) -> None:
        for name in OPTIONS:
            variable = f"{PREFIX}{name.upper()}"
            if text := environment.get(variable):
                self._set_option(name, _parse_option(name, text, variable), variable, variable)
        for setting in fields(Settings):
            name = setting.name
            variables = [f"{PREFIX}{name.upper()}", *([name.upper()] if name in UNPREFIXED_LIMITS else [])]
            for variable in [variable for variable in variables if environment.get(variable)][:1]:
                text = environment[variable]
                self._set_limit(name, text if name in ENUM_SETTINGS else _parse_number(text, variable), variable)

    def read_pairs(self, pairs: Sequence[str]) -> None:
        for pair in pairs:
            raw_name, equals, text = pair.partition("=")
            if not equals:
                raise InvalidField("--set", f"{display(pair)}; expected NAME=VALUE, such as read_only=true")
            name = raw_name.strip().replace("-", "_")
            limit = name.removeprefix(f"{LIMITS}.")
            where = f"--set {raw_name}"
            if name in OPTIONS:
                self._set_option(name, _parse_option(name, text, where), where, FLAG_ORIGIN)
            elif limit_name(limit) in SETTINGS:
                self._set_limit(limit, text if limit in ENUM_SETTINGS else _parse_number(text, where), FLAG_ORIGIN)
            else:
                raise InvalidField(where, f"unknown setting; {_suggestion(name, _all_names())}")

    def read_flags(self, flags: Mapping[str, Any]) -> None:
        for name, value in flags.items():
            if value is not None:
                self._set_option(name, value, f"--{name.replace('_', '-')}", FLAG_ORIGIN)

    def settings(self) -> Settings:
        """Return the limits. An error names the origin of the value that caused it."""
        for name, value in self.limits.items():
            try:
                check_setting(name, value)
            except InvalidInput as error:
                full_name = limit_name(name)
                raise InvalidField(f"{self.origins[full_name]}: {full_name}", str(error)) from None
        return Settings(**self.limits)

    def _set_option(self, name: str, value: Any, where: str, origin: str) -> None:
        self.options[name] = _check_option(name, value, where)
        self.origins[name] = origin

    def _set_limit(self, name: str, value: Any, origin: str) -> None:
        self.limits[name] = value
        self.origins[limit_name(name)] = origin


def _read_file(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, or deeply nested brackets
        raise InvalidInput(f"{path}: not valid TOML: {error}") from None


def _check_option(name: str, value: Any, where: str) -> Any:
    """Return the checked value of an option."""
    kind = OPTIONS[name].kind
    if kind is tuple and isinstance(value, list):
        value = tuple(value)
    is_valid = type(value) is kind
    if is_valid and kind is tuple:
        is_valid = all(isinstance(item, str) and item for item in value)
    if not is_valid or (name in CHOICES and value not in CHOICES[name]):
        expected = " or ".join(CHOICES[name]) if name in CHOICES else KIND_NAMES[kind]
        raise InvalidField(where, f"{display(value)}; expected {expected}")
    max_value = MAX_VALUES.get(name, MAX_NUMBER)
    if kind is int and not 0 <= value <= max_value:
        raise InvalidField(where, f"{value}; expected a whole number from 0 to {max_value}")
    return value


def _reject_unknown_variables(environment: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Raise if a variable with the prefix is not a setting. A misspelt name would have no effect."""
    names = [name.upper() for name in _all_names()]
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or not environment[variable] or name in names or name in OTHER_VARIABLES:
            continue
        if name.startswith(FOREIGN_PREFIXES) or variable in _texts(document):  # the file names it as a secret
            continue
        raise InvalidField(variable, f"unknown setting; {_suggestion(name, names, PREFIX)}")


def _all_names() -> list[str]:
    return [*OPTIONS, *(setting.name for setting in fields(Settings))]


def _suggestion(name: str, names: Sequence[str], prefix: str = "") -> str:
    nearest = get_close_matches(name, names, 1)
    return f"did you mean {prefix}{nearest[0]}?" if nearest else "'tompion config' lists all"


def _texts(value: Any) -> set[str]:
    """Return every text in a document, at any depth."""
    if isinstance(value, str):
        return {value}
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return {text for item in items for text in _texts(item)}


def _parse_option(name: str, text: str, where: str) -> Any:
    kind = OPTIONS[name].kind
    if kind is int:
        return _parse_number(text, where)
    if kind is bool:
        return BOOLEANS.get(text.lower(), text)
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _parse_number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidField(where, f"{display(text)}; expected a whole number") from None


def _executors(document: Mapping[str, Any], path: str | None) -> Mapping[str, Mapping[str, Any]]:
    table = document.get(EXECUTORS, {})
    if not isinstance(table, Mapping) or not all(isinstance(options, Mapping) for options in table.values()):
        raise InvalidField(f"{path}: {EXECUTORS}", f"expected tables, such as [{EXECUTORS}.http]")
    return table


def _schedules(document: Mapping[str, Any], path: str | None) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    blocks = _named_blocks(document, path, SCHEDULE, "id", "schedule_id").items()
    names = ("id", "schedule_id")
    return tuple(
        (schedule_id, {name: value for name, value in block.items() if name not in names})
        for schedule_id, block in blocks
    )


def _named_blocks(
    document: Mapping[str, Any], path: str | None, kind: str, key: str, long_key: str = ""
) -> dict[str, Mapping[str, Any]]:
    """Return the blocks of a kind by name, in the order of the file. ``long_key`` is another name of the key."""
    blocks: dict[str, Mapping[str, Any]] = {}
    for number, block in enumerate(_blocks(document, kind, path), 1):
        if long_key in block and key in block:
            raise InvalidField(
                f"{path}: [[{kind}]] number {number}: {key}", f"sent twice: {long_key} is the same field"
            )
        name = block.get(long_key) if long_key in block else block.get(key)
        where = f"{path}: [[{kind}]] number {number}: {key}"
        if not isinstance(name, str) or not name:
            raise InvalidField(where, "required; expected text")
        if name in blocks:
            raise InvalidField(where, f"duplicate name {name!r}")
        blocks[name] = block
    return blocks


def _blocks(document: Mapping[str, Any], name: str, path: str | None) -> tuple[Mapping[str, Any], ...]:
    blocks = document.get(name, [])
    if name == SCHEDULE and isinstance(blocks, Mapping):
        blocks = [blocks]  # a file with one schedule can write [schedule]
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        raise InvalidField(f"{path}: {name}", f"expected blocks, [[{name}]]")
    return tuple(blocks)
