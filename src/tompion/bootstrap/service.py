"""Builds a process from its parts; the only place that knows all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from tompion.config.loader import Config, load
from tompion.config.redact import redacted_config
from tompion.runtime.clock import Clock
from tompion.store import url_masking

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tompion.api.rest.middleware.access_log import AccessRecord
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.operations.runner import OperationRunner
from tompion.bootstrap.telemetry import build_metrics

masked = url_masking.mask_password


def build_service(  # noqa: PLR0913 - every part has a default
    runner: OperationRunner,
    configuration: Config | None = None,
    *,
    clock: Clock | None = None,
    tracing: Tracing | None = None,
    requests: Callable[[str, str, int, float], None] | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
) -> FastAPI:
    """Return the service with its page, as a configuration wants it.

    ``requests`` is who may be told of each; ``problems`` are those of the engine beside it.
    """
    from tompion.api.rate_limit import NamespaceRateLimiter
    from tompion.api.rest.app import Service, create_app
    from tompion.bootstrap.security import cookies_of, gate_of, hosts_of
    from tompion.web.app import mount_ui

    told = configuration or load({})
    cookies = cookies_of(runner, told, clock)
    service = Service(
        runner,
        version("tompion"),
        hosts_of(told),
        authenticator=gate_of(runner, told, clock, cookies),
        session_cookies=cookies,
        public_url=told.get("public_url"),
        read_only=told.get("read_only"),
        max_body_bytes=told.get("max_body_bytes"),
        requests_per_s=told.get("requests_per_s"),
        namespace_limits=NamespaceRateLimiter(told.get("namespace_requests_per_s")),
        configuration=redacted_config(told),
        metrics=build_metrics(runner),
        on_request=_access_log(requests) if requests is not None and told.get("access_log") else None,
        on_trigger=None if tracing is None else tracing.triggered,
        problems=problems,
    )
    app = create_app(service)
    mount_ui(app)
    return app


def _access_log(requests: Callable[[str, str, int, float], None]) -> Callable[[AccessRecord], None]:
    return lambda each: requests(each.method, each.path, each.status, each.seconds)
