"""The fields by which a schedule names what it runs, and the options of the built-in executors."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

EXECUTOR_OPTIONS: dict[str, tuple[str, ...]] = {
    "command": ("command",),
    "http": ("url", "method", "headers", "body", "secret", "expect", "timeout_ms", "cancel_url"),
    "celery": ("task", "args", "kwargs", "queue", "done"),
    "temporal": (
        "workflow", "task_queue", "workflow_id", "id", "args", "memo", "search_attributes", "done", "start",
        "execution_timeout_ms", "run_timeout_ms", "task_timeout_ms",
    ),
    "nats": ("subject", "done"),
    "redis": ("stream", "done"),
    "rabbitmq": ("queue", "exchange", "routing_key", "done"),
    "postgres": ("table", "columns", "function", "args", "done"),
}  # fmt: skip
"""The options of each executor that a schedule can name directly. A stored workflow has the same options."""

TARGET_FIELDS = ("function", "workflow_id", *EXECUTOR_OPTIONS)
"""The fields that name what a schedule runs. A schedule has exactly one of them."""

HTTP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

CONTENT_TYPE = "content-type"

_RESERVED_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "idempotency-key"})

_RESERVED_PREFIXES = ("webhook-", "tompion-")

_LISTED: dict[str, tuple[str, ...]] = {
    "command": ("command",),
    "http": ("method", "url"),
    "celery": ("task", "queue"),
    "temporal": ("workflow", "task_queue"),
    "nats": ("subject",),
    "redis": ("stream",),
    "rabbitmq": ("queue", "exchange", "routing_key"),
    "postgres": ("table", "function"),
}


def listed_options(executor: str, options: dict[str, object]) -> dict[str, object]:
    """Return the options that identify a target. The others may hold secrets, and so may parts of a URL."""
    listed = {name: options[name] for name in _LISTED.get(executor, ()) if name in options}
    if "url" in listed:
        parts = urlsplit(str(listed["url"]))
        host = parts.netloc.rpartition("@")[2]
        listed["url"] = urlunsplit((parts.scheme, host, parts.path, "", ""))
    return listed


def is_expected_status(rule: object, status: int) -> bool:
    """Return whether a status fits a rule of ``expect``: a number such as 204, or a class such as ``2xx``."""
    return rule == status or rule == f"{status // 100}xx"


def header_problem(name: str, value: str, *, has_body: bool) -> str | None:
    """Return why a request cannot have a header, or ``None``. The value may be a secret, so no problem contains it."""
    lowered = name.lower()
    if lowered in _RESERVED_HEADERS or lowered.startswith(_RESERVED_PREFIXES):
        return f"must not set the header {name!r}"
    if lowered == CONTENT_TYPE and not has_body:
        return f"must not set the header {name!r} without a body"
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
        return "a header has an invalid name"
    return None if value.isprintable() else f"the header {name!r} has an invalid value"
