"""The methods of the embedded app and of both clients: the everyday verbs, and a group for each kind of resource."""

from __future__ import annotations

from tompion.contract.async_resources import (
    AsyncAudit,
    AsyncCalendars,
    AsyncInsight,
    AsyncInstances,
    AsyncKeys,
    AsyncNotifications,
    AsyncQueues,
    AsyncRuns,
    AsyncWorkflows,
)
from tompion.contract.async_schedules import AsyncSchedules
from tompion.contract.async_verbs import AsyncVerbs
from tompion.contract.sync_resources import (
    Audit,
    Calendars,
    Instances,
    Keys,
    Notifications,
    Queues,
    Runs,
    SyncInsight,
    Workflows,
)
from tompion.contract.sync_schedules import Schedules
from tompion.contract.sync_verbs import SyncVerbs


class AsyncMethods(AsyncVerbs, AsyncInsight):
    """Every operation as an asynchronous method. A subclass defines how an operation is run."""

    @property
    def schedules(self) -> AsyncSchedules:
        """Return the methods of schedules."""
        return AsyncSchedules(self)

    @property
    def runs(self) -> AsyncRuns:
        """Return the methods of runs."""
        return AsyncRuns(self)

    @property
    def workflows(self) -> AsyncWorkflows:
        """Return the methods of stored workflows."""
        return AsyncWorkflows(self)

    @property
    def calendars(self) -> AsyncCalendars:
        """Return the methods of named calendars."""
        return AsyncCalendars(self)

    @property
    def queues(self) -> AsyncQueues:
        """Return the methods of queues."""
        return AsyncQueues(self)

    @property
    def keys(self) -> AsyncKeys:
        """Return the methods of API keys."""
        return AsyncKeys(self)

    @property
    def instances(self) -> AsyncInstances:
        """Return the methods of engines and workers."""
        return AsyncInstances(self)

    @property
    def notifications(self) -> AsyncNotifications:
        """Return the methods of notifications."""
        return AsyncNotifications(self)

    @property
    def audit(self) -> AsyncAudit:
        """Return the methods of the audit log."""
        return AsyncAudit(self)


class SyncMethods(SyncVerbs, SyncInsight):
    """Every operation as a synchronous method. A subclass defines how an operation is run."""

    @property
    def schedules(self) -> Schedules:
        """Return the methods of schedules."""
        return Schedules(self)

    @property
    def runs(self) -> Runs:
        """Return the methods of runs."""
        return Runs(self)

    @property
    def workflows(self) -> Workflows:
        """Return the methods of stored workflows."""
        return Workflows(self)

    @property
    def calendars(self) -> Calendars:
        """Return the methods of named calendars."""
        return Calendars(self)

    @property
    def queues(self) -> Queues:
        """Return the methods of queues."""
        return Queues(self)

    @property
    def keys(self) -> Keys:
        """Return the methods of API keys."""
        return Keys(self)

    @property
    def instances(self) -> Instances:
        """Return the methods of engines and workers."""
        return Instances(self)

    @property
    def notifications(self) -> Notifications:
        """Return the methods of notifications."""
        return Notifications(self)

    @property
    def audit(self) -> Audit:
        """Return the methods of the audit log."""
        return Audit(self)
