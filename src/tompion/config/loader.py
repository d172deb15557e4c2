"""What a process is told: by defaults, a TOML file, the environment and flags; whoever comes last in this row counts.

Every value knows where it came from, and one that cannot be obeyed is refused before anything starts, naming the file,
the block and the field.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tompion.config.settings import CHOICES as CHOSEN
from tompion.config.settings import Settings
from tompion.errors import InvalidField, InvalidInput, display

FILE = "tompion.toml"
PREFIX = "TOMPION_"
DEFAULT, FLAG = "default", "flag"
LIMITS = "limits"
SEED_NAMES = (
    "tick_ms", "lookahead_ms", "max_catchup_per_tick", "misfire_grace_ms", "max_buffer", "backfills_per_iteration",
    "lock_ttl_ms", "heartbeat_ms", "zombie_after_ms", "default_overlap_policy", "default_catchup_policy",
    "default_jitter_ms", "min_interval_ms",
)  # fmt: skip
"""Limits that the environment may also name without the prefix."""
OTHERS = frozenset({
    "URL", "KEY", "CA", "CERT", "CERT_KEY", "CONFIG", "TOKEN",
    "RUN_ID", "NAMESPACE", "SCHEDULE_ID", "SCHEDULED_FOR", "SOURCE", "ATTEMPT", "USER_ID", "WORKFLOW_ID",
    "BROWSER", "SKIP_PAGE", "PG_BIN", "CHAOS_LOG",
})  # fmt: skip
"""What the prefix also stands before: what a client is told, what a command finds, what building and testing read."""
FOREIGN = ("TEST_", "ORACLE_", "PEERS_", "SERVICE_", "PORT_")
"""How others begin: those of tests, and those that Kubernetes sets for a service that is called ``tompion``."""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a process can be told."""

    kind: type
    default: Any
    meaning: str


OPTIONS: dict[str, Option] = {
    "store": Option(
        str, "sqlite:///tompion.db", "where schedules and runs are kept: sqlite:///file.db or postgresql://…"
    ),
    "host": Option(str, "127.0.0.1", "where the service listens"),
    "port": Option(int, 8640, "at which port; 0 is any free one"),
    "public_url": Option(str, "", "where others reach the service, for reports about runs"),
    "queues": Option(list, ["default"], "the queues that the engine serves"),
    "app_dir": Option(str, ".", "where functions are found"),
    "engine": Option(bool, True, "whether the service runs an engine, too"),
    "hosts": Option(list, [], "names by which the service may be addressed, besides its own address"),
    "auth": Option(
        str, "open", "open: whoever reaches it may do everything, loopback only; required: a key or a token"
    ),
    "read_only": Option(bool, False, "whether every change is refused"),
    "max_body_bytes": Option(int, 1024 * 1024, "the largest body of a request"),
    "requests_per_s": Option(int, 0, "how many requests a caller may send per second; 0 is no bound"),
    "namespace_requests_per_s": Option(
        int, 0, "how many requests per second a namespace takes, whoever sends them; 0 is no bound"
    ),
    "tls_cert": Option(str, "", "the service's certificate, a PEM file"),
    "tls_key": Option(str, "", "the private key of tls_cert, a PEM file"),
    "tls_client_ca": Option(str, "", "who signs the certificates of clients, a PEM file"),
    "tls_client": Option(
        str,
        "required",
        "required: whoever connects shows a certificate of tls_client_ca; optional: or a key or a token instead",
    ),
    "temporal_address": Option(str, "", "where Temporal's SDKs are served, as host:port; nowhere, if it is empty"),
    "temporal_namespaces": Option(
        list,
        ["default"],
        "the namespaces that Temporal's SDKs may name; name=id also says the id that jitter is a hash of",
    ),
    "metrics_port": Option(int, 0, "at which port metrics are shown; 0 is none. A service has them at /metrics, too"),
    "metrics_host": Option(str, "127.0.0.1", "where metrics_port is open, to whoever can reach it"),
    "log_format": Option(str, "text", "text: lines for people; json: one object for each event"),
    "log_level": Option(str, "info", "debug, info, warning or error: what matters less is not printed"),
    "access_log": Option(bool, False, "whether every request is logged"),
    "tracing": Option(str, "off", "off, or otlp: spans are sent to a collector, as the variables OTEL_… say"),
    "ping_url": Option(
        str, "", "what is requested again and again while this process works, so that a monitor notices"
    ),
    "ping_fail_url": Option(
        str, "", "what is requested instead of ping_url while this process does not work; without it, nothing is"
    ),
    "ping_every_s": Option(int, 60, "how often ping_url is requested"),
    "ping_method": Option(str, "GET", "how ping_url is requested: GET, or POST, which says what is wrong"),
}
REQUIRED = "required"
CHOICES = {
    "auth": ("open", REQUIRED),
    "tls_client": (REQUIRED, "optional"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
    "tracing": ("off", "otlp"),
    "ping_method": ("GET", "POST"),
}
MAX_BY_OPTION = {"port": 65_535, "metrics_port": 65_535}
MAX_INTEGER = 1 << 40
"""What a whole number is at most; none is negative."""
CONFIDENTIAL = frozenset({"ping_url", "ping_fail_url"})
"""Options that whoever knows them can misuse: only their beginning is shown."""
EXECUTORS, SCHEDULE, ISSUER, CERTIFICATE = "executors", "schedule", "issuer", "certificate"
NOTIFICATION = "notification"
PARTS = (EXECUTORS, SCHEDULE, NOTIFICATION, ISSUER, CERTIFICATE)
"""Parts of a file that have a form of their own."""


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """An effective value, and where it came from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that a process was told."""

    values: Mapping[str, ConfigValue]
    settings: Settings
    executors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schedules: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    issuers: tuple[Mapping[str, Any], ...] = ()
    certificates: tuple[Mapping[str, Any], ...] = ()
    notifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path: str | None = None

    def get(self, name: str) -> Any:
        """Return an effective value."""
        return self.values[name].value


def option_of(name: str) -> Option:
    """Return what may be said of an option, or of a limit by its whole name."""
    if name in OPTIONS:
        return OPTIONS[name]
    limit = next(each for each in fields(Settings) if name == f"{LIMITS}.{each.name}")
    return Option(str if limit.name in CHOSEN else int, limit.default, limit.metadata["meaning"])


def load(
    environment: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    path: str | None = None,
    pairs: Sequence[str] = (),
) -> Config:
    """Return what a process is told; raises :class:`~tompion.errors.InvalidInput`.

    ``pairs`` are ``name=value`` as text, from the command line; a flag of its own counts before them.
    """
    document = {} if path is None else _read(path)
    values = {name: ConfigValue(name, option.default, DEFAULT) for name, option in OPTIONS.items()}
    values |= {
        f"{LIMITS}.{each.name}": ConfigValue(f"{LIMITS}.{each.name}", each.default, DEFAULT)
        for each in fields(Settings)
    }
    _from_file(values, document, path or "")
    _refuse_unknown(environment, document)
    _from_environment(values, environment)
    _from_pairs(values, pairs)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = ConfigValue(name, _checked(name, value, f"--{name.replace('_', '-')}"), FLAG)
    return Config(
        values=values,
        settings=_settings(values),
        executors=_executors(document, path),
        schedules=_schedules(document, path),
        issuers=_blocks(document, ISSUER, path),
        certificates=_blocks(document, CERTIFICATE, path),
        notifications=dict(_named_blocks(document, path, NOTIFICATION, "name")),
        path=path,
    )


def load_config(flags: Mapping[str, Any], path: str | None = None, pairs: Sequence[str] = ()) -> Config:
    """Return what this process is told.

    Without a path, ``TOMPION_CONFIG`` names the file, or it is ``tompion.toml`` here, if there is one.
    """
    chosen = path or os.environ.get(f"{PREFIX}CONFIG") or (FILE if Path(FILE).exists() else None)
    return load(os.environ, flags, chosen, pairs)


def _read(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # a number of five thousand digits, or brackets in brackets, too
        raise InvalidInput(f"{path}: this is no TOML: {error}") from None


def _from_file(values: dict[str, ConfigValue], document: Mapping[str, Any], path: str) -> None:
    for name, value in document.items():
        if name in OPTIONS:
            values[name] = ConfigValue(name, _checked(name, value, f"{path}: {name}"), path)
        elif name == LIMITS:
            _limits_from_file(values, value, path)
        elif name not in PARTS:
            known = ", ".join([*OPTIONS, LIMITS, *PARTS])
            raise InvalidField(f"{path}: {name}", f"there is no such setting; expected one of {known}")


def _limits_from_file(values: dict[str, ConfigValue], limits: Any, path: str) -> None:
    if not isinstance(limits, Mapping):
        raise InvalidField(f"{path}: {LIMITS}", "expected a table, [limits]")
    for name, value in limits.items():
        full = f"{LIMITS}.{name}"
        if full not in values:
            raise InvalidField(f"{path}: {full}", "there is no such limit; 'tompion config' shows all")
        values[full] = ConfigValue(full, value, path)


def _checked(name: str, value: Any, where: str) -> Any:
    option = OPTIONS[name]
    right = type(value) is option.kind
    if right and option.kind is list:
        right = all(isinstance(each, str) and each for each in value)
    if not right or (name in CHOICES and value not in CHOICES[name]):
        expected = " or ".join(CHOICES[name]) if name in CHOICES else _KINDS[option.kind]
        raise InvalidField(where, f"{display(value)}; expected {expected}")
    most = MAX_BY_OPTION.get(name, MAX_INTEGER)
    if option.kind is int and not 0 <= value <= most:
        raise InvalidField(where, f"{value}; expected a whole number from 0 to {most}")
    return value


def _refuse_unknown(environment: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Raise if the environment sets what there is not: a word that is misspelt would be obeyed by nobody."""
    known = [name.upper() for name in (*OPTIONS, *(each.name for each in fields(Settings)))]
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or not environment[variable] or name in known or name in OTHERS:
            continue
        if name.startswith(FOREIGN) or variable in _texts(document):  # a secret's, that the file names
            continue
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else "'tompion config' shows all"
        raise InvalidField(variable, f"there is no such setting; {hint}")


def _texts(value: Any) -> set[str]:
    """Return every text within a document."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return {text for each in inner for text in _texts(each)}


def _from_environment(values: dict[str, ConfigValue], environment: Mapping[str, str]) -> None:
    for name, option in OPTIONS.items():
        variable = f"{PREFIX}{name.upper()}"
        if environment.get(variable):
            values[name] = ConfigValue(name, _parsed(name, option.kind, environment[variable], variable), variable)
    for each in fields(Settings):
        names = [f"{PREFIX}{each.name.upper()}", *([each.name.upper()] if each.name in SEED_NAMES else [])]
        for variable in names:
            if environment.get(variable):
                full = f"{LIMITS}.{each.name}"
                text = environment[variable]
                values[full] = ConfigValue(full, text if each.name in CHOSEN else _number(text, variable), variable)
                break


def _from_pairs(values: dict[str, ConfigValue], pairs: Sequence[str]) -> None:
    for pair in pairs:
        said, equals, text = pair.partition("=")
        name = said.strip().replace("-", "_")
        full = name if name in values else f"{LIMITS}.{name}"
        where = f"--set {said}"
        if not equals:
            raise InvalidField("--set", f"{display(pair)}; expected NAME=VALUE, such as read_only=true")
        if full not in values:
            near = get_close_matches(name, [*OPTIONS, *(each.name for each in fields(Settings))], 1)
            hint = f"did you mean {near[0]}?" if near else "'tompion config' shows all"
            raise InvalidField(where, f"there is no such setting; {hint}")
        option = OPTIONS.get(full)
        value = _number(text, where) if option is None else _parsed(full, option.kind, text, where)
        values[full] = ConfigValue(full, value, FLAG)


def _parsed(name: str, kind: type, text: str, where: str) -> Any:
    value: Any = text
    if kind is int:
        value = _number(text, where)
    elif kind is bool:
        value = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    elif kind is list:
        value = [part.strip() for part in text.split(",") if part.strip()]
    return _checked(name, value, where)


def _number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidField(where, f"{display(text)}; expected a whole number") from None


def _settings(values: Mapping[str, ConfigValue]) -> Settings:
    settings = Settings()
    for each in fields(Settings):
        value = values[f"{LIMITS}.{each.name}"]
        if value.origin == DEFAULT:
            continue
        try:
            settings = replace(settings, **{each.name: value.value})
        except InvalidInput as error:
            if "at most half" not in str(error):  # two limits that only together make sense
                raise InvalidField(f"{value.origin}: {value.name}", str(error)) from None
    return replace(settings, **{each.name: values[f"{LIMITS}.{each.name}"].value for each in fields(Settings)})


def _executors(document: Mapping[str, Any], path: str | None) -> Mapping[str, Mapping[str, Any]]:
    table = document.get(EXECUTORS, {})
    if not isinstance(table, Mapping) or not all(isinstance(each, Mapping) for each in table.values()):
        raise InvalidField(f"{path}: {EXECUTORS}", f"expected tables, such as [{EXECUTORS}.http]")
    return table


def _schedules(document: Mapping[str, Any], path: str | None) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    blocks = _named_blocks(document, path, SCHEDULE, "id").items()
    return tuple(
        (schedule_id, {name: value for name, value in block.items() if name != "id"}) for schedule_id, block in blocks
    )


def _named_blocks(document: Mapping[str, Any], path: str | None, kind: str, key: str) -> dict[str, Mapping[str, Any]]:
    """Return the blocks of a kind by what each is called, in their order."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, block in enumerate(_blocks(document, kind, path), 1):
        name = block.get(key)
        if not isinstance(name, str) or not name:
            raise InvalidField(f"{path}: [[{kind}]] number {number}: {key}", "it must be there, and be text")
        if name in found:
            raise InvalidField(f"{path}: [[{kind}]] number {number}: {key}", f"{name!r} is there twice")
        found[name] = block
    return found


def _blocks(document: Mapping[str, Any], name: str, path: str | None) -> tuple[Mapping[str, Any], ...]:
    blocks = document.get(name, [])
    if not isinstance(blocks, list) or not all(isinstance(each, Mapping) for each in blocks):
        raise InvalidField(f"{path}: {name}", f"expected blocks, [[{name}]]")
    return tuple(blocks)


_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list of texts"}
