"""Notifications: the outbox, the dispatcher that delivers it, and the health-check ping."""
