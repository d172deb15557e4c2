"""The tree of errors: their base classes, and the one-line message of each InvalidSpec."""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest

import tompion
from tompion import InvalidInput, InvalidSpec, InvalidTime, LimitExceeded, TompionError, UnknownZone, errors

EVERYTHING: dict[str, Any] = {
    "problem": "61 is out of range",
    "field": "cron.minute",
    "position": 0,
    "expected": "0 to 59",
    "hint": "an hour has 60 minutes",
    "text": "61 * * * *",
}

LINES: list[tuple[dict[str, Any], str]] = [
    ({}, "61 is out of range"),
    ({"field": "cron"}, "cron: 61 is out of range"),
    ({"position": 0}, "61 is out of range at position 1"),
    ({"text": "61 * * * *"}, "61 is out of range of '61 * * * *'"),
    ({"position": 4, "text": "0 9 61"}, "61 is out of range at position 5 of '0 9 61'"),
    ({"expected": "0 to 59"}, "61 is out of range; expected 0 to 59"),
    ({"hint": "write 1"}, "61 is out of range; write 1"),
    (
        EVERYTHING,
        "cron.minute: 61 is out of range at position 1 of '61 * * * *'; expected 0 to 59; an hour has 60 minutes",
    ),
]


@pytest.mark.parametrize(("parts", "line"), LINES)
def test_the_message_has_field_problem_position_expectation_and_hint(parts: dict[str, Any], line: str) -> None:
    assert str(InvalidSpec(**{"problem": "61 is out of range", **parts})) == line


def test_the_parts_are_attributes() -> None:
    error = InvalidSpec(**EVERYTHING)
    assert {name: getattr(error, name) for name in EVERYTHING} == EVERYTHING


def test_a_long_text_is_shortened_only_in_the_message() -> None:
    text = "0 9 * * MON," * 50
    error = InvalidSpec("no", text=text)
    assert str(error) == f"no of {text[:79] + '…'!r}"
    assert error.text == text


@pytest.mark.parametrize("text", ["0 9\n* * *", "a\r\nb", "a\x1b[31mb", "a\u2028b", "a\ud800b"])
def test_the_message_is_one_printable_line(text: str) -> None:
    line = str(InvalidSpec("no", text=text))
    assert len(line.splitlines()) == 1
    assert line.isprintable()


LOCATED: list[tuple[str | None, str | None, str | None]] = [
    ("calendars[0]", "hour", "calendars[0].hour"),
    ("calendars", "[2].hour", "calendars[2].hour"),
    ("cron", None, "cron"),
    (None, "hour", "hour"),
    (None, None, None),
]


@pytest.mark.parametrize(("outer", "inner", "path"), LOCATED)
def test_a_located_error_has_the_whole_path(outer: str | None, inner: str | None, path: str | None) -> None:
    assert InvalidSpec("no", field=inner).located(field=outer).field == path


def test_a_located_error_has_a_shifted_position_and_the_outer_text() -> None:
    inner = InvalidSpec("no", position=2, text="MOO", expected="a day", hint="MON")
    outer = inner.located(text="0 9 * * MOO", shift=8)
    assert (outer.position, outer.text, outer.expected, outer.hint) == (10, "0 9 * * MOO", "a day", "MON")
    assert (inner.position, inner.text) == (2, "MOO")


def test_a_located_error_keeps_its_other_parts() -> None:
    assert InvalidSpec("no", text="inner").located(field="cron", shift=5).text == "inner"
    assert InvalidSpec("no").located(shift=5).position is None


def test_a_located_error_keeps_its_class() -> None:
    located = UnknownZone("no", field="timezone").located(field="spec")
    assert isinstance(located, UnknownZone)
    assert located.code == "unknown_zone"


@pytest.mark.parametrize("error", [InvalidSpec(**EVERYTHING), UnknownZone("no", field="timezone", hint="x")])
def test_an_error_can_be_pickled(error: InvalidSpec) -> None:
    """A process pool pickles exceptions. An error that cannot be pickled hangs the pool or hides the cause."""
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - it was pickled on this very line
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def subclasses(kind: type[TompionError]) -> Iterator[type[TompionError]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def all_errors() -> set[type[TompionError]]:
    for module in pkgutil.walk_packages(tompion.__path__, "tompion."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # a module whose extra is not installed
                import_module(module.name)
    return {TompionError, *subclasses(TompionError)}


@pytest.mark.parametrize(
    ("child", "parent", "code"),
    [
        (TompionError, Exception, "error"),
        (InvalidInput, TompionError, "invalid_input"),
        (InvalidSpec, InvalidInput, "invalid_spec"),
        (UnknownZone, InvalidSpec, "unknown_zone"),
        (InvalidTime, InvalidInput, "invalid_time"),
        (LimitExceeded, TompionError, "limit_exceeded"),
    ],
)
def test_the_error_tree_and_the_codes_are_stable(child: type[TompionError], parent: type[Exception], code: str) -> None:
    assert child.__bases__[0] is parent
    assert child.code == code
    assert child.retryable is False


def test_invalid_input_is_a_value_error() -> None:
    assert issubclass(InvalidInput, ValueError)
    assert not issubclass(LimitExceeded, ValueError)


def test_no_two_errors_share_a_code() -> None:
    codes = sorted(kind.code for kind in all_errors())
    assert codes == sorted(set(codes))


def test_every_error_is_in_the_docstring_tree() -> None:
    here = {kind.__name__ for kind in all_errors() if kind.__module__ == errors.__name__}
    assert here == {name for name in here if f" {name} " in (errors.__doc__ or "").replace("\n", " ")}
    assert len(here) >= 6


def test_every_error_is_defined_in_the_errors_module() -> None:
    elsewhere = {f"{kind.__module__}.{kind.__name__}" for kind in all_errors() if kind.__module__ != errors.__name__}
    assert elsewhere == set()
