"""Somebody who looks at the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Visit:
    """Who asks, what they may do, by namespace, and what kind of service this is; nobody has no ``actor``.

    ``auth`` is ``open`` if everybody is let in; ``signed_in`` says that a cookie was what let somebody in.
    """

    actor: str | None
    roles: Mapping[str, str]
    home: str
    auth: str
    signed_in: bool
    read_only: bool
    version: str
