"""Limits and cursors of paged lists."""

from __future__ import annotations

from tompion.errors import InvalidField, display
from tompion.operations.context import OperationContext
from tompion.operations.validation import check_text

DEFAULT_PAGE = 50
NEWEST = 1 << 60
"""The default start of a list with the newest entries first. It is larger than every number in a page token."""
MAX_FILTER_CHARS = 1_000


def page_limit(context: OperationContext, limit: int) -> int:
    """Return the checked length of a page."""
    if type(limit) is not int or not 1 <= limit <= context.settings.max_page:
        raise InvalidField("limit", f"{display(limit)}; expected 1 to max_page ({context.settings.max_page})")
    return limit


def page_name(after: str | None) -> str:
    """Return the name in a page token: the last one of the page before."""
    return "" if after is None else check_text("after", after, MAX_FILTER_CHARS)


def page_number(field: str, text: str | None, default: int) -> int:
    """Return the number in a page token."""
    if text is None:
        return default
    if not (str(text).isascii() and str(text).isdecimal()) or len(str(text)) > 18:
        raise InvalidField(field, f"{display(text)} is not a page token")
    return int(text)
