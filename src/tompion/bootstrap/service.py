"""Builds the HTTP service with the web UI from a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from tompion.bootstrap.telemetry import build_metrics
from tompion.config.redact import redacted_config
from tompion.config.schema import Config
from tompion.runtime.clock import Clock

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tompion.api.rest.middleware.access_log import AccessRecord
    from tompion.engine.telemetry.tracing import Tracing
    from tompion.operations.runner import OperationRunner


def build_service(  # noqa: PLR0913 - every part has a default
    runner: OperationRunner,
    config: Config | None = None,
    *,
    clock: Clock | None = None,
    tracing: Tracing | None = None,
    log_request: Callable[[str, str, int, float, str], None] | None = None,
    problems: Callable[[], Sequence[str]] = tuple,
) -> Starlette:
    """Return the service with the web UI.

    ``log_request`` receives each request if the access log is on. ``problems`` returns those of the engine in the same
    process.
    """
    from tompion.api.rate_limit import NamespaceRateLimiter
    from tompion.api.rest.app import Service, create_app
    from tompion.bootstrap.security import allowed_hosts, build_authenticator, build_session_cookies
    from tompion.web.app import mount_ui

    config = config or Config()
    cookies = build_session_cookies(runner, config, clock)
    service = Service(
        runner,
        version("tompion"),
        allowed_hosts(config),
        authenticator=build_authenticator(runner, config, clock, cookies),
        session_cookies=cookies,
        public_url=config.public_url,
        read_only=config.read_only,
        max_body_bytes=config.max_body_bytes,
        requests_per_s=config.requests_per_s,
        namespace_limits=NamespaceRateLimiter(config.namespace_requests_per_s),
        configuration=redacted_config(config),
        metrics=build_metrics(runner),
        on_request=_access_log(log_request) if log_request is not None and config.access_log else None,
        on_trigger=None if tracing is None else tracing.record_trigger,
        problems=problems,
    )
    app = create_app(service)
    mount_ui(app)
    return app


def _access_log(log_request: Callable[[str, str, int, float, str], None]) -> Callable[[AccessRecord], None]:
    return lambda record: log_request(record.method, record.path, record.status, record.seconds, record.request_id)
