"""Search attributes: typed values by which schedules can be searched."""

from __future__ import annotations

from enum import StrEnum


class AttributeType(StrEnum):
    """The type of a search attribute. Only a ``KeywordList`` has several values."""

    TEXT = "Text"
    KEYWORD = "Keyword"
    INT = "Int"
    DOUBLE = "Double"
    BOOL = "Bool"
    DATETIME = "Datetime"
    KEYWORD_LIST = "KeywordList"
