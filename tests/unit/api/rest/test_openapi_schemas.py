"""JSON Schemas from types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tompion.api.rest.openapi.schemas import Schemas

TEXTS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize("kind", [Sequence[str], list[str], tuple[str, ...]])
def test_sequences_are_arrays(kind: Any) -> None:
    assert Schemas().of(kind) == TEXTS


def test_an_optional_sequence_is_an_array_or_null() -> None:
    assert Schemas().of(Sequence[str] | None) == {"anyOf": [TEXTS, {"type": "null"}]}


@pytest.mark.parametrize("kind", [complex, set[str], bytes])
def test_a_type_without_a_schema_is_rejected(kind: Any) -> None:
    with pytest.raises(TypeError, match="no JSON Schema for"):
        Schemas().of(kind)
