"""The dependencies: the source imports each of them, and each import belongs to one of them."""

from __future__ import annotations

import ast
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
IMPORT_NAMES = {
    "aio-pika": "aio_pika",
    "grpcio": "grpc",
    "nats-py": "nats",
    "opentelemetry-api": "opentelemetry.trace",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "prometheus-client": "prometheus_client",
    "pyjwt": "jwt",
    "pyyaml": "yaml",
}
"""Import names of the distributions whose name differs."""
IMPORTED_BY_NAME = {"holidays", "googleapis-common-protos"}
"""The first is imported by ``import_module``. Messages of temporalio import the second."""
INCLUDED = {
    "google.protobuf": "temporalio",
    "h11": "uvicorn",
    "kombu": "celery",
    "opentelemetry.context": "opentelemetry-api",
    "yarl": "aiohttp",
}
"""Imports that belong to a dependency of a dependency, and that dependency."""


def declared() -> dict[str, list[str]]:
    """Return the run-time requirements by the name of their extra. Those without an extra have an empty name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: texts for name, texts in project["optional-dependencies"].items() if name != "all"}
    return {"": project["dependencies"], **extras}


def names() -> set[str]:
    """Return the names of all run-time requirements."""
    return {Requirement(text).name for texts in declared().values() for text in texts}


@cache
def imports() -> set[str]:
    """Return the third-party imports of the source: the package, or two levels of a namespace package."""
    modules: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        if "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules.add(node.module)
    third_party = {module for module in modules if module.split(".")[0] not in {*sys.stdlib_module_names, "tompion"}}
    namespaces = ("google.", "opentelemetry.")
    return {".".join(module.split(".")[: 2 if module.startswith(namespaces) else 1]) for module in third_party}


def test_source_imports_each_dependency() -> None:
    unused = [name for name in names() - IMPORTED_BY_NAME if IMPORT_NAMES.get(name, name) not in imports()]
    assert unused == []


def test_each_import_belongs_to_a_dependency() -> None:
    own = {IMPORT_NAMES.get(name, name) for name in names()}
    unknown = imports() - own - {module for module, name in INCLUDED.items() if name in names()}
    assert unknown == set()


@pytest.mark.parametrize("text", [text for texts in declared().values() for text in texts])
def test_dependency_has_a_lower_bound_and_no_pin(text: str) -> None:
    """A library that pins a version exactly cannot be installed next to another that needs a newer one."""
    assert [specifier.operator for specifier in Requirement(text).specifier] == [">="]


def test_extra_all_is_the_union_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (text,) = project["optional-dependencies"]["all"]
    assert Requirement(text).extras == declared().keys() - {""}


def test_locks_pin_the_tz_database_exactly() -> None:
    (pin,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
    for lock in ("dev.lock", "runtime.lock"):
        assert f"\n{pin} " in (ROOT / "requirements" / lock).read_text()
