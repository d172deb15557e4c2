"""The hash chain of the audit: each row has a digest of itself and of the row before it.

Rows are added to the chain of their namespace soon after they are written, in an order that is fixed from then on. A
changed, removed or inserted row breaks the chain at that place. A truncated chain does not match its head.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tompion.model.rows import AuditRow

GENESIS_DIGEST = ""
"""The previous digest of the first row of a chain."""


class AuditHead(NamedTuple):
    """The end of a chain, and the position up to which its rows were deleted after their retention."""

    namespace: str
    position: int
    digest: str
    gone_position: int
    gone_digest: str


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """Result of verifying the audit of a namespace, with the first row that is not as it was written.

    A schedule that the audit names, that was not deleted and that does not exist is a problem too.

    ``checked`` rows after the position ``after`` up to ``until`` were verified. If ``more`` is true, continue after
    ``until``. ``gone`` older rows were deleted after their retention. ``unsealed`` rows are too new to be in the chain.
    ``digest`` is the digest of the newest row in the chain, at ``position``. Keep it elsewhere to prove later that the
    chain was not rewritten as a whole.
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
        """True if every row is as it was written."""
        return self.problem is None


def chain_row(row: AuditRow, position: int, previous: str) -> AuditRow:
    """Return a row with its position in the chain, the digest of the row before it, and its own digest."""
    linked = row._replace(position=position, previous=previous, digest=None)
    return linked._replace(digest=audit_digest(linked))


def audit_digest(row: AuditRow) -> str:
    """Return the digest of a row: SHA-256 of its columns as canonical JSON, without the digest itself."""
    columns = {name: value for name, value in row._asdict().items() if name != "digest"}
    return sha256(json.dumps(columns, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
