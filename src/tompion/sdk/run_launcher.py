"""Starting runs of stored workflows, for whoever keeps time elsewhere."""

from __future__ import annotations

from datetime import datetime

from tompion.contract.methods import AsyncMethods


class RunLauncher:
    """Starts runs: the document is loaded, and its executor is given it, by an engine of the same store or service."""

    def __init__(self, tompion: AsyncMethods) -> None:
        """Take what is open, and asynchronous; a :class:`~tompion.SyncTompion` has ``start_run`` itself."""
        if not isinstance(tompion, AsyncMethods):
            raise TypeError("expected a Tompion or an AsyncClient; a synchronous one has start_run()")
        self._tompion = tompion

    async def start(
        self,
        workflow_id: str,
        version: int | None,
        user_id: str | None,
        scheduled_for: datetime | None,
        idempotency_key: str,
    ) -> bool:
        """Start a run, once for each key; return whether there is such a workflow."""
        return await self._tompion.start_run(
            workflow_id, version, user_id, scheduled_for, idempotency_key=idempotency_key
        )
