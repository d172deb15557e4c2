"""``foliot config``: what a process is told, and by whom."""

from __future__ import annotations

from foliot.cli import render
from foliot.cli.options import Config, Json


def config_command(config: Config = None, as_json: Json = False) -> None:
    """Show every setting, its value, and where that came from: default, file, environment.

    Example: foliot config --config production.toml
    """
    from foliot.configuration import told
    from foliot.wiring import masked

    found = told({}, config)
    rows = [
        (each.name, masked(each.value) if each.name == "store" else each.value, each.origin)
        for each in found.values.values()
    ]
    if as_json:
        values = [{"name": name, "value": value, "origin": origin} for name, value, origin in rows]
        executors = sorted(found.executors)
        schedules = [schedule_id for schedule_id, _ in found.schedules]
        render.print_json({"file": found.path, "values": values, "executors": executors, "schedules": schedules})
        return
    width = max(len(name) for name, _, _ in rows)
    for name, value, origin in rows:
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        said_by = "" if origin == "default" else f"  ({origin})"
        render.line(f"{name:<{width}}  {shown}{said_by}")
    for name in sorted(found.executors):
        render.line(f"{'executors.' + name:<{width}}  configured  ({found.path})")
    for schedule_id, _ in found.schedules:
        render.line(f"{'schedule':<{width}}  {schedule_id}  ({found.path})")
