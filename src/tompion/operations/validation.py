"""Checks of single values that callers send."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from tompion.config.settings import Settings
from tompion.errors import InvalidField, InvalidSpec, display
from tompion.spec.duration import parse_duration_ms

MAX_NOTE_CHARS = 1_000


UNSET: Any = object()


_DECEIVING = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffd"
) | frozenset(map(chr, range(0x80, 0xA0)))
"""Characters that make a name look like another, or that replace undecodable bytes."""


def check_name(field: str, value: object, settings: Settings) -> str:
    """Return a name that can be stored and displayed."""
    if not isinstance(value, str) or not value:
        raise InvalidField(field, f"{display(value)} is not a name")
    if len(value) > settings.max_name_chars:
        raise InvalidField(field, f"{len(value)} characters, more than max_name_chars ({settings.max_name_chars})")
    if value != value.strip() or any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise InvalidField(field, f"{display(value)} has control characters, or a space at either end; remove them")
    if value in (".", ".."):
        raise InvalidField(field, f"{display(value)} has a meaning in URLs; choose another name")
    if not value.isascii() and not _DECEIVING.isdisjoint(value):
        raise InvalidField(
            field, f"{display(value)} contains bidirectional control characters or undecodable bytes; remove them"
        )
    if not is_unicode(value):
        raise InvalidField(field, f"{display(value)} is not valid Unicode; remove the surrogates")
    return value


def check_namespace(value: object, settings: Settings) -> str:
    """Return the name of a namespace. It has no slash, because two schedules could share one key otherwise."""
    namespace = check_name("namespace", value, settings)
    if "/" in namespace:
        raise InvalidField(
            "namespace", f"{namespace!r} has a slash, so two schedules could share one key; choose another name"
        )
    return namespace


def check_text(field: str, value: object, most: int) -> str:
    """Return free text that every store can hold: valid Unicode, no NUL, not too long."""
    if not isinstance(value, str) or len(value) > most:
        raise InvalidField(field, f"expected text of at most {most} characters")
    if "\x00" in value or not is_unicode(value):
        raise InvalidField(field, f"{display(value)} has NUL characters or is not valid Unicode; remove them")
    return value


def check_note(note: object) -> str | None:
    """Return the note of a change."""
    return None if note is None else check_text("note", note, MAX_NOTE_CHARS)


def check_version(version: object) -> int | None:
    """Return the number of a version, or ``None`` for the newest."""
    return check_optional_whole("version", version, 1, 1 << 31)


def check_whole(field: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    if type(value) is not int or not least <= value <= most:
        raise InvalidField(field, f"{display(value)}; expected a whole number from {least} to {most}")
    return value


def check_optional_whole(field: str, value: object, least: int, most: int) -> int | None:
    """Return a whole number within bounds, or ``None``."""
    return None if value is None else check_whole(field, value, least, most)


def check_duration_ms(field: str, value: object, least: int, most: int) -> int:
    """Return a duration in milliseconds within bounds. It can be a number, a text such as ``30s``, or a timedelta."""
    try:
        milliseconds = parse_duration_ms(value, field=field)
    except InvalidSpec as error:
        raise InvalidField(field, str(error).removeprefix(f"{field}: ")) from None
    if type(milliseconds) is not int or not least <= milliseconds <= most:
        expected = f"milliseconds from {least} to {most}, or a duration such as 30s"
        raise InvalidField(field, f"{display(value)}; expected {expected}")
    return milliseconds


def check_flag(field: str, value: object) -> bool:
    """Return a boolean."""
    if type(value) is not bool:
        raise InvalidField(field, f"{display(value)}; expected true or false")
    return value


def choice(field: str, value: object, kind: type[StrEnum], aliases: Mapping[str, Any] | None = None) -> Any:
    """Return a value of an enumeration, or one of its aliases."""
    if isinstance(value, str) and aliases and value in aliases:
        return aliases[value]
    try:
        return kind(value)  # type: ignore[arg-type]  # a value that is not text raises ValueError
    except ValueError:
        names = [*kind, *(aliases or {})]
        raise InvalidField(field, f"{display(value)}; expected one of {', '.join(names)}") from None


MAX_DEPTH = 100
"""The maximum nesting of a document. A reader may have less stack left than the writer had."""


def is_unicode(text: str) -> bool:
    """Return whether every store can hold a text. Half of a surrogate pair is not valid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_deep(value: object, most: int = MAX_DEPTH) -> bool:
    """Return whether a document is nested more deeply than can be stored. One that contains itself is."""
    if not isinstance(value, dict | list | tuple):
        return False
    return most == 0 or any(is_deep(item, most - 1) for item in (value.values() if isinstance(value, dict) else value))
