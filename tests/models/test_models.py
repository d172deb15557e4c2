"""The models in their small form: what must hold holds, and what lacks a guard breaks the promise that it kept."""

from __future__ import annotations

import pytest

from models.checking import Missing, check, command
from models.table import GUARDS, HOLDS, LONG, SMALL, TWINS, Configuration, is_asked, promises, whole

try:
    command()
except Missing as error:
    pytest.skip(f"the models cannot be checked: {error}", allow_module_level=True)


def _named(configuration: Configuration) -> str:
    return f"{configuration.module}: {configuration.name}"


@pytest.mark.parametrize("configuration", SMALL, ids=_named)
def test_a_model_holds(configuration: Configuration) -> None:
    answer = check(configuration)
    assert answer.verdict == HOLDS, answer.output
    assert answer.distinct > 100, "a model that can do nothing breaks nothing"


@pytest.mark.parametrize("configuration", TWINS, ids=_named)
def test_a_model_without_a_guard_breaks_its_promise(configuration: Configuration) -> None:
    answer = check(configuration)
    assert answer.verdict == configuration.expected, answer.output


@pytest.mark.parametrize("module", GUARDS)
def test_every_model_has_a_large_configuration(module: str) -> None:
    assert [configuration for configuration in LONG if configuration.module == module]


@pytest.mark.parametrize("module", GUARDS)
def test_every_promise_is_broken_by_a_twin(module: str) -> None:
    """A promise that no defect can break proves nothing."""
    assert promises(module) == {configuration.expected for configuration in TWINS if configuration.module == module}


@pytest.mark.parametrize("twin", TWINS, ids=_named)
def test_a_twin_holds_once_it_has_its_guards_again(twin: Configuration) -> None:
    """It fails because a guard is missing, and not because of its size: the configuration with all guards holds."""
    assert is_asked(whole(twin), SMALL + LONG)
