"""The models in their small form: the models hold, and a model without a guard violates the property of that guard."""

from __future__ import annotations

import pytest

from models.checking import Missing, check, command
from models.table import GUARDS, HOLDS, LONG, SMALL, TWINS, Configuration, is_checked, promises, whole

try:
    command()
except Missing as error:
    pytest.skip(f"the models cannot be checked: {error}", allow_module_level=True)


def _named(configuration: Configuration) -> str:
    return f"{configuration.module}: {configuration.name}"


@pytest.mark.parametrize("configuration", SMALL, ids=_named)
def test_a_model_holds(configuration: Configuration) -> None:
    report = check(configuration)
    assert report.verdict == HOLDS, report.output
    assert report.distinct > 100, "a model that can do nothing breaks nothing"


@pytest.mark.parametrize("configuration", TWINS, ids=_named)
def test_a_model_without_a_guard_violates_its_property(configuration: Configuration) -> None:
    report = check(configuration)
    assert report.verdict == configuration.expected, report.output


@pytest.mark.parametrize("module", GUARDS)
def test_every_model_has_a_large_configuration(module: str) -> None:
    assert [configuration for configuration in LONG if configuration.module == module]


@pytest.mark.parametrize("module", GUARDS)
def test_every_property_is_violated_by_a_variant(module: str) -> None:
    """A property that no defect can violate proves nothing."""
    assert promises(module) == {configuration.expected for configuration in TWINS if configuration.module == module}


@pytest.mark.parametrize("twin", TWINS, ids=_named)
def test_a_variant_with_its_guards_holds(twin: Configuration) -> None:
    """The variant fails because a guard is missing, not because of its size."""
    assert is_checked(whole(twin), SMALL + LONG)
