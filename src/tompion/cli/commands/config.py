"""``tompion config``: the effective configuration and its origins."""

from __future__ import annotations

from tompion.cli.options import ConfigFile, Output, Pairs, load_process_config
from tompion.cli.output import console
from tompion.cli.output.formats import OutputFormat, print_data


def config_command(config_file: ConfigFile = None, pairs: Pairs = None, output: Output = OutputFormat.TABLE) -> None:
    """Check the configuration and show every setting.

    The origin is a file, an environment variable or a flag.
    Exits 2 if 'tompion serve' would reject the configuration.

    Example: tompion config --config production.toml --set read_only=true
    """
    import asyncio

    from tompion.bootstrap.check import check_config
    from tompion.config.redact import redacted_config
    from tompion.config.schema import DEFAULT_ORIGIN

    config = load_process_config(config_file, {}, pairs)
    asyncio.run(check_config(config))
    document = redacted_config(config)
    if output.is_data:
        print_data(document, output)
        return
    width = max(len(setting["name"]) for setting in document["values"])
    for setting in document["values"]:
        value, origin = setting["value"], setting["origin"]
        text = ", ".join(value) if isinstance(value, list) else str(value)
        suffix = "" if origin == DEFAULT_ORIGIN else f"  ({origin})"
        console.line(f"{setting['name']:<{width}}  {text}{suffix}")
    for name in document["executors"]:
        console.line(f"{'executors.' + name:<{width}}  configured  ({document['file']})")
    for kind in ("schedule", "notification", "issuer", "certificate"):
        for name in document[f"{kind}s"]:
            console.line(f"{kind:<{width}}  {name}  ({document['file']})")
