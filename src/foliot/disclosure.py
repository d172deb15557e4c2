"""What a process shows of what it was told: everything but its secrets."""

from __future__ import annotations

from typing import Any

from foliot.configuration import CONFIDENTIAL, Configuration, Value
from foliot.store.masking import masked


def shown_configuration(configuration: Configuration) -> dict[str, Any]:
    """Return everything that a process was told, and by whom, without its secrets."""
    values = [
        {"name": each.name, "value": _without_secret(each), "origin": each.origin}
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


def _without_secret(value: Value) -> Any:
    """Return a value; of an address that nobody else may know, where it leads to."""
    if value.name == "store":
        return masked(value.value)
    if value.name not in CONFIDENTIAL or not value.value:
        return value.value
    return "/".join([*str(value.value).split("/")[:3], "…"])
