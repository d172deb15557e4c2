"""The configuration of a process: every option with its type, default and description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from tompion.config.settings import ENUM_SETTINGS, Settings

DEFAULT_ORIGIN, FLAG_ORIGIN = "default", "flag"
LIMITS = "limits"
EXECUTORS, SCHEDULE, ISSUER, CERTIFICATE = "executors", "schedule", "issuer", "certificate"
NOTIFICATION = "notification"
SECTIONS = (EXECUTORS, SCHEDULE, NOTIFICATION, ISSUER, CERTIFICATE)
"""Sections of a configuration file that are not plain options."""
AUTH_REQUIRED = CLIENT_CERTIFICATE_REQUIRED = "required"
CHOICES = {
    "auth": ("open", AUTH_REQUIRED),
    "tls_client": (CLIENT_CERTIFICATE_REQUIRED, "optional"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
    "tracing": ("off", "otlp"),
    "ping_method": ("GET", "POST"),
}
MAX_VALUES = {"port": 65_535, "metrics_port": 65_535}
MAX_NUMBER = 1 << 40
"""Maximum of an integer option without a limit in ``MAX_VALUES``. No option may be negative."""
CONFIDENTIAL = frozenset({"ping_url", "ping_fail_url"})
"""Options whose value is a secret. Only scheme and host are shown."""
T = TypeVar("T")


def _option(default: T, meaning: str) -> T:
    """Return a dataclass field with a default and the description for the reference and the web UI."""
    option: T = field(default=default, metadata={"meaning": meaning})
    return option


@dataclass(frozen=True, slots=True)
class Config:
    """Effective configuration of a process. Fields with a ``meaning`` are options, the others are sections."""

    store: str = _option("sqlite:///tompion.db", "store of schedules and runs: sqlite:///file.db or postgresql://…")
    host: str = _option("127.0.0.1", "address that the service listens on")
    port: int = _option(8640, "port that the service listens on; 0 selects any free port")
    public_url: str = _option("", "URL at which others reach the service, used in callbacks and links")
    queues: tuple[str, ...] = _option(("default",), "queues that the engine serves")
    app_dir: str = _option(".", "directory from which functions are imported")
    engine: bool = _option(True, "whether the service also runs an engine")
    hosts: tuple[str, ...] = _option((), "host names that the service accepts besides its own address")
    auth: str = _option("open", "open: no credentials, loopback only; required: API key, token or client certificate")
    read_only: bool = _option(False, "whether the service rejects every change")
    max_body_bytes: int = _option(1024 * 1024, "maximum size of a request body")
    requests_per_s: int = _option(0, "maximum requests per second of one caller; 0 means no limit")
    namespace_requests_per_s: int = _option(
        0, "maximum requests per second in one namespace, of all callers together; 0 means no limit"
    )
    tls_cert: str = _option("", "certificate of the service, a PEM file")
    tls_key: str = _option("", "private key of tls_cert, a PEM file")
    tls_client_ca: str = _option("", "authority that signs client certificates, a PEM file")
    tls_client: str = _option(
        CLIENT_CERTIFICATE_REQUIRED,
        "required: every client needs a certificate of tls_client_ca; optional: an API key or a token also works",
    )
    temporal_address: str = _option("", "host:port on which Temporal's SDKs are served; empty means not at all")
    temporal_namespaces: tuple[str, ...] = _option(
        ("default",), "namespaces that Temporal's SDKs may use; name=id also sets the id that seeds jitter"
    )
    metrics_port: int = _option(0, "port that serves metrics; 0 means none. A service also has /metrics")
    metrics_host: str = _option("127.0.0.1", "address that metrics_port listens on, without credentials")
    log_format: str = _option("text", "text: lines for people; json: one object per event")
    log_level: str = _option("info", "lowest level that is logged: debug, info, warning or error")
    access_log: bool = _option(False, "whether every request is logged")
    tracing: str = _option("off", "off, or otlp: spans are sent to a collector, configured by the OTEL_… variables")
    ping_url: str = _option("", "URL that is requested periodically while this process works, for a monitor")
    ping_fail_url: str = _option(
        "", "URL that is requested instead of ping_url while this process does not work; empty means no request"
    )
    ping_every_s: int = _option(60, "interval of requests to ping_url")
    ping_method: str = _option("GET", "method of requests to ping_url: GET, or POST with the problems as the body")
    settings: Settings = field(default_factory=Settings)
    executors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schedules: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    issuers: tuple[Mapping[str, Any], ...] = ()
    certificates: tuple[Mapping[str, Any], ...] = ()
    notifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path: str | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    """Source of each value that is not a default: a file, an environment variable or a flag."""

    def origin(self, name: str) -> str:
        """Return the source of a value: default, flag, a file or an environment variable."""
        return self.origins.get(name, DEFAULT_ORIGIN)


class OptionInfo(NamedTuple):
    """Type, default and description of an option."""

    kind: type
    default: Any
    meaning: str


def limit_name(setting: str) -> str:
    """Return the name of a limit in the configuration: ``limits.tick_ms``."""
    return f"{LIMITS}.{setting}"


OPTIONS: dict[str, OptionInfo] = {
    option.name: OptionInfo(type(option.default), option.default, option.metadata["meaning"])
    for option in fields(Config)
    if "meaning" in option.metadata
}
SETTINGS: dict[str, OptionInfo] = {
    limit_name(setting.name): OptionInfo(
        str if setting.name in ENUM_SETTINGS else int, setting.default, setting.metadata["meaning"]
    )
    for setting in fields(Settings)
}
