"""Notifications: the outbox that a transaction writes, the dispatcher that delivers them, and the health ping."""
