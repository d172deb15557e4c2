"""Options that name what a schedule runs: an HTTP request, a command or a Celery task."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tompion.cli.connection import drop_unset
from tompion.errors import InvalidField, display

PANEL = "What to run"


def _option(*names: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=PANEL, show_default=False)


Http = Annotated[str | None, _option("--http", metavar="URL", text="URL to call.")]
Method = Annotated[str | None, _option("--method", metavar="METHOD", text="Method of --http (POST).")]
Header = Annotated[list[str] | None, _option("--header", metavar="'NAME: VALUE'", text="Header of --http. Repeatable.")]
Body = Annotated[str | None, _option("--body", metavar="BODY", text="Body of --http, JSON or text.")]
Secret = Annotated[
    str | None, _option("--secret", metavar="NAME", text="Configured secret that signs the request of --http.")
]
Expect = Annotated[
    list[str] | None, _option("--expect", metavar="STATUS", text="Successful status: 204, 2xx. Repeatable.")
]
Command = Annotated[str | None, _option("--command", metavar="NAME", text="Configured command.")]
CeleryTask = Annotated[str | None, _option("--celery", metavar="TASK", text="Celery task.")]
Argument = Annotated[
    list[str] | None, _option("--arg", metavar="VALUE", text="Argument of --celery, JSON or text. Repeatable.")
]
KeywordArgument = Annotated[
    list[str] | None,
    _option("--kwarg", metavar="NAME=VALUE", text="Keyword argument of --celery, JSON or text. Repeatable."),
]


def http_fields(  # noqa: PLR0913 - each is an option
    url: str | None,
    method: str | None,
    headers: list[str] | None,
    body: str | None,
    secret: str | None,
    expect: list[str] | None,
) -> dict[str, Any]:
    """Return the field ``http``, or nothing without ``--http``."""
    options = drop_unset(
        method=method and method.upper(),
        headers=dict(_parse_header(text) for text in headers) if headers else None,
        secret=secret,
        expect=[int(status) if status.isdecimal() else status for status in expect] if expect else None,
    )
    if body is not None:
        options["body"] = _json_or_text(body)
    _require("--http", url, options)
    return {} if url is None else {"http": {"url": url, **options}}


def celery_fields(task: str | None, args: list[str] | None, kwargs: list[str] | None) -> dict[str, Any]:
    """Return the field ``celery``, or nothing without ``--celery``."""
    options = drop_unset(
        arg=[_json_or_text(text) for text in args] if args else None,
        kwarg=dict(_parse_keyword(text) for text in kwargs) if kwargs else None,
    )
    _require("--celery", task, options)
    return {} if task is None else {"celery": {"task": task, **{f"{name}s": value for name, value in options.items()}}}


def _require(target: str, value: str | None, options: dict[str, Any]) -> None:
    if value is None and options:
        option = next(iter(options)).removesuffix("s")
        raise InvalidField(f"--{option}", f"only {target} has this option; add {target}")


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parse_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InvalidField("--header", "expected 'NAME: VALUE'")
    return name.strip(), value.strip()


def _parse_keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidField("--kwarg", f"{display(text)}; expected NAME=VALUE")
    return name, _json_or_text(value)
