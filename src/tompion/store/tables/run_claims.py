"""Claims of runs without a live owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tompion.model.run import SUSPECT_PICKUPS, RunRow
from tompion.store.tables.runs import RunTable


class RunClaimTable(RunTable):
    """Claims of runs without a live owner."""

    def run_claim(self, owner: int, now_ms: int, queues: Sequence[str], limit: int) -> list[RunRow]:
        """Claim runs without a live owner, except suspects. Each gets a new attempt."""
        params = {"owner": owner, "queues": list(queues), "suspect_pickups": SUSPECT_PICKUPS}
        return self._runs("run_claim", now_ms=now_ms, limit=limit, **params)

    def run_claim_suspect(self, owner: int, now_ms: int, queues: Sequence[str]) -> list[RunRow]:
        """Claim one suspect without a live owner, if there is one."""
        params = {"owner": owner, "queues": list(queues), "suspect_pickups": SUSPECT_PICKUPS}
        return self._runs("run_claim_suspect", now_ms=now_ms, **params)

    def run_claim_remote(  # noqa: PLR0913 - one parameter per condition
        self, namespace: str, worker: str, now_ms: int, until_ms: int, queues: Sequence[str], limit: int
    ) -> list[RunRow]:
        """Claim function runs without a live owner for a remote worker. Each gets a new attempt.

        The last one may be a suspect, unless the worker holds another suspect.
        """
        params: dict[str, Any] = {"namespace": namespace, "worker": worker, "queues": list(queues)}
        params |= {"now_ms": now_ms, "until_ms": until_ms, "suspect_pickups": SUSPECT_PICKUPS}
        runs = self._runs("run_claim_remote", limit=limit, **params)
        return runs if len(runs) == limit else [*runs, *self._runs("run_claim_remote_suspect", **params)]
