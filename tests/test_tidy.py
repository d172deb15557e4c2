"""Code rules as tests: allowed imports, sizes, docstrings and forbidden calls.

Each rule is a function from one file (its path in the repository and its text) to a list of complaints. The first
half of this module runs every rule over the repository. The second half feeds each rule a bad snippet, because a rule
that cannot fail protects nothing.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 500
MAX_LINES_WITHOUT_DOCSTRING = 12
"""A longer private function needs a docstring too."""
OUR_FOLDERS = ("src", "tests", "bench", "models", "docs", "examples", "requirements", ".ci")

# --- the tables -------------------------------------------------------------------------------------------------

EVERYTHING = frozenset({"*"})

# package or top-level module of tompion → the parts of tompion that it may import, besides itself
TOMPION_IMPORTS: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "runtime": frozenset(),
    "encoding": frozenset(),
    "model": frozenset(),
    "config": frozenset({"model", "errors", "runtime.url_masking"}),
    "spec": frozenset({"encoding", "model", "errors"}),
    "plan": frozenset({"model", "spec", "errors"}),
    "store": frozenset({"model", "plan.counters", "errors", "runtime"}),
    "outbound": frozenset({"encoding", "model", "errors", "runtime"}),
    "executors": frozenset({"outbound", "encoding", "model", "errors", "runtime"}),
    "engine": frozenset(
        {
            "encoding",
            "model",
            "spec",
            "plan",
            "store.base",
            "executors.base",
            "executors.current_run",
            "runtime",
            "config.settings",
            "errors",
        }
    ),
    "operations": frozenset(
        {"encoding", "model", "spec", "plan", "store.base", "runtime", "config.settings", "errors"}
    ),
    "contract": frozenset({"operations", "encoding", "model", "spec.document", "errors"}),
    "api": frozenset({"contract", "operations", "encoding", "model", "runtime", "errors"}),
    "web": frozenset({"contract", "operations", "model", "runtime", "errors"}),
    "client": frozenset({"contract", "encoding", "model", "runtime", "errors"}),
    "sdk": EVERYTHING,
    "bootstrap": EVERYTHING,
    # `tompion next`, `explain` and `lint` need no server: they use the Python API itself.
    "cli": frozenset(
        {
            "client",
            "sdk",
            "bootstrap",
            "config",
            "contract",
            "runtime",
            "encoding",
            "model",
            "errors",
            "spec.duration",
            "engine.telemetry.events",
            "executors.current_run",
        }
    ),
    "testing": EVERYTHING,
    "__init__": frozenset(
        {
            "sdk",
            "client",
            "contract",
            "operations",
            "config.settings",
            "engine.telemetry.events",
            "executors.base",
            "executors.current_run",
            "spec",
            "model",
            "errors",
            "runtime.clock",
        }
    ),
    "__main__": frozenset({"cli"}),
}

# the same for third-party packages. A package without a row has the standard library only
THIRD_PARTY_IMPORTS: dict[str, frozenset[str]] = {
    "spec": frozenset({"tzdata", "holidays"}),
    "store": frozenset({"psycopg"}),
    "outbound": frozenset({"aiohttp"}),
    "executors": frozenset({"aiohttp", "celery", "kombu", "temporalio", "google", "nats", "redis", "aio_pika"}),
    "engine": frozenset({"opentelemetry"}),
    "api": frozenset(
        {
            "starlette",
            "grpc",
            "temporalio",
            "google",
            "jwt",
            "cryptography",
            "prometheus_client",
            "h11",
            "aiohttp",
            "uvicorn",
        }
    ),
    "client": frozenset({"aiohttp", "yarl"}),
    "web": frozenset({"starlette"}),
    "cli": frozenset({"typer", "click", "rich", "uvicorn", "yaml"}),
    "sdk": frozenset({"opentelemetry"}),
    "bootstrap": EVERYTHING,
    "testing": EVERYTHING,
}

# Zone data comes from the pinned package through spec/zone. zoneinfo may read the machine's copy.
NEVER_IMPORTED = frozenset({"zoneinfo"})

SLEEPING = frozenset({"time.sleep"})
READING_THE_CLOCK = SLEEPING | {
    "asyncio.sleep",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "time.ctime",
    "time.gmtime",
    "time.localtime",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.time",
    "time.time_ns",
}

# Put together here, so that this file does not complain about itself.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:tmp|root|work|home)" + "/")
REGISTRY_HOST = re.compile("|".join(name + r"\." + end for name, end in [
    ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("yarnpkg", "com"),
]))  # fmt: skip

SUPPRESSION = re.compile(r"#\s*(?:(?:ruff:\s*|flake8:\s*)?noqa\b|type:\s*ignore\b|ruff:\s*(?:ignore|disable)\b)")
SUPPRESSION_CODES = re.compile(r"\s*(?::\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*|\[[\w\-, ]+\])")
REASON = re.compile(r"[A-Za-z]\w+\W+\w+")

LOCK_LINE = re.compile(r"[a-z0-9][a-z0-9._-]*==[^\s;/]+( ; [^/\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")


# --- the files --------------------------------------------------------------------------------------------------


@cache
def repository_files() -> tuple[str, ...]:
    """Return every tracked file and the new files in our folders, without stray files beside them."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    tracked = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    new = [*git, "--others", "--exclude-standard", "--", *OUR_FOLDERS]
    untracked = subprocess.run(new, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = {*tracked.split("\0"), *untracked.split("\0")}
    return tuple(sorted(name for name in names if name and (ROOT / name).is_file()))


def read(path: str) -> str | None:
    """The text of a file, or None where it is not text."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def is_python(path: str) -> bool:
    return path.endswith(".py")


def is_source(path: str) -> bool:
    return is_python(path) and path.startswith("src/")


def is_test(path: str) -> bool:
    return is_python(path) and path.startswith("tests/")


def is_code(path: str) -> bool:
    return path.startswith(("src/", "tests/", "bench/", "models/")) and path.endswith(
        (".py", ".sql", ".js", ".mjs", ".ts", ".tla")
    )


def part_of(path: str) -> str:
    """The package or top-level module of tompion that a file under src/tompion belongs to."""
    return Path(path).relative_to("src/tompion").parts[0].removesuffix(".py")


# --- imports ----------------------------------------------------------------------------------------------------


def imported_names(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each imported name in full with its line, wherever the import stands: `from a import b` yields `a.b`."""
    package = Path(path).relative_to("src").parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = [*above, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*base, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"import_module", "__import__"}:
                yield node.lineno, str(node.args[0].value)


def is_covered(name: str, allowed: frozenset[str]) -> bool:
    return allowed is EVERYTHING or any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)


def may_import(part: str, name: str) -> bool:
    """Whether a part of tompion may import the name, by the two tables above."""
    top, _, rest = name.partition(".")
    if top in NEVER_IMPORTED:
        return False
    if top != "tompion":
        return top in sys.stdlib_module_names or is_covered(top, THIRD_PARTY_IMPORTS.get(part, frozenset()))
    # A name that is no part of tompion is one that tompion/__init__.py offers.
    inside = rest if rest.split(".")[0] in TOMPION_IMPORTS else "__init__"
    if is_covered(inside, frozenset({"testing"})):
        return part == "testing"
    return is_covered(inside, frozenset({part})) or is_covered(inside, TOMPION_IMPORTS[part])


def wrong_imports(path: str, text: str) -> list[str]:
    """Imports that the two tables do not allow."""
    part = part_of(path)
    if part not in TOMPION_IMPORTS:
        return [f"{path}: '{part}' has no row in the import table"]
    names = imported_names(path, ast.parse(text))
    return [f"{path}:{line}: {part} may not import {name}" for line, name in names if not may_import(part, name)]


# --- calls ------------------------------------------------------------------------------------------------------


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each use of an imported name, as the full dotted name behind its local alias."""
    origin: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                origin[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                origin[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.lineno, f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            trail, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                trail, inner = [inner.attr, *trail], inner.value
            if isinstance(inner, ast.Name) and inner.id in origin:
                yield node.lineno, ".".join([origin[inner.id], *trail])


def clock_reads(path: str, text: str) -> list[str]:
    """Uses of the machine's clock, or of sleeping, where time must be an argument."""
    if path == "src/tompion/runtime/clock.py":
        return []
    banned = READING_THE_CLOCK if is_source(path) else SLEEPING
    return [f"{path}:{line}: {name}; take a Clock or `now`" for line, name in uses(ast.parse(text)) if name in banned]


# --- sizes, comments and docstrings -----------------------------------------------------------------------------


def long_functions(path: str, text: str) -> list[str]:
    complaints = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                complaints.append(f"{path}:{node.lineno}: {node.name}: {lines} lines, more than {MAX_FUNCTION_LINES}")
    return complaints


def long_files(path: str, text: str) -> list[str]:
    lines = len(text.splitlines())
    return [f"{path}: {lines} lines, more than {MAX_FILE_LINES}"] if lines > MAX_FILE_LINES else []


def bare_suppressions(path: str, text: str) -> list[str]:
    """Silenced lint and type errors that do not say which one, and why."""
    complaints = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        suppression = SUPPRESSION.search(token.string) if token.type == tokenize.COMMENT else None
        if suppression is None:
            continue
        codes = SUPPRESSION_CODES.match(token.string, suppression.end())
        rest = SUPPRESSION.sub("", token.string[codes.end() :]) if codes else ""
        if codes is None or not REASON.search(SUPPRESSION_CODES.sub("", rest)):
            complaints.append(f"{path}:{token.start[0]}: '{token.string}' needs a code and a reason")
    return complaints


def missing_docstrings(path: str, text: str) -> list[str]:
    """Modules, public classes and public functions that explain nothing."""
    tree = ast.parse(text)
    complaints = [] if ast.get_docstring(tree) else [f"{path}: the module has no docstring"]
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("_") and not ast.get_docstring(node):
            complaints.append(f"{path}:{node.lineno}: {node.name} has no docstring")
    return complaints


def undocumented_private_functions(path: str, text: str) -> list[str]:
    """Long private functions and methods without a docstring. Special methods are exempt."""
    return [
        f"{path}:{node.lineno}: {node.name} has {lines} lines and no docstring"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.endswith("__")
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_LINES_WITHOUT_DOCSTRING
        and not ast.get_docstring(node)
    ]


def machine_traces(path: str, text: str) -> list[str]:
    """Paths and hosts of the machine that the file was written on."""
    return [
        f"{path}:{number}: '{item.group()}' belongs to one machine or registry"
        for number, line in enumerate(text.splitlines(), start=1)
        for item in [MACHINE_PATH.search(line) or REGISTRY_HOST.search(line)]
        if item
    ]


def loose_pins(path: str, text: str) -> list[str]:
    """Lines of a lock file that are neither a pinned version nor a hash."""
    lines = enumerate(text.splitlines(), start=1)
    return [f"{path}:{number}: not a pin: {line}" for number, line in lines if not LOCK_LINE.fullmatch(line)]


# --- the rules, over the repository -----------------------------------------------------------------------------

Rule = Callable[[str, str], list[str]]

RULES: list[tuple[Rule, Callable[[str], bool]]] = [
    (wrong_imports, lambda path: is_python(path) and path.startswith("src/tompion/")),
    (clock_reads, lambda path: is_source(path) or is_test(path)),
    (long_functions, lambda path: is_code(path) and is_python(path)),
    (long_files, is_code),
    (bare_suppressions, is_python),
    (missing_docstrings, is_source),
    (undocumented_private_functions, is_source),
    (machine_traces, lambda _: True),
    (loose_pins, lambda path: path.endswith(".lock")),
]


@pytest.mark.parametrize(("rule", "applies"), RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_repository_follows_the_rule(rule: Rule, applies: Callable[[str], bool]) -> None:
    chosen = [path for path in repository_files() if applies(path)]
    assert chosen, "the rule looks at no file at all"
    complaints = [complaint for path in chosen if (text := read(path)) is not None for complaint in rule(path, text)]
    assert not complaints, "\n".join(["", *complaints])


# --- the rules, proved to bite ----------------------------------------------------------------------------------

SPEC = "src/tompion/spec/document.py"
STORE = "src/tompion/store/sqlite/driver.py"

BAD: list[tuple[Rule, str, str]] = [
    (wrong_imports, SPEC, "import tompion.runtime.clock"),
    (wrong_imports, SPEC, "from tompion import clock"),
    (wrong_imports, SPEC, "from tompion import Spec"),
    (wrong_imports, SPEC, "from tompion.plan.edit import edit"),
    (wrong_imports, SPEC, "from .. import runtime"),
    (wrong_imports, SPEC, "from ..runtime.clock import Clock"),
    (wrong_imports, "src/tompion/spec/__init__.py", "from ..runtime.clock import Clock"),
    (wrong_imports, SPEC, "def late():\n    from tompion import store"),
    (wrong_imports, SPEC, "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tompion.engine.loop"),
    (wrong_imports, SPEC, "import importlib\nimportlib.import_module('tompion.runtime.clock')"),
    (wrong_imports, SPEC, "import croniter"),
    (wrong_imports, SPEC, "from zoneinfo import ZoneInfo"),
    (wrong_imports, "src/tompion/bootstrap/service.py", "import zoneinfo"),
    (wrong_imports, "src/tompion/model/run.py", "from tompion.errors import TompionError"),
    (wrong_imports, "src/tompion/model/run.py", "import pydantic"),
    (wrong_imports, "src/tompion/errors.py", "import rich"),
    (wrong_imports, "src/tompion/runtime/clock.py", "from ..config.settings import TICK"),
    (wrong_imports, "src/tompion/engine/loop.py", "from tompion.store import sqlite"),
    (wrong_imports, "src/tompion/engine/loop.py", "import tompion.operations.runs.read"),
    (wrong_imports, "src/tompion/operations/runs/read.py", "from tompion.executors import base"),
    (wrong_imports, "src/tompion/bootstrap/service.py", "from tompion.testing import ManualClock"),
    (wrong_imports, "src/tompion/__init__.py", "from .cli import main"),
    (wrong_imports, "src/tompion/__init__.py", "from .executors.function import FunctionExecutor"),
    (wrong_imports, "src/tompion/cli/commands/worker.py", "from tompion.engine.engine import Engine"),
    (wrong_imports, "src/tompion/cli/commands/verify.py", "from tompion.operations import verify"),
    (wrong_imports, "src/tompion/cli/commands/serve.py", "import starlette"),
    (wrong_imports, "src/tompion/sdk/app.py", "from tompion.testing import ManualClock"),
    (wrong_imports, "src/tompion/novelty.py", ""),
    (clock_reads, SPEC, "import time\ntime.time()"),
    (clock_reads, SPEC, "import time as t\nnow = t.monotonic_ns"),
    (clock_reads, SPEC, "from time import perf_counter as tick"),
    (clock_reads, SPEC, "from datetime import datetime as dt\ndt.now()"),
    (clock_reads, SPEC, "import datetime\ndatetime.datetime.utcnow()"),
    (clock_reads, SPEC, "import datetime\ndatetime.date.today()"),
    (clock_reads, STORE, "import asyncio\nasync def wait():\n    await asyncio.sleep(1)"),
    (clock_reads, "tests/test_something.py", "import time\ntime.sleep(1)"),
    (long_functions, SPEC, "def long():\n" + "    pass\n" * 60),
    (long_functions, SPEC, "class A:\n    async def long(self):\n" + "        pass\n" * 60),
    (long_files, SPEC, "pass\n" * 501),
    (bare_suppressions, SPEC, "x = 1  # noqa"),
    (bare_suppressions, SPEC, "x = 1  # noqa: E501"),
    (bare_suppressions, SPEC, "x = 1  # noqa: too long to read"),
    (bare_suppressions, SPEC, "# ruff: noqa"),
    (bare_suppressions, SPEC, "x = 1  # type: ignore"),
    (bare_suppressions, SPEC, "x = 1  # type: ignore[misc]"),
    (bare_suppressions, SPEC, "x = 1  # type: ignore[misc]  # noqa: E501"),
    (missing_docstrings, SPEC, "x = 1"),
    (missing_docstrings, SPEC, '"""Module."""\ndef public(): ...'),
    (missing_docstrings, SPEC, '"""Module."""\nclass Public: ...'),
    (undocumented_private_functions, SPEC, "def _private():\n" + "    x = 1\n" * 12),
    (undocumented_private_functions, SPEC, "class Public:\n    async def _method(self):\n" + "        x = 1\n" * 12),
    (machine_traces, "README.md", "cd /" + "tmp/x"),
    (machine_traces, "docs/a.md", "see '/" + "home/me'"),
    (machine_traces, "requirements/dev.lock", "https://" + "pypi" + ".org/simple"),
    (machine_traces, "tests/node/package-lock.json", "registry." + "npmjs" + ".org"),
    (loose_pins, "requirements/dev.lock", "typer>=0.20"),
    (loose_pins, "requirements/dev.lock", "typer==0.20"),
    (loose_pins, "requirements/dev.lock", "--index-url https://example.org/simple"),
    (loose_pins, "requirements/dev.lock", "typer @ https://example.org/typer.whl \\"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (wrong_imports, SPEC, "from tompion.model import spec\nfrom . import zone\nfrom ..errors import X\nimport re"),
    (wrong_imports, SPEC, "import tzdata\nimport holidays\nfrom importlib.resources import files"),
    (wrong_imports, STORE, "from ..base import Store\nimport tompion.store.rows\nimport psycopg"),
    (wrong_imports, "src/tompion/engine/loop.py", "from tompion.store import base\nimport tompion.executors.base"),
    (wrong_imports, "src/tompion/bootstrap/service.py", "import tompion.store.sqlite\nimport uvicorn"),
    (wrong_imports, "src/tompion/__init__.py", "from .sdk.app import Tompion\nfrom .executors.base import Launch"),
    (
        wrong_imports,
        "src/tompion/cli/commands/worker.py",
        "from tompion.engine.telemetry.events import Event\nimport tompion.sdk.app",
    ),
    (wrong_imports, "src/tompion/testing/server.py", "from tompion import Spec\nimport tompion.engine\nimport pytest"),
    (clock_reads, "src/tompion/runtime/clock.py", "import time\ntime.time()"),
    (clock_reads, SPEC, "import datetime\ndatetime.datetime.fromtimestamp(0)\nclock.now()\nself.time.time()"),
    (clock_reads, "tests/test_something.py", "import time\ntime.perf_counter()"),
    (long_functions, SPEC, "def long():\n" + "    pass\n" * 59),
    (long_files, SPEC, "pass\n" * 500),
    (bare_suppressions, SPEC, "x = 1  # noqa: S311, E501 - seeded, must be reproducible"),
    (bare_suppressions, SPEC, "x = 1  # type: ignore[misc]  # the stub knows no such case"),
    (bare_suppressions, SPEC, "x = '# noqa'"),
    (missing_docstrings, SPEC, '"""Module."""\ndef _private(): ...'),
    (undocumented_private_functions, SPEC, "def _private():\n" + "    x = 1\n" * 11),
    (undocumented_private_functions, SPEC, 'def _private():\n    """Return nothing."""\n' + "    x = 1\n" * 12),
    (undocumented_private_functions, SPEC, "class Public:\n    def __init__(self):\n" + "        x = 1\n" * 12),
    (machine_traces, "README.md", "docs/work/plan.md, POST /work, ./tmp/x"),
    (loose_pins, "requirements/dev.lock", "rich==15 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "0" * 64),
]


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_rule_detects_the_violation(rule: Rule, path: str, text: str) -> None:
    assert len(rule(path, text)) == 1


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_rule_accepts_valid_code(rule: Rule, path: str, text: str) -> None:
    assert rule(path, text) == []
