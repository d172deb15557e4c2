"""The documentation is complete, its links work, and its examples run."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

import tompion
from tests.documentation import generated_pages
from tests.support.methods import methods_of
from tompion import errors
from tompion.api import metrics
from tompion.api.rest import problems
from tompion.cli import main
from tompion.cli.lazy import LazyCommand
from tompion.config import schema
from tompion.config.settings import Settings
from tompion.contract.routes import ROUTES, SYSTEM_ROUTES
from tompion.executors import registry
from tompion.model.run import Reason, RunSource, RunState
from tompion.model.schedule import ScheduleStatus
from tompion.model.spec import SpecDocument
from tompion.operations.schedules import schedule_document
from tompion.spec import lint
from tompion.spec.zone import tzif

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(text: str) -> set[str]:
    """Return the code in the first column of all tables."""
    return {
        word
        for line in text.splitlines()
        if line.startswith("|")
        for word in re.findall(r"`([^`]+)`", line.split("|")[1])
    }


def test_every_public_name_is_in_the_python_reference() -> None:
    assert rows(page("reference/python.md")) >= set(tompion.__all__)


def test_every_method_of_spec_is_in_the_python_reference() -> None:
    text = page("reference/python.md")
    methods = [
        name for name in vars(tompion.Spec) if not name.startswith("_") and callable(getattr(tompion.Spec, name))
    ]
    assert methods
    assert [name for name in methods if f"`{name}(" not in text] == []


def test_every_method_of_tompion_is_in_the_python_reference() -> None:
    text = page("reference/python.md")
    methods = methods_of(tompion.AsyncTompion)
    assert len(methods) > 60
    assert [name for name in methods if f"`{name}(" not in text] == []
    members = inspect.getmembers(tompion.AsyncTompion, lambda member: isinstance(member, property))
    properties = [name for name, _ in members if not name.startswith("_")]
    assert [name for name in properties if f"`{name}`" not in text and f"`{name}." not in text] == []


@pytest.mark.parametrize("name", generated_pages.PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    """`python -m tests.documentation` writes them again."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert generated_pages.PAGES[name](text) == text


def test_every_route_is_in_the_rest_reference() -> None:
    text = page("reference/rest.md")
    text = text[text.index("## Routes") :]
    rows = [*map(generated_pages.route_row, ROUTES), *map(generated_pages.system_route_row, SYSTEM_ROUTES)]
    assert [row for row in rows if row not in text] == []
    assert text.count("\n| `") == len(rows)


def test_every_field_of_a_schedule_is_in_the_schedule_reference() -> None:
    wanted = set(schedule_document.FIELDS) - set(SpecDocument.__dataclass_fields__)
    assert rows(page("reference/schedule.md")) >= wanted


def test_every_reason_is_in_the_schedule_reference() -> None:
    text = page("reference/schedule.md")
    assert [reason for reason in Reason if f"`{reason}`" not in text] == []


def test_every_setting_is_documented_with_its_default() -> None:
    text, defaults = page("reference/settings.md"), Settings()
    names = [field.name for field in fields(Settings)]
    assert [name for name in names if f"| `{name}` | {getattr(defaults, name)} |" not in text] == []


def test_every_option_of_a_process_is_documented_with_its_default() -> None:
    text = page("reference/settings.md")
    documented = rows(text)
    assert [name for name in schema.OPTIONS if name not in documented] == []
    defaults = {name: str(option.default) for name, option in schema.OPTIONS.items() if option.kind in (str, int)}
    assert [name for name, value in defaults.items() if value and f"| `{name}` | `{value}` |" not in text] == []


def test_every_state_and_source_of_a_run_and_every_state_of_a_schedule_is_documented() -> None:
    text = page("reference/schedule.md")
    words = [*RunState, *RunSource, *ScheduleStatus]
    assert [word for word in words if f"`{word}`" not in text] == []
    assert {*RunSource} <= rows(text)


def test_every_executor_is_documented() -> None:
    titles = re.findall(r"^### .*$", page("reference/executors.md"), re.MULTILINE)
    assert {name for title in titles for name in re.findall(r"`(\w+)`", title)} == set(registry.installed_executors())


def test_every_metric_is_documented_and_no_other() -> None:
    counters = {f"{name}_total" for name in metrics.COUNTERS}
    wanted = counters | set(metrics.HISTOGRAMS) | set(metrics.GAUGES)
    assert len(wanted) > 30
    text = page("reference/metrics.md")
    assert rows(text) == wanted
    labels = {f"{name}_total": entry.labels for name, entry in metrics.COUNTERS.items()}
    labels |= {name: entry.labels for name, entry in metrics.HISTOGRAMS.items()}
    for name, expected in labels.items():
        assert f"| `{name}` | {', '.join(f'`{label}`' for label in expected)}".rstrip() in text, name


def test_alerts_use_existing_metrics() -> None:
    named = set(re.findall(r"tompion_\w+", page("how-to/alerts.md")))
    existing = {f"{name}_total" for name in metrics.COUNTERS} | set(metrics.GAUGES)
    existing |= {f"{name}_bucket" for name in metrics.HISTOGRAMS}
    assert len(named) > 8
    assert named - existing == set()


def test_every_field_of_a_spec_is_in_the_spec_reference() -> None:
    assert rows(page("reference/spec.md")) >= set(SpecDocument.__dataclass_fields__)


def test_every_error_and_its_code_is_documented() -> None:
    text = page("reference/errors.md")
    kinds = [kind for module in (errors, tzif) for kind in vars(module).values() if isinstance(kind, type)]
    ours = [kind for kind in kinds if issubclass(kind, errors.TompionError)]
    assert len(ours) > 5
    assert [kind.__name__ for kind in ours if f"| `{kind.__name__}` | `{kind.code}` |" not in text] == []


def test_every_problem_of_the_service_itself_is_documented_with_its_status() -> None:
    """Problems without an exception class."""
    raised: set[tuple[str, int]] = {(code, status) for status, code in problems.HTTP_ERROR_CODES.items()}
    for path in Path(problems.__file__).parents[1].rglob("*.py"):
        calls = re.findall(r'\bproblem\((\d+), "(\w+)"', path.read_text(encoding="utf-8"))
        raised |= {(code, int(status)) for status, code in calls}
    assert len(raised) > 8
    text = page("reference/errors.md")
    ours = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    documented = {
        (code, int(status))
        for _, codes, statuses, *_ in lines
        for code, status in zip(re.findall(r"`(\w+)`", codes), re.findall(r"\d{3}", statuses), strict=False)
    }
    assert {(code, status) for code, status in raised if code not in ours} - documented == set()
    assert "`refused`" in text


def test_every_lint_code_is_documented_and_no_other() -> None:
    source = Path(lint.__file__).read_text(encoding="utf-8")
    codes = set(re.findall(r'Finding\(\s*"([a-z-]+)"', source))
    assert len(codes) > 10
    assert rows(page("reference/lint.md")) == codes


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Each command below one, by its full name. A group has no use of its own."""
    if not isinstance(command, typer.core.TyperGroup):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from commands(f"{name} {word}", inner.command if isinstance(inner, LazyCommand) else inner)


def test_every_command_and_option_is_documented() -> None:
    text = page("reference/cli.md")
    existing = dict(commands("tompion", get_command(main.app)))
    assert {"tompion next", "tompion worker", "tompion migrate up"} <= set(existing)
    missing = [name for name in existing if f"`{name}`" not in text]
    for command in existing.values():
        for parameter in command.params:
            missing += [option for option in parameter.opts if option.startswith("--") and option not in text]
    assert sorted(set(missing) - {"--help", "--count"}) == []


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of its headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_anchor_of_a_link_is_a_heading(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", prose(path)):
        there = path.parent / target if target else path
        assert anchor in anchors(there), f"{path.name} links to {target}#{anchor}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(path: Path) -> None:
    """A page that names a missing command, such as ``tompion start``, misleads its readers."""
    existing = set(get_command(main.app).commands)  # type: ignore[attr-defined]  # it is a group
    named = re.findall(r"(?:^|[`/]|\$ )tompion ([a-z]+)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert [word for word in named if word not in existing] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_has_a_target(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose(path)):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_page_is_reachable_from_the_index() -> None:
    text = page("README.md") + page("adr/README.md")
    orphans = [
        path.name for path in (ROOT / "docs").rglob("*.md") if path.name not in text and path.name != "README.md"
    ]
    assert orphans == []


PROMISES = {"T": 10, "G": 30, "E": 6, "D": 10, "H": 3}
"""The number of guarantees per section. Removing one requires a change here."""


def test_every_part_of_the_conformance_suite_proves_a_guarantee() -> None:
    text = page("guarantees.md")
    folders = [path.name for path in (ROOT / "tests/conformance").iterdir() if (path / "__init__.py").exists()]
    assert len(folders) > 5
    assert [name for name in folders if f"`tests/conformance/{name}/" not in text] == []


def test_every_guarantee_names_tests_that_exist() -> None:
    promises = [line.strip("|").split("|") for line in page("guarantees.md").splitlines() if re.match(r"\| \w\d", line)]
    assert len(promises) > 30
    numbers = [number.strip() for number, *_ in promises]
    expected = [f"{letter}{number}" for letter, last in PROMISES.items() for number in range(1, last + 1)]
    assert numbers == expected, "a promise has gone, or is there twice; a new one is counted here"
    for number, _promise, proof, *_searches in promises:
        named = re.findall(r"`(?:tests/)?([\w/.]+)`", proof)
        assert named, f"{number} names no test"
        missing = [path for path in named if not ((ROOT / "tests" / path).exists() or [*ROOT.glob(f"tests/**/{path}")])]
        assert missing == [], f"{number} names tests that do not exist"


def test_every_file_and_package_on_the_map_exists_and_no_package_is_missing() -> None:
    text = page("explanation/map.md")
    source = ROOT / "src" / "tompion"
    files = re.findall(r"[\w/]+\.(?:py|sql)\b", text)
    folders = re.findall(r"[\w/]+/(?=[\s`,])", text)
    assert len(files) > 60
    assert [name for name in files if not [*source.rglob(name)]] == []
    assert [name for name in folders if not ([*source.rglob(name)] or (ROOT / name).exists())] == []
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    assert packages - {name.rstrip("/") for name in folders} == set()


def test_the_map_fits_on_one_screen() -> None:
    lines = page("explanation/map.md").splitlines()
    assert len(lines) <= 45
    assert [line for line in lines if len(line) > 100] == []


def consoles() -> list[tuple[str, str, str]]:
    """Return the shown commands that come with their output."""
    examples = []
    for path in PAGES:
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _newline, output = part.partition("\n")
                examples.append((path.name, command, output))
    return examples


@pytest.mark.parametrize(("name", "command", "output"), consoles())
def test_example_command_prints_the_documented_output(
    name: str, command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(command)
    assert words[0].rpartition("/")[2] == "tompion"
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as left:
        main.main()
    printed = capsys.readouterr()
    assert left.value.code in (0, 1), printed.err
    if output.strip():
        assert [line.rstrip() for line in printed.out.splitlines()] == output.rstrip().splitlines()


@pytest.mark.parametrize(
    "name",
    [
        "tutorial/first-spec.md",
        "reference/python.md",
        "how-to/adaptive-schedules.md",
        "how-to/missed-and-overlapping.md",
        "how-to/test-your-schedules.md",
    ],
)
def test_python_examples_run(name: str) -> None:
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", page(name), re.DOTALL)
    assert blocks
    for block in blocks:
        if "MON-FRY" in block:
            with pytest.raises(tompion.InvalidSpec, match="did you mean FRI"):
                exec(block, scope)  # noqa: S102 - our own documentation
        else:
            exec(block, scope)  # noqa: S102 - our own documentation


@pytest.mark.parametrize("name", ["tutorial/first-spec.md", "reference/python.md"])
def test_documented_values_are_right(name: str) -> None:
    """A comment once had 08:00 where the engine correctly returns 09:00."""
    scope: dict[str, object] = {}
    checked = 0
    for block in re.findall(r"```python\n(.*?)```", page(name), re.DOTALL):
        if "MON-FRY" in block:
            continue
        exec(block, scope)  # noqa: S102 - our own documentation
        for expression, value in re.findall(r"^(?:print\()?(\S.*?)\)?\s+# (\d[-\d :+]*)$", block, re.MULTILINE):
            balanced = expression + ")" * (expression.count("(") - expression.count(")"))
            assert str(eval(balanced, scope)) == value.strip()  # noqa: S307 - our own documentation
            checked += 1
    assert checked
