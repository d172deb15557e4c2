"""Parts of an app that other packages of Tompion use. Programs of users have no need of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tompion.bootstrap.engine import Outbound
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.operations.runner import OperationRunner
    from tompion.sdk.app import AsyncTompion, Tompion
    from tompion.sdk.declarations import Declarations

# ruff: noqa: SLF001 - the only module that reads the private parts of an app


def runner_of(app: AsyncTompion | Tompion) -> OperationRunner:
    """Return the runner of operations on the store of an open app."""
    return app._runner


def tracing_of(app: AsyncTompion | Tompion) -> Tracing | None:
    """Return the tracing of an open app, or ``None``."""
    return app._tracing


def declarations_of(app: AsyncTompion | Tompion) -> Declarations:
    """Return the schedules that an app declares."""
    return app._declarations


def outbound_of(app: AsyncTompion | Tompion) -> Outbound:
    """Return the notifications and pings of an app."""
    return app._outbound


def replace_outbound(app: AsyncTompion | Tompion, outbound: Outbound) -> None:
    """Replace the notifications and pings of an app that is not open."""
    app._outbound = outbound
