"""Trace and span ids of runs, derived from the run key.

Every process computes the same ids, so an instance that continues a run after a crash knows its trace, and the span of
the attempt before, without any stored state.
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
    """A parent span from a ``traceparent`` header."""

    trace_id: int
    span_id: int
    flags: int


def trace_id_of(key: str) -> int:
    """Return the trace id of a run: the first half of its key, or of the hash of an external key."""
    digest = key if _HASH.fullmatch(key) else sha256(key.encode()).hexdigest()
    return int(digest[:32], 16) or 1


def span_id_of(key: str, attempt: int, part: str = RUN) -> int:
    """Return the span id of a part of an attempt."""
    return int(sha256(f"{key}:{attempt}:{part}".encode()).hexdigest()[:16], 16) or 1


def traceparent_of(key: str, attempt: int, *, sampled: bool, part: str = EXECUTE) -> str:
    """Return the header that an executor passes on, so that the target's spans are children of the executor's call."""
    return f"00-{trace_id_of(key):032x}-{span_id_of(key, attempt, part):016x}-{SAMPLED if sampled else 0:02x}"


def read_traceparent(text: str) -> Parent | None:
    """Return the span of a ``traceparent`` header, or ``None`` if it is invalid."""
    match = _TRACEPARENT.fullmatch(text.strip())
    return None if match is None else Parent(*(int(part, 16) for part in match.groups()))
