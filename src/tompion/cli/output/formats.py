"""Output formats of the commands: ``-o table``, ``wide``, ``json``, ``yaml`` or ``name``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any

from tompion.cli.output import console
from tompion.errors import InvalidInput, TompionError

NAME_FIELDS = (
    "run_id",
    "backfill_id",
    "notification_id",
    "schedule_id",
    "workflow_id",
    "key_id",
    "instance_id",
    "queue",
    "name",
)
"""Fields that identify an item, the most specific first."""
MAX_YAML_WIDTH = 1 << 30
"""Lines of YAML are not folded."""


class OutputFormat(StrEnum):
    """Format of the output of a command."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"

    @property
    def is_data(self) -> bool:
        """Whether the output is for programs."""
        return self in (OutputFormat.JSON, OutputFormat.YAML, OutputFormat.NAME)


wide_tables: ContextVar[bool] = ContextVar("wide_tables", default=False)
"""Whether tables show all columns, whatever the width of the terminal."""


utc_times: ContextVar[bool] = ContextVar("utc_times", default=False)
"""Whether all times are in UTC."""


def print_data(value: Any, output: OutputFormat) -> None:
    """Print JSON-ready data as JSON, YAML or names."""
    if output == OutputFormat.YAML:
        console.print_plain(_yaml(value))
    elif output == OutputFormat.NAME:
        for name in _names(value):
            console.print_plain(name)
    else:
        console.print_json(value)


def print_error(error: TompionError, output: OutputFormat) -> None:
    """Print an error to standard error as a problem document: one line of JSON, or YAML."""
    from tompion.contract.json import encode_error

    document = encode_error(error)
    is_yaml = output == OutputFormat.YAML
    text = _yaml(document) if is_yaml else json.dumps(document, ensure_ascii=False)
    print(text, file=sys.stderr)  # noqa: T201 - this is the output


def requested_format(words: Sequence[str]) -> OutputFormat:
    """Return the format that a command line requests, for errors before the options are parsed."""
    text = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--":
            break
        if word in ("-o", "--output"):
            text = following
        elif word.startswith(("-o", "--output=")):
            text = word.removeprefix("--output=").removeprefix("-o").removeprefix("=")
    return OutputFormat(text) if text in list(OutputFormat) else OutputFormat.TABLE


def _names(value: Any) -> Iterator[str]:
    """Yield the name of each item."""
    if isinstance(value, dict) and isinstance(value.get("schedule_ids"), list):
        yield from value.get("run_ids") or value["schedule_ids"]
        return
    if isinstance(value, dict):
        for field in ("items", "ticks", "problems"):
            if isinstance(value.get(field), list):
                value = value[field]
                break
        else:
            value = [value.get("schedule") or value.get("key") or value]
    for item in value if isinstance(value, list) else [value]:
        fields = [name for name in NAME_FIELDS if isinstance(item, dict) and item.get(name) is not None]
        if not fields:
            raise InvalidInput("-o name: this command shows nothing that has a name; use -o json")
        yield str(item[fields[0]])


def _yaml(value: Any) -> str:
    import yaml  # type: ignore[import-untyped]  # it has no annotations

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # its base has no annotations
        def ignore_aliases(self, _data: Any) -> bool:
            return True

    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=MAX_YAML_WIDTH)
    return text.removesuffix("\n").removesuffix("\n...")
