"""Starts runs of stored workflows, for programs with their own scheduler."""

from __future__ import annotations

from datetime import datetime

from tompion.contract.async_methods import AsyncMethods


class RunLauncher:
    """Starts runs of stored workflows. An engine of the same store or service executes them.

    ``tompion`` must be open and asynchronous. :class:`~tompion.Tompion` has ``runs.start``.
    """

    def __init__(self, tompion: AsyncMethods) -> None:
        if not isinstance(tompion, AsyncMethods):
            raise TypeError("expected an AsyncTompion or an AsyncClient; a Tompion and a Client have runs.start()")
        self._tompion = tompion

    async def start(
        self,
        workflow_id: str,
        version: int | None,
        user_id: str | None,
        scheduled_for: datetime | None,
        idempotency_key: str,
    ) -> bool:
        """Start a run, once per idempotency key. Return whether the workflow exists."""
        return await self._tompion.runs.start(
            workflow_id, version, user_id, scheduled_for, idempotency_key=idempotency_key
        )
