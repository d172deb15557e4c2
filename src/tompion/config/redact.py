"""What a process shows of what it was told: everything but its secrets."""

from __future__ import annotations

from typing import Any

from tompion.config.loader import CONFIDENTIAL, Config, ConfigValue, option_of
from tompion.store.url_masking import mask_password

UNITS = {
    "_per_s": "per second",
    "_ms": "milliseconds",
    "_s": "seconds",
    "_bytes": "bytes",
    "_chars": "characters",
    "_ticks": "ticks",
}
"""What the end of a setting's name says of its value."""


def redacted_config(configuration: Config) -> dict[str, Any]:
    """Return everything that a process was told, and by whom, without its secrets."""
    values = [
        {"name": each.name, "value": _without_secret(each), "origin": each.origin, **_explained(each.name)}
        for each in configuration.values.values()
    ]
    return {
        "file": configuration.path,
        "values": values,
        "executors": sorted(configuration.executors),
        "schedules": [schedule_id for schedule_id, _ in configuration.schedules],
        "notifications": sorted(configuration.notifications),
        "issuers": [str(each.get("iss")) for each in configuration.issuers],
        "certificates": [
            str(each.get("uri") or each.get("dns") or each.get("cn")) for each in configuration.certificates
        ],
    }


def _explained(name: str) -> dict[str, Any]:
    """What a setting is unless somebody says otherwise, what it means, and in which unit it is."""
    option = option_of(name)
    return {"default": option.default, "meaning": option.meaning, "unit": unit_of(name)}


def unit_of(name: str) -> str | None:
    """Return the unit that the name of a setting ends with."""
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), None)


def _without_secret(value: ConfigValue) -> Any:
    """Return a value; of an address that nobody else may know, where it leads to."""
    if value.name == "store":
        return mask_password(value.value)
    if value.name not in CONFIDENTIAL or not value.value:
        return value.value
    return "/".join([*str(value.value).split("/")[:3], "…"])
