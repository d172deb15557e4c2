"""Lists that are read page by page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of the elements, and the token that asks for the ones after them (``None``: there are no more)."""

    items: tuple[T, ...]
    next_page: str | None = None
