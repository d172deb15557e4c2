"""What a linter has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: a stable ``code``, how much it matters, what it is about, and what to do instead."""

    code: str
    severity: Severity
    field: str
    message: str
    hint: str = ""
