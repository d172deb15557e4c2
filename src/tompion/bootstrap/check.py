"""Checks a configuration as ``tompion serve`` would, without a store and without a network connection."""

from __future__ import annotations

from tompion.bootstrap.engine import check_schedules, configured_outbound
from tompion.bootstrap.security import check_exposure
from tompion.bootstrap.store import check_store_url
from tompion.bootstrap.telemetry import build_tracing
from tompion.bootstrap.temporal import check_temporal
from tompion.config.schema import Config
from tompion.executors.options import ExecutorEnv
from tompion.executors.registry import build_executors


async def check_config(config: Config) -> None:
    """Raise if ``tompion serve`` would reject the configuration. Builds the same objects, and closes them."""
    check_store_url(config.store)
    check_schedules(config)
    check_exposure(config)
    check_temporal(config)
    settings = config.settings
    environment = ExecutorEnv(settings.max_threads, settings.max_result_bytes, config.public_url or None)
    for executor in build_executors(config.executors, environment).values():
        await executor.aclose()
    outbound = configured_outbound(config)
    for integration in (outbound.sender, outbound.pinger):
        if integration is not None:
            await integration.aclose()
    tracing = build_tracing(config.tracing)
    if tracing is not None:
        tracing.close()
