"""Lists that are read in pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the token of the next page (``None`` on the last page)."""

    items: tuple[T, ...]
    next_page: str | None = None
