"""The session of a caller in the web UI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebSession:
    """The caller, its roles by namespace, and the kind of service. An anonymous caller has no ``actor``.

    ``auth`` is ``open`` if no credentials are needed. ``signed_in`` is true if a session cookie authenticated the
    caller.
    """

    actor: str | None
    roles: Mapping[str, str]
    home: str
    auth: str
    signed_in: bool
    read_only: bool
    version: str
