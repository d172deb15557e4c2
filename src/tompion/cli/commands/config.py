"""``tompion config``: what a process is told, and by whom."""

from __future__ import annotations

from tompion.cli.options import ConfigFile, Json, Pairs
from tompion.cli.output import console


def config_command(config: ConfigFile = None, pairs: Pairs = None, as_json: Json = False) -> None:
    """Show every setting, its value, and where that came from: default, file, environment, flag.

    Exits 2 if something in it cannot be obeyed, a schedule of the file included.

    Example: tompion config --config production.toml --set read_only=true
    """
    from tompion.bootstrap.engine import check_schedules
    from tompion.config.loader import load_config
    from tompion.config.redact import redacted_config

    known = load_config({}, config, pairs or ())
    check_schedules(known)
    found = redacted_config(known)
    if as_json:
        console.print_json(found)
        return
    width = max(len(each["name"]) for each in found["values"])
    for each in found["values"]:
        value, origin = each["value"], each["origin"]
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        said_by = "" if origin == "default" else f"  ({origin})"
        console.line(f"{each['name']:<{width}}  {shown}{said_by}")
    for name in found["executors"]:
        console.line(f"{'executors.' + name:<{width}}  configured  ({found['file']})")
    for kind in ("schedule", "notification", "issuer", "certificate"):
        for name in found[f"{kind}s"]:
            console.line(f"{kind:<{width}}  {name}  ({found['file']})")
