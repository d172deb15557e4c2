"""The words that Tompion does not use, and the scanner that finds them.

Run ``python -m tests.support.vocabulary src`` to list every line that breaks a rule.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

BANNED_WORDS = frozenset(
    """
    aimed anew anybody appetite asked asks attention coming desk desks dial dials door doors everybody gate gates
    glance glances goodbye herd herds house keeping kin membership memberships mend mended mending mends mistake
    mistakes nobody notice notices said says sharer sharers somebody stories story stretch stretches tell telling
    tells told trap traps whoever whom whomever woken world worlds
    """.split()
)
"""Words of the first round's private dialect. `docs/explanation/glossary.md` has the words that replace them."""

BANNED_PHRASES = re.compile(
    r"\b(for ever|just now|goes? on|going on|lets? be|let alone|(?:is|are|was) none|so many|who asks|"
    r"say goodbye|tries again)\b"
)

BANNED_LOCALS = frozenset("asked each found given known made said shown told".split())
"""Names of variables that say nothing about the value. Use the noun: `run`, `rows`, `fields`, `message`."""

DOCSTRING_STARTS = re.compile(r"^(What|Whatever|Who|Whose|Of|How)\b")

SOURCE_SUFFIXES = frozenset({".css", ".html", ".mjs", ".proto", ".py", ".sql", ".svg", ".tla", ".toml", ".ts", ".tsx"})

_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_WORD = re.compile(r"[A-Za-z]+")
_TLA_COMMENT = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)


_FOREIGN_NAMES = re.compile(r"\badd_notice_handler\b")
"""Names of other libraries that contain a banned word."""

_LIST_FILES = (Path(__file__).resolve(), Path(__file__).resolve().parents[1] / "test_vocabulary.py")
"""The files that contain the banned words as data: the lists and their tests."""


def banned_in_text(text: str) -> list[str]:
    """Return the banned words and phrases in one piece of text, identifiers split into their words."""
    words = _CASE_BOUNDARY.sub(" ", _FOREIGN_NAMES.sub("", text))
    hits = [word for word in _WORD.findall(words) if word.lower() in BANNED_WORDS]
    return hits + [match.group(0) for match in BANNED_PHRASES.finditer(words)]


def problems_in_tree(root: Path) -> Iterator[str]:
    """Yield ``path:line: problem`` for every rule that a file under the root breaks."""
    for path in [root] if root.is_file() else files_in_tree(root):
        is_built = {"node_modules", "static"} & set(path.parts)
        if path.suffix in SOURCE_SUFFIXES and not is_built and path.resolve() not in _LIST_FILES:
            yield from problems_in_file(path)


def files_in_tree(root: Path) -> list[Path]:
    """Return the files under a folder that Git tracks or would track."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(path for name in set(names.split("\0")) if name and (path := root / name).is_file())


def problems_in_file(path: Path) -> Iterator[str]:
    """Yield ``path:line: problem`` for every rule that one file breaks."""
    text = path.read_text(encoding="utf-8")
    for hit in banned_in_text(_CASE_BOUNDARY.sub(" ", path.stem)):
        yield f"{path}:1: the file's name has the banned word {hit!r}"
    for number, line in enumerate(text.splitlines(), 1):
        for hit in banned_in_text(line):
            yield f"{path}:{number}: banned word {hit!r}"
    if path.suffix == ".tla":
        yield from _problems_in_tla_comments(path, text)
    if path.suffix == ".py":
        tree = ast.parse(text)
        yield from _problems_in_docstrings(path, tree)
        yield from _problems_in_names(path, tree)
        yield from _problems_in_comments(path)


def _problems_in_docstrings(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node)
        if docstring is None:
            continue
        line = node.body[0].lineno
        if getattr(node, "name", "") == "__init__":
            yield f"{path}:{line}: __init__ has a docstring; the class docstring describes the parameters"
        if DOCSTRING_STARTS.match(docstring):
            yield f"{path}:{line}: the docstring begins with {docstring.split()[0]!r}; name the thing or the action"
        if ";" in re.sub(r"``[^`]*``|`[^`]*`", "", docstring):
            yield f"{path}:{line}: semicolon in a docstring"


def _problems_in_names(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name, line = node.id, node.lineno
        elif isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        else:
            continue
        if name.strip("_") in BANNED_LOCALS:
            yield f"{path}:{line}: the name {name!r} does not say what the value is"


def _problems_in_comments(path: Path) -> Iterator[str]:
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT and ";" in token.string and "noqa" not in token.string:
                yield f"{path}:{token.start[0]}: semicolon in a comment"


def _problems_in_tla_comments(path: Path, text: str) -> Iterator[str]:
    for match in _TLA_COMMENT.finditer(text):
        if ";" in match.group(0):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: semicolon in a comment"


if __name__ == "__main__":
    problems = [problem for argument in sys.argv[1:] for problem in problems_in_tree(Path(argument))]
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(bool(problems))
