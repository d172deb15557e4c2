"""How the store stands, of all namespaces: for those who watch the service, not for those who use it."""

from __future__ import annotations

from tompion.model.standing import MOST_COUNTED, Backlog, Standing
from tompion.operations.session import Session
from tompion.operations.work import MISSED_BEATS


def standing(session: Session) -> Standing:
    """Count what is due, waits, is paused or degraded, none of it beyond a bound."""
    transaction, now_ms = session.transaction, session.now_ms
    due, waiting, paused, degraded = transaction.standing(now_ms, MOST_COUNTED)
    live = transaction.live_instances(now_ms - MISSED_BEATS * session.settings.heartbeat_ms)
    depths = transaction.queue_depths(now_ms, MOST_COUNTED)
    queues = tuple(Backlog(name, runs, max(0, now_ms - since_ms) / 1000) for name, runs, since_ms in depths)
    return Standing(due, waiting, paused, degraded, live, queues)
