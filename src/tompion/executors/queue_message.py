"""A run as a message for a queue, and the option that defines when the run is complete."""

from __future__ import annotations

import json
from typing import Any

from tompion.errors import LaunchRefused
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.executors.options import ExecutorEnv


def run_message(dag: Any, meta: RunContext, env: ExecutorEnv) -> bytes:
    """Return a run as JSON. The consumer can report its outcome with the token."""
    return json.dumps({"dag": dag, "meta": meta.meta, "callback": callback_info(meta, env)}).encode()


def callback_info(meta: RunContext, env: ExecutorEnv) -> dict[str, str]:
    """Return the data a target needs to report: the token, and the URL if the process has a public URL."""
    if env.public_url is None:
        return {"token": meta.token}
    return {"url": f"{env.public_url.rstrip('/')}/api/v1/callbacks", "token": meta.token}


def run_metadata(meta: RunContext) -> dict[str, str]:
    """Return the fields of a run that travel in the headers of a message or a request."""
    return {
        "run_id": meta.run_id,
        "schedule_id": meta.schedule_id,
        "namespace": meta.namespace,
        "idempotency_key": meta.idempotency_key,
        "run_at": meta.run_at.isoformat(),
        "attempt": str(meta.attempt),
    }


def trace_headers(meta: RunContext) -> dict[str, str]:
    """Return the header that continues the trace, if the run is traced."""
    return {} if meta.traceparent is None else {"traceparent": meta.traceparent}


def message_id(meta: RunContext, end: type[Completed | Accepted]) -> str:
    """Return the id by which a queue recognises a duplicate message.

    A consumer that reports needs the token of the current attempt, so each attempt is a message of its own.  The key in
    it is the same.
    """
    if end is Accepted and meta.attempt > 1:
        return f"{meta.delivery_id}.attempt-{meta.attempt}"
    return meta.delivery_id


def completion_type(meta: RunContext) -> type[Completed | Accepted]:
    """Return the outcome once the queue has the message: completed, or accepted if the consumer reports."""
    done = meta.options.get("done", "taken")
    if done == "taken":
        return Completed
    if done == "reported":
        return Accepted
    raise LaunchRefused("the workflow's option done is neither 'taken' nor 'reported'")


def text_option(meta: RunContext, name: str) -> str:
    """Return a mandatory text option of a workflow."""
    value = meta.options.get(name)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise LaunchRefused(f"the workflow's option {name} is missing or is not text")
    return value
