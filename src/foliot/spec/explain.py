"""Placeholder."""

from foliot.model.spec import SpecDocument


def explain(spec: SpecDocument) -> str:
    """Placeholder."""
    return ""
