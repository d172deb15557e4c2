"""JSON that all parsers read alike."""

from __future__ import annotations

import pytest

from tompion.encoding.strict_json import DuplicateName, parse_strict_json


def test_valid_json_is_parsed() -> None:
    assert parse_strict_json(b'{"a": [1, {"b": null}], "c": 1.5}') == {"a": [1, {"b": None}], "c": 1.5}


@pytest.mark.parametrize(
    ("text", "name"), [('{"a": 1, "a": 1}', "a"), ('{"x": {"b": 1, "c": 2, "b": 3}}', "b"), ('{"": 1, "": 2}', "")]
)
def test_duplicate_name_is_refused(text: str, name: str) -> None:
    with pytest.raises(DuplicateName) as caught:
        parse_strict_json(text)
    assert caught.value.name == name


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "[-Infinity]", "{'a': 1}", ""])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the standard library has its own messages
        parse_strict_json(text)
