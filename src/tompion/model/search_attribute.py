"""Search attributes: typed values that a schedule can be found by."""

from __future__ import annotations

from enum import StrEnum


class AttributeType(StrEnum):
    """What a search attribute holds; a ``KeywordList`` is the only one with several values."""

    TEXT = "Text"
    KEYWORD = "Keyword"
    INT = "Int"
    DOUBLE = "Double"
    BOOL = "Bool"
    DATETIME = "Datetime"
    KEYWORD_LIST = "KeywordList"
