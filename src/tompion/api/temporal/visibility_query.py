"""Filter queries of lists: ``Team = 'billing' AND TemporalSchedulePaused = false``.

A query is read into a test of one schedule.  Names are those of search attributes, and two that every schedule has:
``ScheduleId`` and ``TemporalSchedulePaused``.  A comparison with an attribute that a schedule does not have is false.
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
Test = Callable[[Schedule], bool]
NOTHING: Mapping[str, str] = {}
SAMPLES: dict[str, Any] = {
    AttributeType.KEYWORD: "", AttributeType.INT: 0, AttributeType.DOUBLE: 0.0, AttributeType.BOOL: False,
    AttributeType.DATETIME: "2026-01-01T00:00:00Z",
}  # fmt: skip
"""A value of each type that only some values can be compared with."""


def read_query(text: str, registered: Mapping[str, str] = NOTHING) -> Test:
    """Return the test that a query is; an empty one lets everything pass.

    A value that does not fit the type of an attribute is refused if that type is ``registered``; otherwise each
    schedule has its own, and one that it does not fit is not found.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidField("query", f"{len(text)} characters, more than {MAX_QUERY_CHARS}")
    if not text.strip():
        return lambda _: True
    return _Reader(text, registered).whole()


class _Reader:
    """Reads one query; lives only as long as that takes."""

    def __init__(self, text: str, registered: Mapping[str, str]) -> None:
        self._types = {**registered, SCHEDULE_ID: AttributeType.KEYWORD, PAUSED: AttributeType.BOOL}
        self._tokens: list[tuple[str, str]] = []
        self._place = 0
        self._depth = 0
        end = 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None or found.lastgroup is None:
                _refuse(f"cannot read {text[end:].strip()[:20]!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            end = found.end()

    def whole(self) -> Test:
        test = self._either()
        if self._place < len(self._tokens):
            _refuse(f"there is more after its end: {self._tokens[self._place][1]!r}")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._took("OR"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda schedule: any(test(schedule) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._took("AND"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda schedule: all(test(schedule) for test in tests)

    def _one(self) -> Test:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _refuse("it is nested too deeply")
        if self._took("NOT"):
            test = _not(self._one())
        elif self._took("("):
            test = self._either()
            self._expect(")")
        else:
            test = self._comparison(self._name())
        self._depth -= 1
        return test

    def _comparison(self, name: str) -> Test:
        if self._took("IS"):
            negated = self._took("NOT")
            self._expect("NULL")
            return lambda schedule: (_value(schedule, name) is None) != negated
        if self._took("NOT"):
            return _known(name, _not(self._listed(name)))
        kind, sign = self._next()
        if kind == "sign" and sign in _COMPARISONS:
            return self._compared(name, _COMPARISONS[sign], self._literal())
        self._place -= 1
        return self._listed(name)

    def _listed(self, name: str) -> Test:
        if self._took("IN"):
            self._expect("(")
            wanted = [self._literal()]
            while self._took(","):
                wanted.append(self._literal())
            self._expect(")")
            tests = [self._compared(name, operator.eq, each) for each in wanted]
            return lambda schedule: any(test(schedule) for test in tests)
        if self._took("STARTS_WITH"):
            beginning = str(self._literal())
            return lambda schedule: any(str(each).startswith(beginning) for each in _values(schedule, name))
        if self._took("BETWEEN"):
            low = self._compared(name, operator.ge, self._literal())
            self._expect("AND")
            high = self._compared(name, operator.le, self._literal())
            return lambda schedule: low(schedule) and high(schedule)
        return _refuse(f"expected a comparison after {name!r}")

    def _compared(self, name: str, compare: Callable[[Any, Any], bool], wanted: Any) -> Test:
        kind = self._types.get(name)
        if kind in SAMPLES and _holds(compare, str(kind), SAMPLES[kind], wanted) is None:
            _refuse(f"{name!r} holds a {kind}, which cannot be compared with {wanted!r}")
        return _compared(name, compare, wanted)

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
            return re.sub(r"\\(.)|''", lambda found: found[1] or "'", text[1:-1])
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        return _refuse(f"expected a value, not {text!r}")

    def _next(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            _refuse("it ends too soon")
        self._place += 1
        return self._tokens[self._place - 1]

    def _took(self, wanted: str) -> bool:
        kind, text = self._tokens[self._place] if self._place < len(self._tokens) else ("", "")
        if kind not in ("word", "sign") or text.upper() != wanted:
            return False
        self._place += 1
        return True

    def _expect(self, wanted: str) -> None:
        if not self._took(wanted):
            _refuse(f"expected {wanted}")


def _refuse(problem: str) -> NoReturn:
    raise InvalidField("query", f"invalid query: {problem}")


def _not(test: Test) -> Test:
    return lambda schedule: not test(schedule)


def _known(name: str, test: Test) -> Test:
    return lambda schedule: _value(schedule, name) is not None and test(schedule)


def _value(schedule: Schedule, name: str) -> Any:
    """What a schedule has under a name: its type, and its value."""
    if name == SCHEDULE_ID:
        return (AttributeType.KEYWORD, schedule.schedule_id)
    if name == PAUSED:
        return (AttributeType.BOOL, schedule.state is ScheduleStatus.PAUSED)
    attributes: Mapping[str, Any] = schedule.definition.search_attributes or {}
    return (attributes[name]["type"], attributes[name]["value"]) if name in attributes else None


def _values(schedule: Schedule, name: str) -> list[Any]:
    found = _value(schedule, name)
    if found is None:
        return []
    return list(found[1]) if isinstance(found[1], list) else [found[1]]


def _compared(name: str, compare: Callable[[Any, Any], bool], wanted: Any) -> Test:
    def test(schedule: Schedule) -> bool:
        found = _value(schedule, name)
        if found is None:
            return False
        kind, value = found
        if kind == AttributeType.TEXT and compare in (operator.eq, operator.ne):
            words = set(re.findall(r"\w+", str(wanted).lower()))
            return (words <= set(re.findall(r"\w+", value.lower()))) == (compare is operator.eq)
        if kind == AttributeType.KEYWORD_LIST:
            return (wanted in value) == (compare is operator.eq) if compare in (operator.eq, operator.ne) else False
        return _holds(compare, kind, value, wanted) is True

    return test


def _holds(compare: Callable[[Any, Any], bool], kind: str, value: Any, wanted: Any) -> bool | None:
    """Whether a comparison holds; ``None`` if the two cannot be compared."""
    try:
        if kind == AttributeType.DATETIME:
            return compare(datetime.fromisoformat(value), datetime.fromisoformat(str(wanted)))
        if kind == AttributeType.BOOL and isinstance(wanted, str):
            wanted = wanted.lower() == "true"
        return compare(value, wanted)
    except (TypeError, ValueError):
        return None
