"""One field of a cron string or a calendar: text in, bit mask out.

A field is a comma-separated list of *items*. Items are kept in parsed form, because the compiler needs a mask, the
explainer needs English, and the linter checks for uneven steps. Parsed fields are cached by their text, so a hundred
thousand schedules share the few hundred fields that are in common use.

The accepted syntax depends on the *dialect*, see :data:`DIALECT_RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tompion.errors import InvalidSpec
from tompion.model.spec import Dialect, Range
from tompion.spec.calendar.days import FIRST_YEAR, LAST_YEAR, DayRule
from tompion.spec.stable_hash import hash_number

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")

INTERNED_FIELDS = 8_192
"""Number of distinct field texts that are cached."""

HASHED_LAST_DAY = 28
"""``H`` in day-of-month uses only days that every month has."""


@dataclass(frozen=True, eq=False, slots=True)
class FieldKind:
    """A kind of field: its name, its bounds and the names that stand for numbers.

    There is one object of each kind. It is compared and hashed by identity, which makes it a cheap part of a cache key.
    """

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


SECOND = FieldKind("second", 0, 59)
MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY_OF_MONTH = FieldKind("day_of_month", 1, 31)
MONTH = FieldKind("month", 1, 12, MONTH_NAMES)
DAY_OF_WEEK = FieldKind("day_of_week", 0, 6, WEEKDAY_NAMES)
YEAR = FieldKind("year", FIRST_YEAR, LAST_YEAR)


class DialectRules(NamedTuple):
    """Syntax that one dialect accepts inside a field."""

    sunday: int = 0  # the number of Sunday
    both_sundays: bool = True  # 7 is Sunday too
    wraps: bool = True  # FRI-MON
    days: bool = True  # L W #
    hashes: bool = True  # H
    question: bool = True  # ?
    long_steps: bool = True  # a step wider than the field
    bare_step: bool = False  # /15 for 0/15
    steps_to_7: bool = False  # weekday a/n continues to 7, the second Sunday
    min_name_letters: Mapping[str, int] = {}  # field name → letters needed. By default three letters, or the whole name


DIALECT_RULES: dict[Dialect, DialectRules] = {
    "tompion": DialectRules(),
    "quartz": DialectRules(sunday=1, both_sundays=False, hashes=False, long_steps=False, bare_step=True),
    "temporal": DialectRules(
        wraps=False,
        days=False,
        hashes=False,
        question=False,
        steps_to_7=True,
        min_name_letters={"month": 3, "day_of_week": 2},
    ),
}


class Item(NamedTuple):
    """One element of the list of a field.

    ``form`` is ``*`` (all, by ``step``), ``?``, ``value``, ``range`` (``first`` to ``last`` by ``step``, which wraps if
    ``first`` is greater), ``from`` (``first`` to the end by ``step``), ``H`` (hashed within ``first``-``last``, by
    ``step`` if not 0) or ``rule`` (see :class:`DayRule`).
    """

    form: str
    first: int = 0
    last: int = 0
    step: int = 1
    rule: DayRule | None = None


class Field(NamedTuple):
    """A parsed field. ``mask`` has bit 0 for the lowest value of the field and lacks the bits that ``H`` adds."""

    kind: FieldKind
    text: str
    items: tuple[Item, ...]
    mask: int
    rules: tuple[DayRule, ...]
    starred: bool  # begins with * : the wildcard of the DST rule
    unrestricted: bool  # begins with * or ? : the test of the Vixie rule for the two day fields
    hashed: bool  # contains H: the mask depends on the schedule's id

    @property
    def full(self) -> bool:
        """True if every value matches."""
        return self.mask == (2 << self.kind.high - self.kind.low) - 1

    def mask_for(self, schedule_id: str) -> int:
        """Return the mask with every ``H`` resolved for a schedule."""
        mask = self.mask
        if self.hashed:
            for item in self.items:
                if item.form == "H":
                    mask |= _hashed_mask(item, self.kind, schedule_id)
        return mask


_PLAIN = re.compile(r"(?:\*|(\d{1,4})(?:-(\d{1,4}))?)(?:/(\d{1,4}))?", re.ASCII)
_WORDS = re.compile(r"(\d+|[A-Za-z]+)(?:-(\d+|[A-Za-z]+))?(?:/(\d+))?", re.ASCII)
_HASH = re.compile(r"H(?:\((\d+)-(\d+)\))?(?:/(\d+))?", re.ASCII)
_LAST_DAY = re.compile(r"L(?:-(\d+))?(W)?", re.ASCII)
_WORKDAY = re.compile(r"(\d+)W", re.ASCII)
_NTH = re.compile(r"(\d+|[A-Za-z]+)#(\d+|L)", re.ASCII)
_LAST_WEEKDAY = re.compile(r"(\d+|[A-Za-z]+?)L", re.ASCII)


@lru_cache(maxsize=INTERNED_FIELDS)
def parse_field(kind: FieldKind, text: str, dialect: Dialect = "tompion") -> Field:
    """Parse one field. The position of an error counts from the beginning of ``text``."""
    if text == "*":  # the most frequent field in every dialect
        return _WHOLE[kind]
    allowed = DIALECT_RULES[dialect]
    items: list[Item] = []
    position = 0
    for part in text.split(","):
        try:
            items.append(_parse_item(kind, part, allowed))
        except InvalidSpec as error:
            raise error.located(field=kind.name, shift=position) from None
        position += len(part) + 1
    if len(items) > 1 and any(item.form == "?" for item in items):
        raise InvalidSpec(
            "'?' in a list", field=kind.name, position=text.index("?"), expected="'?' alone, or a list of values"
        )
    return _field(kind, text, tuple(items))


def field_from_ranges(kind: FieldKind, ranges: tuple[Range, ...], dialect: Dialect) -> Field:
    """Build a field from a structured list of ranges. If the first range is the whole field, it counts as ``*``."""
    items = []
    allowed = DIALECT_RULES[dialect]
    for index, written in enumerate(ranges):
        values = written
        if kind is DAY_OF_WEEK:
            values = _weekday_range(written, f"{kind.name}[{index}]", allowed)
        else:
            for bound in (values.start, values.end):
                _check_bounds(kind, bound, f"{kind.name}[{index}]")
        if values.start > values.end and (not allowed.wraps or kind is YEAR):
            raise _backwards_error(kind, str(values.start), str(values.end), None).located(
                field=f"{kind.name}[{index}]"
            )
        if values.step < 1:
            raise InvalidSpec(f"step {values.step}", field=f"{kind.name}[{index}].step", expected="1 or more")
        whole = (values.start, values.end) == (kind.low, kind.high)
        items.append(Item("*" if whole else "range", values.start, values.end, values.step))
    return _field(kind, ",".join(_item_text(item) for item in items), tuple(items))


def _field(kind: FieldKind, text: str, items: tuple[Item, ...]) -> Field:
    """Return a field from its parsed items."""
    mask = 0
    rules: tuple[DayRule, ...] = ()
    hashed = False
    for item in items:
        if item.rule is not None:
            rules += (item.rule,)
        elif item.form == "H":
            hashed = True
        else:
            mask |= _item_mask(item, kind)
    starred = text.startswith("*")
    return Field(kind, text, items, mask, rules, starred, starred or text == "?", hashed)


def whole_field(kind: FieldKind) -> Field:
    """Return the field that matches everything."""
    return _WHOLE[kind]


def _parse_item(kind: FieldKind, text: str, allowed: DialectRules) -> Item:
    """Parse one item of a field, the most frequent forms first: a number, a range or step, then special forms."""
    if text.isdigit() and text.isascii() and (kind is not DAY_OF_WEEK or allowed.sunday == 0):
        number = _number(kind, text, 0, allowed)
        return Item("value", number % 7 if kind is DAY_OF_WEEK else number)
    match = _PLAIN.fullmatch(text)
    if match is not None and (kind is not DAY_OF_WEEK or allowed.sunday == 0):
        if match[1] is None:
            return Item("*", kind.low, kind.high, _step(kind, match[3], text, allowed))
        return _read_values(kind, match, text, allowed)
    if text == "*" or text.startswith("*/"):
        return Item("*", kind.low, kind.high, _step(kind, text[2:] if text != "*" else None, text, allowed))
    if text == "?" and allowed.question and kind in (DAY_OF_MONTH, DAY_OF_WEEK):
        return Item("?", kind.low, kind.high)
    if allowed.bare_step and text.startswith("/"):
        return Item("*", kind.low, kind.high, _step(kind, text[1:], text, allowed))
    special = _read_special(kind, text, allowed)
    if special is not None:
        return special
    match = _WORDS.fullmatch(text)
    if match is None:
        raise _syntax_error(kind, text, allowed)
    return _read_values(kind, match, text, allowed)


def _read_values(kind: FieldKind, match: re.Match[str], text: str, allowed: DialectRules) -> Item:
    """Read ``a``, ``a-b``, ``a-b/n`` or ``a/n``."""
    first = _number(kind, match[1], 0, allowed)
    if match[2] is None:
        if match[3] is None:
            return Item("value", first % 7 if kind is DAY_OF_WEEK else first)
        if kind is DAY_OF_WEEK and first == 7:
            raise InvalidSpec("a step from 7", position=0, expected="0 or SUN to begin on Sunday")
        if kind is DAY_OF_WEEK and allowed.steps_to_7:
            return Item("range", first, 7, _step(kind, match[3], text, allowed))
        return Item("from", first, kind.high, _step(kind, match[3], text, allowed))
    last = _number(kind, match[2], match.start(2), allowed)
    if kind is DAY_OF_WEEK and first == 7 and last != 7 and allowed.wraps:
        first = 0
    if first > last and (not allowed.wraps or kind is YEAR):
        raise _backwards_error(kind, match[1], match[2])
    return Item("range", first, last, _step(kind, match[3], text, allowed))


def _read_special(kind: FieldKind, text: str, allowed: DialectRules) -> Item | None:
    """Read ``H`` and the day rules. Return ``None`` for anything else."""
    upper = text.upper()
    if allowed.hashes and upper.startswith("H") and (match := _HASH.fullmatch(upper)):
        return _hash_item(kind, match, text, allowed)
    if not allowed.days:
        return None
    if kind is DAY_OF_MONTH:
        return _month_day_item(upper, allowed)
    if kind is DAY_OF_WEEK:
        return _week_day_item(kind, upper, allowed)
    return None


def _hash_item(kind: FieldKind, match: re.Match[str], text: str, allowed: DialectRules) -> Item:
    """Parse an item with ``H``, with an optional range and step."""
    if kind is YEAR:
        raise InvalidSpec("H in the year field", position=0, expected="years", hint="H would fire in one year only")
    low, high = kind.low, HASHED_LAST_DAY if kind is DAY_OF_MONTH else kind.high
    if match[1] is not None:
        low, high = (_number(kind, match[group], match.start(group), allowed) for group in (1, 2))
        if low > high:
            raise InvalidSpec(f"range {low}-{high} runs backwards", position=2, expected="the lower value first")
    step = _step(kind, match[3], text, allowed) if match[3] else 0
    if step > high - low + 1:
        raise InvalidSpec(
            f"step {step} is wider than the range {low}-{high}",
            position=match.start(3),
            expected=f"at most {high - low + 1}",
        )
    return Item("H", low, high, step)


def _month_day_item(upper: str, allowed: DialectRules) -> Item | None:
    if match := _LAST_DAY.fullmatch(upper):
        before = int(match[1] or 0)
        if before > 30:
            raise InvalidSpec(f"L-{before}", position=2, expected="L-1 to L-30")
        return Item("rule", rule=DayRule("last_workday" if match[2] else "last", before))
    if match := _WORKDAY.fullmatch(upper):
        return Item("rule", rule=DayRule("workday", _number(DAY_OF_MONTH, match[1], 0, allowed)))
    return None


def _week_day_item(kind: FieldKind, upper: str, allowed: DialectRules) -> Item | None:
    """Parse an item such as ``5#2`` or ``FRIL``. Return ``None`` for any other item."""
    if match := _NTH.fullmatch(upper):
        if match[2] == "L":
            raise InvalidSpec(
                "'#L'", position=match.start(2), expected="1 to 5", hint=f"write {match[1]}L for the last"
            )
        if not 1 <= int(match[2]) <= 5:
            raise InvalidSpec(f"#{match[2]}", position=match.start(2), expected="#1 to #5")
        return Item("rule", rule=DayRule("nth", _number(kind, match[1], 0, allowed) % 7, int(match[2])))
    if upper == "L":
        if allowed.sunday == 1:  # Quartz: L alone is the last day of the week, Saturday
            return Item("value", 6)
        raise InvalidSpec("L without a weekday", position=0, expected="5L or FRIL for the last Friday of the month")
    if match := _LAST_WEEKDAY.fullmatch(upper):
        return Item("rule", rule=DayRule("last_weekday", _number(kind, match[1], 0, allowed) % 7))
    if re.fullmatch(r"L\d", upper, re.ASCII):
        raise InvalidSpec(f"{upper!r}", position=0, expected="a weekday before the L", hint=f"write {upper[1]}L")
    return None


def _number(kind: FieldKind, text: str, position: int, allowed: DialectRules) -> int:
    if text.isdigit():
        number = int(text)
        if kind is DAY_OF_WEEK:
            return _weekday_number(number, text, position, allowed)
        if not kind.low <= number <= kind.high:
            raise _range_error(text, position, kind.low, kind.high)
        return number
    return _number_of_name(kind, text, position, allowed)


def _weekday_number(number: int, text: str, position: int, allowed: DialectRules) -> int:
    low, high = allowed.sunday, allowed.sunday + 6 + allowed.both_sundays
    if not low <= number <= high:
        raise _range_error(text, position, low, high)
    return number - allowed.sunday


def _number_of_name(kind: FieldKind, text: str, position: int, allowed: DialectRules) -> int:
    """Return the number of a month or weekday name."""
    folded = text.lower()
    min_letters = allowed.min_name_letters.get(kind.name, 0)
    for index, name in enumerate(kind.names):
        if folded in (name, name[:3]) or (min_letters and len(folded) >= min_letters and name.startswith(folded)):
            return index + kind.low
    if not kind.names:
        raise _number_error(kind, text, position, allowed)
    low, high = kind.low, kind.high
    if kind is DAY_OF_WEEK:
        low, high = allowed.sunday, allowed.sunday + 6 + allowed.both_sundays
    similar = [name[:3].upper() for name in kind.names if name[0] == folded[0] and name[1:2] == folded[1:2]]
    raise InvalidSpec(
        f"{text!r} is not the name of a {kind.name.removeprefix('day_of_')}{'day' if kind is DAY_OF_WEEK else ''}",
        position=position,
        expected=f"{kind.names[0][:3].upper()} to {kind.names[-1][:3].upper()}, or {low} to {high}",
        hint=f"did you mean {similar[0]}?" if similar else None,
    )


def _step(kind: FieldKind, text: str | None, item: str, allowed: DialectRules) -> int:
    if text is None:
        return 1
    position = item.rindex("/") + 1
    if not text.isdigit() or not text.isascii():
        raise InvalidSpec(f"step {text!r}", position=position, expected="a whole number of 1 or more")
    step = int(text)
    if step < 1:
        raise InvalidSpec("step 0", position=position, expected="a whole number of 1 or more")
    if step > kind.high and not allowed.long_steps:
        raise InvalidSpec(f"step {step}", position=position, expected=f"at most {kind.high}")
    return step


def _item_mask(item: Item, kind: FieldKind) -> int:
    form, first, last, step, _rule = item
    if form == "value":
        return 1 << first - kind.low
    if form == "range" and (first > last or last > kind.high):
        return _wrapped_mask(item, kind)
    return _stepped_mask(first - kind.low, last - kind.low, step)


def _stepped_mask(first: int, last: int, step: int) -> int:
    if step == 1:
        return (2 << last) - (1 << first)
    mask = 0
    for value in range(first, last + 1, step):
        mask |= 1 << value
    return mask


def _wrapped_mask(item: Item, kind: FieldKind) -> int:
    """Return the mask of a range that wraps at the end of the field (weekday 7 is such an end)."""
    size = kind.high - kind.low + 1
    last = item.last + size if item.first > item.last else item.last
    mask = 0
    for value in range(item.first - kind.low, last - kind.low + 1, item.step):
        mask |= 1 << value % size
    return mask


def _hashed_mask(item: Item, kind: FieldKind, schedule_id: str) -> int:
    width = item.step or item.last - item.first + 1
    start = item.first + hash_number(schedule_id, kind.name, width)
    return _wrapped_mask(Item("range", start, item.last if item.step else start, item.step or 1), kind)


def _weekday_range(values: Range, path: str, allowed: DialectRules) -> Range:
    """Convert weekday numbers as the dialect does in text, so that 1 and "1" are the same day."""
    low, high = allowed.sunday, allowed.sunday + 6 + allowed.both_sundays
    for bound in (values.start, values.end):
        if not low <= bound <= high:
            raise InvalidSpec(f"{bound} is out of range", field=path, expected=f"{low} to {high}")
    start, end = values.start - low, values.end - low
    if start == 7 and end == 7:
        start = end = 0
    return Range(start, end, values.step)


def _check_bounds(kind: FieldKind, value: int, path: str) -> None:
    if not kind.low <= value <= kind.high:
        raise InvalidSpec(f"{value} is out of range", field=path, expected=f"{kind.low} to {kind.high}")


def _item_text(item: Item) -> str:
    text = "*" if item.form == "*" else str(item.first)
    if item.form == "range" and item.last != item.first:
        text += f"-{item.last}"
    return text if item.step == 1 else f"{text}/{item.step}"


def _backwards_error(kind: FieldKind, first: str, last: str, position: int | None = 0) -> InvalidSpec:
    hint = None if kind is YEAR else "this dialect has no wrap-around ranges: write two ranges, separated by a comma"
    return InvalidSpec(
        f"range {first}-{last} runs backwards", position=position, expected="the lower value first", hint=hint
    )


def _range_error(text: str, position: int, low: int, high: int) -> InvalidSpec:
    return InvalidSpec(f"{text[:20]} is out of range", position=position, expected=f"{low} to {high}")


def _syntax_error(kind: FieldKind, text: str, allowed: DialectRules) -> InvalidSpec:
    if not text:
        return InvalidSpec("an empty element", position=0, expected="a value between the commas")
    forms = "*, a value, a range a-b, a step */n or a list"
    return InvalidSpec(f"cannot read {text[:30]!r}", position=0, expected=forms, hint=_suggestion(kind, text, allowed))


def _number_error(kind: FieldKind, text: str, position: int, allowed: DialectRules) -> InvalidSpec:
    return InvalidSpec(
        f"{text[:30]!r} is not a number",
        position=position,
        expected=f"{kind.low} to {kind.high}",
        hint=_suggestion(kind, text, allowed),
    )


def _suggestion(kind: FieldKind, text: str, allowed: DialectRules) -> str | None:
    """Return a suggestion for a text that cannot be parsed."""
    if not allowed.days and re.search(r"[LW#?]", text):
        return "this dialect has no L, W, # or ?: use dialect='tompion'"
    if "W" in text.upper() and kind is DAY_OF_WEEK:
        return "W belongs to the day of the month"
    if "~" in text or text.upper().startswith("R"):
        return "random fields are not stable across restarts: use H, which hashes the schedule's id"
    return None


_WHOLE = {
    kind: _field(kind, "*", (Item("*", kind.low, kind.high),))
    for kind in (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR)
}
