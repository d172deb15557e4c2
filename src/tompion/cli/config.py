"""``tompion config``: what a process is told, and by whom."""

from __future__ import annotations

from tompion.cli import render
from tompion.cli.options import Config, Json, Pairs


def config_command(config: Config = None, pairs: Pairs = None, as_json: Json = False) -> None:
    """Show every setting, its value, and where that came from: default, file, environment, flag.

    Exits 2 if something in it cannot be obeyed, a schedule of the file included.

    Example: tompion config --config production.toml --set read_only=true
    """
    from tompion.configuration import told
    from tompion.disclosure import shown_configuration
    from tompion.wiring import check_schedules

    known = told({}, config, pairs or ())
    check_schedules(known)
    found = shown_configuration(known)
    if as_json:
        render.print_json(found)
        return
    width = max(len(each["name"]) for each in found["values"])
    for each in found["values"]:
        value, origin = each["value"], each["origin"]
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        said_by = "" if origin == "default" else f"  ({origin})"
        render.line(f"{each['name']:<{width}}  {shown}{said_by}")
    for name in found["executors"]:
        render.line(f"{'executors.' + name:<{width}}  configured  ({found['file']})")
    for kind in ("schedule", "notification", "issuer", "certificate"):
        for name in found[f"{kind}s"]:
            render.line(f"{kind:<{width}}  {name}  ({found['file']})")
