"""The chain of the audit: each row carries a digest of itself and of the row before it.

Rows are put into the chain of their namespace soon after they were written, in an order that is theirs from then on.
Whoever changes, removes or adds one in between breaks the chain there; whoever cuts it off contradicts its head.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from tompion.model.rows import AuditRow

GENESIS_DIGEST = ""
"""What the first row of a chain has before it."""


class AuditHead(NamedTuple):
    """Where a chain ends, and up to where its rows were older than their retention and are gone."""

    namespace: str
    position: int
    digest: str
    gone_position: int
    gone_digest: str


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """What was checked of the audit of a namespace, and the first place where it is not as it was written.

    A schedule that it names, that nobody has deleted, and that is not there, is a problem as well.

    The rows after the place ``after`` up to ``until`` were looked at, ``checked`` of them; if there are ``more``, ask
    for those after ``until``.  Of older ones, ``gone`` went by retention.  ``unsealed`` were written so lately that
    they are in no chain yet.  ``digest`` is that of the newest row in the chain, which stands at ``position``: kept
    elsewhere, it proves later that nobody has written the whole chain anew.
    """

    namespace: str
    after: int
    until: int
    checked: int
    gone: int
    unsealed: int
    position: int
    digest: str
    more: bool
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every row is as it was written."""
        return self.problem is None


def chain_rows(row: AuditRow, position: int, previous: str) -> AuditRow:
    """Return a row at a place of its chain, after the row with a digest."""
    placed = row._replace(position=position, previous=previous, digest=None)
    return placed._replace(digest=audit_digest(placed))


def audit_digest(row: AuditRow) -> str:
    """Return the digest of a row in a chain: SHA-256 of its columns as canonical JSON, its own digest left out."""
    columns = {name: value for name, value in row._asdict().items() if name != "digest"}
    return sha256(json.dumps(columns, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
