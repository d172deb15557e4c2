"""Executors by entry point: built in, of other packages, and missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from tompion.errors import InvalidField
from tompion.executors import registry
from tompion.executors.base import Completed, Executor, RunContext
from tompion.executors.command import CommandExecutor
from tompion.executors.function import FunctionExecutor
from tompion.executors.http import HttpExecutor
from tompion.executors.options import ExecutorEnv
from tompion.executors.registry import build_executors


class OtherPackageExecutor(Executor):
    """An executor of another package."""

    def __init__(self, configured: Mapping[str, Any], site: ExecutorEnv) -> None:
        self.configured = configured
        self.site = site

    async def run(self, dag: Any, run_context: RunContext) -> Completed:
        return Completed()


def offer(monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    entry_points = registry.installed_executors()
    added = {name: EntryPoint(name, value, registry.ENTRY_POINT_GROUP) for name, value in more.items()}
    monkeypatch.setattr(registry, "installed_executors", lambda: {**entry_points, **added})


def test_function_and_http_need_no_configuration() -> None:
    executors = build_executors({}, ExecutorEnv())
    assert {name: type(executor) for name, executor in executors.items()} == {
        "function": FunctionExecutor,
        "http": HttpExecutor,
    }


def test_commands_are_off_unless_they_are_configured() -> None:
    executors = build_executors({"command": {"commands": {"echo": {"argv": ["echo"]}}}}, ExecutorEnv())
    assert isinstance(executors["command"], CommandExecutor)


def test_executor_of_another_package_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, foreign=f"{__name__}:OtherPackageExecutor")
    site = ExecutorEnv(max_threads=3)
    foreign = build_executors({"foreign": {"a": 1}}, site)["foreign"]
    assert isinstance(foreign, OtherPackageExecutor)
    assert (foreign.configured, foreign.site) == ({"a": 1}, site)


@pytest.mark.parametrize(
    ("configured", "field"),
    [
        ({"http": None}, "executors.http"),
        ({"function": []}, "executors.function"),
        ({"http": {"allow": "10.0.0.0/8"}}, "executors.http.allow"),
        ({"http": {"allow": [1]}}, "executors.http.allow"),
    ],
)
def test_invalid_setting_names_its_field(configured: Any, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        build_executors(configured, ExecutorEnv())
    assert refused.value.field == field


def test_unknown_executor_is_rejected() -> None:
    with pytest.raises(InvalidField, match=r"executors.teleport: there is no such executor; installed are .*function"):
        build_executors({"teleport": {}}, ExecutorEnv())


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, celery="no_such_package.at_all:make")
    with pytest.raises(InvalidField, match=r"needs no_such_package, .* pip install 'tompion\[celery\]'"):
        build_executors({"celery": {}}, ExecutorEnv())
