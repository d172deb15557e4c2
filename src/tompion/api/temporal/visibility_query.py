"""Visibility queries, the filters of lists: ``Team = 'billing' AND TemporalSchedulePaused = false``.

A query is parsed into a predicate of a schedule. Its names are search attributes, and ``ScheduleId`` and
``TemporalSchedulePaused``. A comparison with an attribute that a schedule does not have is false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn

from tompion.errors import InvalidField
from tompion.model.schedule import Schedule, ScheduleStatus
from tompion.model.search_attribute import AttributeType

SCHEDULE_ID, PAUSED = "ScheduleId", "TemporalSchedulePaused"
RESERVED = re.compile(r"Temporal|(?:WorkflowId|WorkflowType|RunId|ExecutionStatus|StartTime|CloseTime|TaskQueue)$")
MAX_QUERY_CHARS = 10_000
MAX_DEPTH = 50
_TOKEN = re.compile(
    r"\s*(?:(?P<name>`[^`]+`)|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])|(?P<word>[A-Za-z_][\w.\-]*)"
    r"|(?P<sign><=|>=|!=|<>|=|<|>|\(|\)|,))"
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
Predicate = Callable[[Schedule], bool]
NO_TYPES: Mapping[str, str] = {}
SAMPLES: dict[str, Any] = {
    AttributeType.KEYWORD: "", AttributeType.INT: 0, AttributeType.DOUBLE: 0.0, AttributeType.BOOL: False,
    AttributeType.DATETIME: "2026-01-01T00:00:00Z",
}  # fmt: skip
"""A value of each type, to check whether a literal can be compared with it."""


def parse_query(text: str, registered: Mapping[str, str] = NO_TYPES) -> Predicate:
    """Return the predicate of a query. An empty query matches every schedule.

    A literal that does not fit the ``registered`` type of an attribute is an error. An attribute without a registered
    type has a type of its own in each schedule, and a literal that does not fit does not match.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidField("query", f"{len(text)} characters, more than {MAX_QUERY_CHARS}")
    if not text.strip():
        return lambda _: True
    return _Parser(text, registered).parse()


class _Parser:
    """A recursive descent parser of one query."""

    def __init__(self, text: str, registered: Mapping[str, str]) -> None:
        self._types = {**registered, SCHEDULE_ID: AttributeType.KEYWORD, PAUSED: AttributeType.BOOL}
        self._tokens: list[tuple[str, str]] = []
        self._place = 0
        self._depth = 0
        end = 0
        while text[end:].strip():
            match = _TOKEN.match(text, end)
            if match is None or match.lastgroup is None:
                _refuse(f"cannot parse {text[end:].strip()[:20]!r}")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            end = match.end()

    def parse(self) -> Predicate:
        """Return the predicate of the whole query."""
        predicate = self._disjunction()
        if self._place < len(self._tokens):
            _refuse(f"unexpected {self._tokens[self._place][1]!r} after the end")
        return predicate

    def _disjunction(self) -> Predicate:
        predicates = [self._conjunction()]
        while self._accept("OR"):
            predicates.append(self._conjunction())
        if len(predicates) == 1:
            return predicates[0]
        return lambda schedule: any(predicate(schedule) for predicate in predicates)

    def _conjunction(self) -> Predicate:
        predicates = [self._term()]
        while self._accept("AND"):
            predicates.append(self._term())
        if len(predicates) == 1:
            return predicates[0]
        return lambda schedule: all(predicate(schedule) for predicate in predicates)

    def _term(self) -> Predicate:
        """Parse a negation, a group in parentheses or a comparison."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _refuse("nested too deeply")
        if self._accept("NOT"):
            predicate = _not(self._term())
        elif self._accept("("):
            predicate = self._disjunction()
            self._expect(")")
        else:
            predicate = self._comparison(self._name())
        self._depth -= 1
        return predicate

    def _comparison(self, name: str) -> Predicate:
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return lambda schedule: (_typed_value(schedule, name) is None) != negated
        if self._accept("NOT"):
            return _if_present(name, _not(self._keyword_comparison(name)))
        kind, sign = self._next()
        if kind == "sign" and sign in _COMPARISONS:
            return self._compare_checked(name, _COMPARISONS[sign], self._literal())
        self._place -= 1
        return self._keyword_comparison(name)

    def _keyword_comparison(self, name: str) -> Predicate:
        """Parse ``IN``, ``STARTS_WITH`` or ``BETWEEN`` after a name."""
        if self._accept("IN"):
            self._expect("(")
            literals = [self._literal()]
            while self._accept(","):
                literals.append(self._literal())
            self._expect(")")
            predicates = [self._compare_checked(name, operator.eq, literal) for literal in literals]
            return lambda schedule: any(predicate(schedule) for predicate in predicates)
        if self._accept("STARTS_WITH"):
            prefix = str(self._literal())
            return lambda schedule: any(str(value).startswith(prefix) for value in _values(schedule, name))
        if self._accept("BETWEEN"):
            low = self._compare_checked(name, operator.ge, self._literal())
            self._expect("AND")
            high = self._compare_checked(name, operator.le, self._literal())
            return lambda schedule: low(schedule) and high(schedule)
        return _refuse(f"expected a comparison after {name!r}")

    def _compare_checked(self, name: str, compare: Callable[[Any, Any], bool], literal: Any) -> Predicate:
        kind = self._types.get(name)
        if kind in SAMPLES and _holds(compare, str(kind), SAMPLES[kind], literal) is None:
            _refuse(f"{name!r} has the type {kind}, which cannot be compared with {literal!r}")
        return _comparison(name, compare, literal)

    def _name(self) -> str:
        kind, text = self._next()
        if kind not in ("name", "word"):
            _refuse(f"expected a name, not {text!r}")
        name = text.strip("`")
        if name != PAUSED and RESERVED.match(name):
            _refuse(f"schedules cannot be found by {name!r}; expected a search attribute, {SCHEDULE_ID} or {PAUSED}")
        return name

    def _literal(self) -> Any:
        kind, text = self._next()
        if kind == "text":
            return re.sub(r"\\(.)|''", lambda match: match[1] or "'", text[1:-1])
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _refuse(f"expected a value, not {text!r}")

    def _next(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            _refuse("unexpected end")
        self._place += 1
        return self._tokens[self._place - 1]

    def _accept(self, token: str) -> bool:
        """Consume a token if it is the next one."""
        kind, text = self._tokens[self._place] if self._place < len(self._tokens) else ("", "")
        if kind not in ("word", "sign") or text.upper() != token:
            return False
        self._place += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            _refuse(f"expected {token}")


def _refuse(problem: str) -> NoReturn:
    raise InvalidField("query", f"invalid query: {problem}")


def _not(predicate: Predicate) -> Predicate:
    return lambda schedule: not predicate(schedule)


def _if_present(name: str, predicate: Predicate) -> Predicate:
    return lambda schedule: _typed_value(schedule, name) is not None and predicate(schedule)


def _typed_value(schedule: Schedule, name: str) -> Any:
    """Return the type and the value of an attribute of a schedule, or ``None``."""
    if name == SCHEDULE_ID:
        return (AttributeType.KEYWORD, schedule.schedule_id)
    if name == PAUSED:
        return (AttributeType.BOOL, schedule.status is ScheduleStatus.PAUSED)
    attributes: Mapping[str, Any] = schedule.definition.search_attributes or {}
    return (attributes[name]["type"], attributes[name]["value"]) if name in attributes else None


def _values(schedule: Schedule, name: str) -> list[Any]:
    typed = _typed_value(schedule, name)
    if typed is None:
        return []
    return list(typed[1]) if isinstance(typed[1], list) else [typed[1]]


def _comparison(name: str, compare: Callable[[Any, Any], bool], literal: Any) -> Predicate:
    """Return a predicate that compares an attribute with a literal. A missing attribute never matches."""

    def predicate(schedule: Schedule) -> bool:
        typed = _typed_value(schedule, name)
        if typed is None:
            return False
        kind, value = typed
        if kind == AttributeType.TEXT and compare in (operator.eq, operator.ne):
            words = set(re.findall(r"\w+", str(literal).lower()))
            return (words <= set(re.findall(r"\w+", value.lower()))) == (compare is operator.eq)
        if kind == AttributeType.KEYWORD_LIST:
            return (literal in value) == (compare is operator.eq) if compare in (operator.eq, operator.ne) else False
        return _holds(compare, kind, value, literal) is True

    return predicate


def _holds(compare: Callable[[Any, Any], bool], kind: str, value: Any, literal: Any) -> bool | None:
    """Return whether a comparison holds, or ``None`` if the two cannot be compared."""
    try:
        if kind == AttributeType.DATETIME:
            return compare(datetime.fromisoformat(value), datetime.fromisoformat(str(literal)))
        if kind == AttributeType.BOOL and isinstance(literal, str):
            literal = literal.lower() == "true"
        return compare(value, literal)
    except (TypeError, ValueError):
        return None
