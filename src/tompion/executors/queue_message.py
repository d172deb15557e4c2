"""A run as a message: what every queue is given, and when the run counts as done."""

from __future__ import annotations

import json
from typing import Any

from tompion.errors import LaunchRefused
from tompion.executors.base import Accepted, Completed, RunContext
from tompion.executors.options import ExecutorEnv


def message_of(dag: Any, meta: RunContext, site: ExecutorEnv) -> bytes:
    """Return a run as JSON; whoever takes it from the queue can report with the token."""
    return json.dumps({"dag": dag, "meta": meta.meta, "callback": callback_of(meta, site)}).encode()


def callback_of(meta: RunContext, site: ExecutorEnv) -> dict[str, str]:
    """Return what whoever executes a run needs to report: the token, and where to, if the process knows that."""
    if site.public_url is None:
        return {"token": meta.token}
    return {"url": f"{site.public_url.rstrip('/')}/api/v1/reports", "token": meta.token}


def traced(meta: RunContext) -> dict[str, str]:
    """Return the header that goes on with a trace, if there is one."""
    return {} if meta.traceparent is None else {"traceparent": meta.traceparent}


def message_id_of(meta: RunContext, end: type[Completed | Accepted]) -> str:
    """Return what a queue is to recognise a message by.

    Whoever reports shows the token of the attempt that counts, so each attempt is a message of its own then; the key
    in it is the same.
    """
    if end is Accepted and meta.attempt > 1:
        return f"{meta.delivery_id}.attempt-{meta.attempt}"
    return meta.delivery_id


def done_when(meta: RunContext) -> type[Completed | Accepted]:
    """Return what it means that a queue has the message: all there is, or that whoever takes it will report."""
    done = meta.options.get("done", "taken")
    if done == "taken":
        return Completed
    if done == "reported":
        return Accepted
    raise LaunchRefused("the workflow's option done is neither 'taken' nor 'reported'")


def text_option(meta: RunContext, name: str) -> str:
    """Return an option of a workflow that must be there."""
    value = meta.options.get(name)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise LaunchRefused(f"the workflow's option {name} is missing, or no text")
    return value
