"""The roles of the PostgreSQL databases that tests use."""

from __future__ import annotations

OWNER, WORKER, TENANT = "postgres", "walled_worker", "walled_tenant"


def owner_url(url: str) -> str:
    """Return the URL with which the owner of the tables connects to a database."""
    return url.replace(f"://{WORKER}@", f"://{OWNER}@")
