"""Delivering notices: leased, tried again with longer and longer pauses, given up after a bounded time.

Whoever delivers knows the notification: where to, and how to sign.  A notice of one that nobody here knows is left to
other instances.  In each minute and namespace only so many go out one by one; when there are more, the last of them
says of all the others whom they were about, and how many there were.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tompion.engine.context import EngineContext
from tompion.engine.lease import answer_of
from tompion.engine.notifications.outbox import shown
from tompion.model.codec import storable
from tompion.model.notification import Delivery, NotificationKind, NotificationRow, NotificationRule, NotificationState
from tompion.plan.stored_definition import compact
from tompion.runtime import clock
from tompion.store.base import Store, Transaction

LOOKED_AT = 5_000
"""So many notices are looked at in one pass; what does not go out by itself can be part of one summary."""
AT_ONCE = 20
"""So many tries are under way at a time: what one pass begins, its lease outlasts."""
MAX_GROUPS = 100
"""A summary names so many schedules, those with the most to tell."""
MINUTE_MS = 60_000
MAX_PAUSE_MS = 60 * MINUTE_MS
MAX_DOUBLINGS = 20
LEASE_TIMEOUTS = 3
"""A lease lasts so many times as long as one try may take."""


class NotificationSender(Protocol):
    """Who takes notices to their receivers."""

    @property
    def rules(self) -> Sequence[NotificationRule]:
        """Return the notifications that it knows."""

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        """Try once."""

    async def aclose(self) -> None:
        """Let go of everything."""


class DeliveryAttempt(NamedTuple):
    """A notice that is being delivered, and how that ended; without an answer, the engine has stopped meanwhile."""

    row: NotificationRow
    delivery: Delivery | None = None


class NotificationDispatcher:
    """The loop that delivers the notices of one notification: a receiver that is gone delays no other."""

    def __init__(
        self,
        store: Store,
        instance: EngineContext,
        courier: NotificationSender,
        rule: NotificationRule,
        stopping: asyncio.Event,
    ) -> None:
        """Take who delivers, whose notices, and what says that the engine stops."""
        self._store = store
        self._instance = instance
        self._courier = courier
        self._rule = rule
        self._stopping = stopping

    async def deliver(self) -> None:
        """Deliver what there is until the engine stops."""
        pause_s = self._instance.settings.tick_ms / 1000
        while not self._stopping.is_set():
            try:
                busy = await self.deliver_some()
            except Exception as error:  # noqa: BLE001 - an engine that stops by itself is the worst that can happen
                busy = False
                self._instance.probe.warn(f"cannot deliver notices just now, trying again: {error!r}")
            if not busy:
                await clock.wait(self._stopping, pause_s)

    async def deliver_some(self) -> bool:
        """Try what is due; return whether anything was."""
        if not await answer_of(self._store.read(self._is_due)):
            return False
        rows = await answer_of(self._store.write(self._taken))
        if not rows:
            return False
        tries = await self._sent(rows)
        self._tell(tries, await answer_of(self._store.write(lambda transaction: self._settle(transaction, tries))))
        return True

    # --- which, and how -------------------------------------------------------------------------------------------

    def _is_due(self, transaction: Transaction) -> bool:
        next_ms = transaction.notification_next_due([self._rule.name])
        return next_ms is not None and next_ms <= transaction.now_ms()

    def _taken(self, transaction: Transaction) -> list[NotificationRow]:
        """Lease what is to be tried now, within the rates; put off or summarise the rest."""
        now_ms = transaction.now_ms()
        due = transaction.notification_claim_due([self._rule.name], now_ms, LOOKED_AT)
        taken = [row for row in due if row.attempts][: AT_ONCE // 2]
        fresh: dict[str, list[NotificationRow]] = {}
        for row in due:
            if not row.attempts:
                fresh.setdefault(row.namespace, []).append(row)
        for namespace, rows in sorted(fresh.items()):
            taken += self._within_rate(transaction, namespace, rows, AT_ONCE - len(taken), now_ms)
        lease_ms = LEASE_TIMEOUTS * self._instance.settings.notification_timeout_ms
        transaction.notification_lease([row.notification_id for row in taken], now_ms + lease_ms)
        return [row._replace(attempts=row.attempts + 1) for row in taken]

    def _within_rate(
        self, transaction: Transaction, namespace: str, rows: list[NotificationRow], limit: int, now_ms: int
    ) -> list[NotificationRow]:
        """Return which notices go out now: as they are, if there is room for all of them, or the last as a summary."""
        if limit <= 0:
            return []
        rule, minute = self._rule, now_ms // MINUTE_MS
        room = rule.max_per_minute - transaction.notification_rate_lock(rule.name, namespace, minute)
        if room <= 0:
            transaction.notification_postpone([row.notification_id for row in rows], (minute + 1) * MINUTE_MS)
            return []
        taken = rows[:limit]
        if len(rows) > room and room <= limit:
            taken = rows[: room - 1]
            taken.append(self._summary(transaction, rows[room - 1 :], now_ms))
        transaction.notification_rate_add(rule.name, namespace, len(taken))
        return taken

    def _summary(self, transaction: Transaction, rows: list[NotificationRow], now_ms: int) -> NotificationRow:
        """Put many notices into one."""
        first = rows[0]
        row = first._replace(
            notification_id=self._instance.notifications.notification_id(
                f"{first.rule_name}:{NotificationKind.SUMMARY}:{first.notification_id}"
            ),
            topic=NotificationKind.SUMMARY,
            schedule_id="",
            about=compact(_summarised(rows)),
            created_ms=now_ms,
            due_ms=now_ms,
        )
        transaction.notification_insert([row])
        transaction.notification_summarize([each.notification_id for each in rows], row.notification_id, now_ms)
        return row

    # --- sending --------------------------------------------------------------------------------------------------

    async def _sent(self, rows: list[NotificationRow]) -> list[DeliveryAttempt]:
        """Send notices side by side; one that is still under way when the engine stops is left to others."""
        tasks = [asyncio.ensure_future(self._send(row)) for row in rows]
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            waiting: set[asyncio.Future[Any]] = {*tasks}
            while waiting and not stopped.done():
                _, waiting = await asyncio.wait({*waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
                waiting.discard(stopped)
        finally:
            for task in (*tasks, stopped):
                task.cancel()
        return [
            DeliveryAttempt(row, task.result() if task.done() and not task.cancelled() else None)
            for row, task in zip(rows, tasks, strict=True)
        ]

    async def _send(self, row: NotificationRow) -> Delivery:
        try:
            return await self._courier.send(row.rule_name, row.notification_id, notification_body(row))
        except Exception as error:  # noqa: BLE001 - a courier that breaks its contract must not stop the others
            return Delivery(False, f"{type(error).__name__}: {error}")

    def _settle(self, transaction: Transaction, tries: Sequence[DeliveryAttempt]) -> dict[str, str]:
        """Write down how tries ended; return what became of each notice, unless somebody else has tried it since."""
        now_ms = transaction.now_ms()
        ends = [(each.row.notification_id, each.row.attempts, *self._end(each, now_ms)) for each in tries]
        settled = transaction.notification_settle(ends)
        return {end[0]: end[2] for end in ends if end[0] in settled}

    def _end(self, tried: DeliveryAttempt, now_ms: int) -> tuple[str, int | None, int | None, str | None]:
        row, delivery = tried
        if delivery is None:
            return NotificationState.PENDING, now_ms, None, row.last_error
        if delivery.arrived:
            return NotificationState.DELIVERED, None, now_ms, None
        settings = self._instance.settings
        pause_ms = min(settings.notification_retry_ms << min(row.attempts - 1, MAX_DOUBLINGS), MAX_PAUSE_MS)
        if delivery.hopeless or now_ms + pause_ms > row.created_ms + settings.notification_give_up_ms:
            return NotificationState.GIVEN_UP, None, now_ms, storable(delivery.said)
        return NotificationState.PENDING, now_ms + pause_ms, None, storable(delivery.said)

    def _tell(self, tries: Sequence[DeliveryAttempt], states: Mapping[str, str]) -> None:
        """Count what became of notices, and say what did not arrive."""
        probe = self._instance.probe
        for row, delivery in tries:
            state = states.get(row.notification_id)
            if delivery is None or state is None:
                continue
            probe.count(_COUNTED[NotificationState(state)])
            if not delivery.arrived:
                end = "was given up" if state == NotificationState.GIVEN_UP else "did not arrive"
                probe.warn(f"a notice for {row.rule_name} ({row.topic}) {end}: {delivery.said}")


_COUNTED = {
    NotificationState.DELIVERED: "notifications_delivered",
    NotificationState.GIVEN_UP: "notifications_given_up",
    NotificationState.PENDING: "notifications_retried",
}


def notification_body(row: NotificationRow) -> bytes:
    """Return what is sent: the same at every try."""
    data: Mapping[str, Any] = json.loads(row.about)
    message = {"type": NotificationKind(row.topic).kind, "timestamp": shown(row.created_ms), "data": data}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _summarised(rows: Sequence[NotificationRow]) -> dict[str, Any]:
    counts = Counter((row.schedule_id, row.topic) for row in rows)
    groups = [
        {"schedule_id": schedule_id, "type": NotificationKind(topic).kind, "count": count}
        for (schedule_id, topic), count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
    return {
        "namespace": rows[0].namespace,
        "count": len(rows),
        "first": shown(min(row.created_ms for row in rows)),
        "last": shown(max(row.created_ms for row in rows)),
        "schedules": groups[:MAX_GROUPS],
        "more_schedules": max(0, len(groups) - MAX_GROUPS),
    }
