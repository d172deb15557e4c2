"""The effective configuration without its secrets, for ``tompion config`` and the API."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tompion.config.schema import CONFIDENTIAL, OPTIONS, SETTINGS, Config, limit_name
from tompion.config.settings import Settings
from tompion.runtime.url_masking import mask_password

UNITS = {
    "_per_s": "per second",
    "_ms": "milliseconds",
    "_s": "seconds",
    "_bytes": "bytes",
    "_chars": "characters",
    "_ticks": "ticks",
}
"""Units by the suffix of a setting's name."""


def redacted_config(config: Config) -> dict[str, Any]:
    """Return every setting with its value and origin, without secrets."""
    values = {name: _redact(name, getattr(config, name)) for name in OPTIONS}
    values |= {limit_name(setting.name): getattr(config.settings, setting.name) for setting in fields(Settings)}
    return {
        "file": config.path,
        "values": [
            {"name": name, "value": _as_json(value), "origin": config.origin(name), **_description(name)}
            for name, value in values.items()
        ],
        "executors": sorted(config.executors),
        "schedules": [schedule_id for schedule_id, _ in config.schedules],
        "notifications": sorted(config.notifications),
        "issuers": [str(issuer.get("iss")) for issuer in config.issuers],
        "certificates": [str(block.get("uri") or block.get("dns") or block.get("cn")) for block in config.certificates],
    }


def _description(name: str) -> dict[str, Any]:
    """Return default, meaning and unit of a setting."""
    option = OPTIONS[name] if name in OPTIONS else SETTINGS[name]
    return {"default": _as_json(option.default), "meaning": option.meaning, "unit": unit_of(name)}


def unit_of(name: str) -> str | None:
    """Return the unit in which a setting is given, from the suffix of its name."""
    return next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), None)


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _redact(name: str, value: Any) -> Any:
    """Return a value without its password. Of a confidential URL only scheme and host remain."""
    if name == "store":
        return mask_password(value)
    if name not in CONFIDENTIAL or not value:
        return value
    return "/".join([*str(value).split("/")[:3], "…"])
