"""Which trace a run belongs to, and which span each part of it is: derived from its key, so that everybody agrees.

Whoever goes on with a run after a crash knows the trace, and the span of the attempt before, without being told.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

_HASH = re.compile(r"[0-9a-f]{64}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
RUN, EXECUTE = "run", "execute"
SAMPLED = 1


class Parent(NamedTuple):
    """A span of somebody else, as its ``traceparent`` names it."""

    trace_id: int
    span_id: int
    flags: int


def trace_id_of(key: str) -> int:
    """Return the trace of a run: the first half of its key, or of its key's hash where somebody else made the key."""
    digest = key if _HASH.fullmatch(key) else sha256(key.encode()).hexdigest()
    return int(digest[:32], 16) or 1


def span_id_of(key: str, attempt: int, part: str = RUN) -> int:
    """Return the span of a part of an attempt at a run."""
    return int(sha256(f"{key}:{attempt}:{part}".encode()).hexdigest()[:16], 16) or 1


def traceparent_of(key: str, attempt: int, *, sampled: bool, part: str = EXECUTE) -> str:
    """Return what an executor hands on: whatever happens there is part of the executor's call."""
    return f"00-{trace_id_of(key):032x}-{span_id_of(key, attempt, part):016x}-{SAMPLED if sampled else 0:02x}"


def read_traceparent(text: str) -> Parent | None:
    """Return the span that a header names, or nothing if it names none."""
    found = _TRACEPARENT.fullmatch(text.strip())
    return None if found is None else Parent(*(int(part, 16) for part in found.groups()))
