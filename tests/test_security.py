"""The security page names existing tests, and static checks of sources and locks."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
LINES = [line for line in (ROOT / "docs/reference/security.md").read_text().splitlines() if line.startswith("| S")]
MAKES_OBJECTS = {
    "pickle",
    "_pickle",
    "marshal",
    "shelve",
    "dill",
    "jsonpickle",
    "cloudpickle",
    "xmlrpc",
    "jinja2",
}
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
SENDS = {"execute", "executemany", "executescript"}
OUR_OWN = {
    # statements of .sql files, and what is cut from them or put together of them
    "self._queries[name]", "statement", "statement.text", "multi_row_insert", "all_in_flight_query()",
    # how a transaction begins, as one of the driver's constants
    "begin",
    # migrations, which are files of ours too
    "LOCK_TIMEOUT.encode()", "script.encode()", "self.stamp(number).encode()",
    # calls of what an operator has named: names are quoted, and tests/conformance/store/test_user_sql.py sees to that
    "text",
}  # fmt: skip
"""What the store sends besides texts that stand there and constants: none has a value in it."""
SAFE_YAML = {"SafeLoader", "SafeDumper", "YAMLError", "dump"}
TEXTS = {"string.Template", "ast.literal_eval", "builtins.eval", "builtins.exec", "os.system", "os.popen"}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_every_threat_has_its_line() -> None:
    assert [cells(line)[0].strip("| ") for line in LINES] == [f"S{number}" for number in range(1, 26)]
    assert all(len(cells(line)) == 4 and all(cells(line)) for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: cells(line)[0].strip("| "))
def test_every_line_names_tests_that_exist(line: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", cells(line)[3])
    assert named
    assert len(named) == cells(line)[3].count("`") // 2
    for path, name in named:
        names = {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}
        assert name in names if name else any(item.startswith("test_") for item in names), (path, name)


def test_source_has_no_unsafe_deserialization() -> None:
    """The same is looked for by ``make scan``. This is here because it takes no time."""
    paths = sorted((ROOT / "src").rglob("*.py"))
    assert len(paths) > 100
    assert {str(path): names for path in paths if (names := dangerous(path.read_text()))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from marshal import loads", "import xmlrpc.client",
        "import yaml\nyaml.load(text)", "import yaml\nyaml.load(text, yaml.Loader)", "yaml.unsafe_load(text)",
        "from yaml import load",
        "eval('1')", "exec(text)", "compile(text, 'x', 'exec')", "__import__(name)", "builtins.eval(text)",
        "os.system(text)", "def f():\n    import dill", "json.loads(text, object_hook=eval)",
    ],
)  # fmt: skip
def test_unsafe_deserialization_is_detected(text: str) -> None:
    assert dangerous(text)


def test_no_sql_statement_contains_values() -> None:
    texts = {path: path.read_text() for path in (ROOT / "src").rglob("*.py")}
    sending = {path: text for path, text in texts.items() if ".execute" in text}
    assert {path.name for path in sending} >= {"connection.py", "driver.py", "listener.py", "user_sql.py"}
    assert {str(path): statements for path, text in sending.items() if (statements := built_statements(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "execute = c.execute\nexecute(f'SELECT {name}')",
        "c.execute(f'SELECT {name}')", "c.execute('SELECT ' + name)", "c.execute('SELECT %s' % name)",
        "c.execute('SELECT {}'.format(name))", "c.execute(f'SELECT {name}'.encode())", "c.executemany(made, rows)",
        "c.executescript(name)", "def f():\n    statement = f'SELECT {name}'\n    c.execute(statement)",
        "def f():\n    text = 'SELECT ' + name\n    c.execute(text, [])", "c.execute(query=name)",
    ],
)  # fmt: skip
def test_sql_statement_with_values_is_detected(text: str) -> None:
    assert built_statements(text)


@pytest.mark.parametrize("text", ["c.execute('SELECT %s', [name])", "c.execute(NOW)", "c.execute(b'COMMIT')"])
def test_sql_statement_with_parameters_is_accepted(text: str) -> None:
    assert not built_statements(text)


def built_statements(text: str) -> set[str]:
    """Return SQL in a source that is not a plain text, a constant or one of our own texts."""
    statements: set[str] = set()
    tree = ast.parse(text)
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            built = {ast.unparse(name) for node in ast.walk(scope) for name in _made(node)}
            sent = [item for node in ast.walk(scope) for item in _sent(node)]
            statements |= {ast.unparse(item) for item in sent if ast.unparse(item) in built and scope is not tree}
            statements |= {
                ast.unparse(item) for item in sent if not _is_plain(item) and ast.unparse(item) not in OUR_OWN
            }
    return statements


def _sent(node: ast.AST) -> list[ast.expr]:
    if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in SENDS:
        return []
    return [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg in {"query", "sql"})]


def _is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _made(node: ast.AST) -> list[ast.expr]:
    """Where a text goes that is put together of others."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
        return []
    together = any(isinstance(item, ast.JoinedStr | ast.BinOp) for item in ast.walk(node.value))
    return (node.targets if isinstance(node, ast.Assign) else [node.target]) if together else []


def dangerous(text: str) -> set[str]:
    """Return unsafe deserialization and code execution in a source."""
    names: set[str] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        names |= _imported(node) & MAKES_OBJECTS
        if isinstance(node, ast.Name):
            names |= {node.id} & RUNS_TEXT
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names |= {f"{node.value.id}.{node.attr}"} & TEXTS
    return names | _unsafe_yaml(tree)


def _unsafe_yaml(tree: ast.Module) -> set[str]:
    """Return uses of PyYAML other than its safe classes."""
    nodes = list(ast.walk(tree))
    uses = {
        f"yaml.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "yaml" and node.attr not in SAFE_YAML
    }
    return uses | {"yaml" for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "yaml"}


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {name.name.partition(".")[0] for name in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_is_pinned_with_its_hash(lock: Path) -> None:
    wanted = lock.read_text().replace("\\\n", " ").splitlines()
    assert len(wanted) > 0
    for line in wanted:
        assert re.match(r"[a-z0-9][a-z0-9._-]*(\[[\w,-]+\])?==\S+ ", line), line
        assert re.search(r" --hash=sha256:[0-9a-f]{64}", line), line
        assert "://" not in line


@pytest.mark.slow
def test_sbom_is_complete_and_reproducible(tmp_path: Path) -> None:
    """``make sbom`` writes the same bytes twice, and each package of the lock with its hashes."""
    program = ROOT / ".venv-scan" / "bin" / "cyclonedx-py"
    if not program.exists():
        pytest.skip("the scanners are not installed: make scan")
    recipe = re.search(r"^sbom:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    written = []
    for number in range(2):
        line = recipe[1].replace("\\\n", " ").splitlines()[1].replace("build/sbom.json", str(tmp_path / f"{number}"))
        command = shlex.split(line.strip("\t@").replace("$(SCAN)/cyclonedx-py", str(program)))
        subprocess.run([*command, "--validate"], cwd=ROOT, check=True, capture_output=True)
        written.append((tmp_path / f"{number}").read_bytes())
    assert written[0] == written[1]
    components = json.loads(written[0])["components"]
    listed = {f"{component['name'].lower()}=={component['version']}": json.dumps(component) for component in components}
    for line in (ROOT / "requirements/dev.lock").read_text().replace("\\\n", " ").splitlines():
        text = listed[re.sub(r"\[.*?\]", "", line.split()[0])]
        assert set(re.findall(r"sha256:([0-9a-f]{64})", line)) <= set(re.findall(r"[0-9a-f]{64}", text)), line


def test_every_installed_set_has_a_lock() -> None:
    assert {lock.name for lock in LOCKS} == {"bootstrap.lock", "dev.lock", "node.lock", "runtime.lock", "scan.lock"}
