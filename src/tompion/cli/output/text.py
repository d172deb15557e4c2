"""Shortening and wrapping of text by terminal columns."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def shorten(name: str, width: int) -> str:
    """Return a name that fits the width. The middle of a long one is replaced by an ellipsis."""
    if cell_len(name) <= width:
        return name
    tail = (width - 1) // 2
    head = set_cell_size(name, width - 1 - tail).rstrip()
    return head + "…" + set_cell_size(name[::-1], tail).rstrip()[::-1]


def wrap(line: str, width: int, indent: int) -> list[str]:
    """Return a line in parts that fit the width. All but the first are indented."""
    parts: list[str] = []
    space = ""
    while cell_len(line) > width - len(space):
        max_chars = _chars_that_fit(line, width - len(space))
        at = line.rfind(" ", indent if not parts else 1, max_chars + 1)
        at = max_chars if at <= 0 else at
        parts.append(space + line[:at].rstrip())
        line, space = line[at:].lstrip(), " " * indent
    return [*parts, space + line]


def _chars_that_fit(line: str, width: int) -> int:
    """Return how many characters of a line fit the width, at least one."""
    used = 0
    for number, letter in enumerate(line):
        used += cell_len(letter)
        if used > width:
            return max(number, 1)
    return len(line)
