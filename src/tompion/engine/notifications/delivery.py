"""Notification dispatcher: leases due notifications, delivers them, retries with backoff, and gives up in the end.

A dispatcher delivers the notifications of one rule of its own configuration and leaves all others to other instances.
Each rule has a rate per minute and namespace. When more are due, the last one that fits the rate is a summary of all
the others.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tompion.encoding.bounded_text import storable
from tompion.engine.context import EngineContext
from tompion.engine.notifications.outbox import iso_time
from tompion.engine.store_future import await_store
from tompion.model.notification import Delivery, NotificationKind, NotificationRow, NotificationRule, NotificationState
from tompion.plan.stored_definition import compact
from tompion.runtime.clock import wait
from tompion.store.base import Store, Transaction

MAX_NOTIFICATIONS_PER_PASS = 5_000
"""Number of due notifications that one pass reads. Those that exceed the rate become one summary."""
MAX_CONCURRENT_DELIVERIES = 20
"""Number of deliveries that one pass starts. Its lease is longer than they take."""
MAX_RETRIES_PER_PASS = MAX_CONCURRENT_DELIVERIES // 2
"""Retries take at most half of a pass, so that they do not delay new notifications."""
MAX_SCHEDULES_IN_SUMMARY = 100
"""A summary lists this many schedules, those with the most notifications."""
MINUTE_MS = 60_000
MAX_DELAY_MS = 60 * MINUTE_MS
MAX_DOUBLINGS = 20
LEASE_TIMEOUTS = 3
"""A lease is this many times as long as the timeout of one delivery."""


class NotificationSender(Protocol):
    """Delivers notifications to their receivers."""

    @property
    def rules(self) -> Sequence[NotificationRule]:
        """Return the notification rules of the configuration."""

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        """Attempt one delivery. Return whether the receiver accepted it, and the error if not."""

    async def aclose(self) -> None:
        """Close all connections."""


class DeliveryAttempt(NamedTuple):
    """One attempt to deliver a notification. Without a delivery, the engine stopped before it ended."""

    row: NotificationRow
    delivery: Delivery | None = None


class NotificationDispatcher:
    """The loop that delivers the notifications of one rule, so that an unreachable receiver delays no other.

    ``sender`` attempts the deliveries. The loop ends when ``stopping`` is set.
    """

    def __init__(
        self,
        store: Store,
        context: EngineContext,
        sender: NotificationSender,
        rule: NotificationRule,
        stopping: asyncio.Event,
    ) -> None:
        self._store = store
        self._context = context
        self._sender = sender
        self._rule = rule
        self._stopping = stopping

    async def deliver(self) -> None:
        """Deliver due notifications until the engine stops."""
        poll_s = self._context.settings.tick_ms / 1000
        while not self._stopping.is_set():
            try:
                delivered = await self.deliver_some()
            except Exception as error:  # noqa: BLE001 - the loop must survive any error
                delivered = False
                self._context.events.warn(f"cannot deliver notifications, will retry: {error!r}")
            if not delivered:
                await wait(self._stopping, poll_s)

    async def deliver_some(self) -> bool:
        """Deliver one batch of due notifications. Return whether there were any."""
        if not await await_store(self._store.read(self._is_due)):
            return False
        rows = await await_store(self._store.write(self._claim))
        if not rows:
            return False
        attempts = await self._send_all(rows)
        self._report(
            attempts, await await_store(self._store.write(lambda transaction: self._settle(transaction, attempts)))
        )
        return True

    # --- claim ----------------------------------------------------------------------------------------------------

    def _is_due(self, transaction: Transaction) -> bool:
        next_ms = transaction.notification_next_due([self._rule.name])
        return next_ms is not None and next_ms <= transaction.now_ms()

    def _claim(self, transaction: Transaction) -> list[NotificationRow]:
        """Lease the notifications that are sent now.

        Retries come first, and the rate does not limit them. New notifications follow by namespace. Those that exceed
        the rate are postponed or summarised.
        """
        now_ms = transaction.now_ms()
        due = transaction.notification_claim_due([self._rule.name], now_ms, MAX_NOTIFICATIONS_PER_PASS)
        retries = [row for row in due if row.attempts]
        claimed = retries[:MAX_RETRIES_PER_PASS]
        new_by_namespace: dict[str, list[NotificationRow]] = {}
        for row in due:
            if not row.attempts:
                new_by_namespace.setdefault(row.namespace, []).append(row)
        for namespace, rows in sorted(new_by_namespace.items()):
            room = MAX_CONCURRENT_DELIVERIES - len(claimed)
            claimed += self._limit_rate(transaction, namespace, rows, room, now_ms)
        lease_ms = LEASE_TIMEOUTS * self._context.settings.notification_timeout_ms
        transaction.notification_lease([row.notification_id for row in claimed], now_ms + lease_ms)
        return [row._replace(attempts=row.attempts + 1) for row in claimed]

    def _limit_rate(
        self, transaction: Transaction, namespace: str, rows: list[NotificationRow], room: int, now_ms: int
    ) -> list[NotificationRow]:
        """Return the notifications that are sent now. If the rate is exceeded, the last one is a summary."""
        if room <= 0:
            return []
        rule, minute = self._rule, now_ms // MINUTE_MS
        rate_left = rule.max_per_minute - transaction.notification_rate_lock(rule.name, namespace, minute)
        if rate_left <= 0:
            transaction.notification_postpone([row.notification_id for row in rows], (minute + 1) * MINUTE_MS)
            return []
        claimed = rows[:room]
        if len(rows) > rate_left and rate_left <= room:
            claimed = rows[: rate_left - 1]
            claimed.append(self._summary(transaction, rows[rate_left - 1 :], now_ms))
        transaction.notification_rate_add(rule.name, namespace, len(claimed))
        return claimed

    def _summary(self, transaction: Transaction, rows: list[NotificationRow], now_ms: int) -> NotificationRow:
        """Replace many notifications by one summary."""
        first = rows[0]
        row = first._replace(
            notification_id=self._context.notifications.notification_id(
                f"{first.rule_name}:{NotificationKind.SUMMARY}:{first.notification_id}"
            ),
            topic=NotificationKind.SUMMARY,
            schedule_id="",
            about=compact(_summary_data(rows)),
            created_ms=now_ms,
            due_ms=now_ms,
        )
        transaction.notification_insert([row])
        transaction.notification_summarize([other.notification_id for other in rows], row.notification_id, now_ms)
        return row

    # --- delivery -------------------------------------------------------------------------------------------------

    async def _send_all(self, rows: list[NotificationRow]) -> list[DeliveryAttempt]:
        """Send notifications concurrently. Those that are not sent when the engine stops are left to others."""
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
            return await self._sender.send(row.rule_name, row.notification_id, notification_body(row))
        except Exception as error:  # noqa: BLE001 - a sender that breaks its contract must not stop the others
            return Delivery(False, f"{type(error).__name__}: {error}")

    def _settle(self, transaction: Transaction, attempts: Sequence[DeliveryAttempt]) -> dict[str, str]:
        """Write the results of attempts. Return the state of each notification that no other instance has retried."""
        now_ms = transaction.now_ms()
        ends = [
            (attempt.row.notification_id, attempt.row.attempts, *self._end(attempt, now_ms)) for attempt in attempts
        ]
        settled = transaction.notification_settle(ends)
        return {end[0]: end[2] for end in ends if end[0] in settled}

    def _end(self, attempt: DeliveryAttempt, now_ms: int) -> tuple[str, int | None, int | None, str | None]:
        row, delivery = attempt
        if delivery is None:
            return NotificationState.PENDING, now_ms, None, row.last_error
        if delivery.arrived:
            return NotificationState.DELIVERED, None, now_ms, None
        settings = self._context.settings
        delay_ms = min(settings.notification_retry_ms << min(row.attempts - 1, MAX_DOUBLINGS), MAX_DELAY_MS)
        if delivery.permanent or now_ms + delay_ms > row.created_ms + settings.notification_give_up_ms:
            return NotificationState.GIVEN_UP, None, now_ms, storable(delivery.message)
        return NotificationState.PENDING, now_ms + delay_ms, None, storable(delivery.message)

    def _report(self, attempts: Sequence[DeliveryAttempt], states: Mapping[str, str]) -> None:
        """Count the results, and warn of notifications that were not delivered."""
        events = self._context.events
        for row, delivery in attempts:
            state = states.get(row.notification_id)
            if delivery is None or state is None:
                continue
            events.count(COUNTERS[NotificationState(state)])
            if not delivery.arrived:
                end = "was given up" if state == NotificationState.GIVEN_UP else "was not delivered"
                events.warn(f"a notification for {row.rule_name} ({row.topic}) {end}: {delivery.message}")


COUNTERS = {
    NotificationState.DELIVERED: "notifications_delivered",
    NotificationState.GIVEN_UP: "notifications_given_up",
    NotificationState.PENDING: "notifications_retried",
}


def notification_body(row: NotificationRow) -> bytes:
    """Return the body of a notification, which is the same at every attempt."""
    data: Mapping[str, Any] = json.loads(row.about)
    message = {"type": NotificationKind(row.topic).event_type, "timestamp": iso_time(row.created_ms), "data": data}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _summary_data(rows: Sequence[NotificationRow]) -> dict[str, Any]:
    """Return the data of a summary: the number of notifications by schedule and kind."""
    counts = Counter((row.schedule_id, row.topic) for row in rows)
    groups = [
        {"schedule_id": schedule_id, "type": NotificationKind(topic).event_type, "count": count}
        for (schedule_id, topic), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return {
        "namespace": rows[0].namespace,
        "count": len(rows),
        "first": iso_time(min(row.created_ms for row in rows)),
        "last": iso_time(max(row.created_ms for row in rows)),
        "schedules": groups[:MAX_SCHEDULES_IN_SUMMARY],
        "more_schedules": max(0, len(groups) - MAX_SCHEDULES_IN_SUMMARY),
    }
