"""A run as a message for a queue, and the option that defines when the run is complete."""

from __future__ import annotations

import json
from typing import Any

from tompion.errors import LaunchRefused
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.executors.options import ExecutorEnv


def run_message(dag: Any, run_context: RunContext, env: ExecutorEnv) -> bytes:
    """Return a run as JSON. The consumer can report its outcome with the token."""
    return json.dumps({"dag": dag, "meta": run_context.meta, "callback": callback_info(run_context, env)}).encode()


def callback_info(run_context: RunContext, env: ExecutorEnv) -> dict[str, str]:
    """Return the data a target needs to report: the token, and the URL if the process has a public URL."""
    if env.public_url is None:
        return {"token": run_context.token}
    return {"url": f"{env.public_url.rstrip('/')}/api/v1/callbacks", "token": run_context.token}


def run_metadata(run_context: RunContext) -> dict[str, str]:
    """Return the fields of a run that travel in the headers of a message or a request."""
    return {
        "run_id": run_context.run_id,
        "schedule_id": run_context.schedule_id,
        "namespace": run_context.namespace,
        "idempotency_key": run_context.idempotency_key,
        "run_at": run_context.run_at.isoformat(),
        "attempt": str(run_context.attempt),
    }


def trace_headers(run_context: RunContext) -> dict[str, str]:
    """Return the header that continues the trace, if the run is traced."""
    return {} if run_context.traceparent is None else {"traceparent": run_context.traceparent}


def message_id(run_context: RunContext, end: type[Completed | Accepted]) -> str:
    """Return the id by which a queue recognises a duplicate message.

    A consumer that reports needs the token of the current attempt, so each attempt is a message of its own.  The key in
    it is the same.
    """
    if end is Accepted and run_context.attempt > 1:
        return f"{run_context.delivery_id}.attempt-{run_context.attempt}"
    return run_context.delivery_id


def completion_type(run_context: RunContext) -> type[Completed | Accepted]:
    """Return the outcome once the queue has the message: completed, or accepted if the consumer reports."""
    done = run_context.options.get("done", "taken")
    if done == "taken":
        return Completed
    if done == "reported":
        return Accepted
    raise LaunchRefused("the workflow's option done is neither 'taken' nor 'reported'")


def text_option(run_context: RunContext, name: str) -> str:
    """Return a mandatory text option of a workflow."""
    value = run_context.options.get(name)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise LaunchRefused(f"the workflow's option {name} is missing or is not text")
    return value
