"""The lock files: they pin what pyproject.toml requires, and fit together."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def unpinned(wanted: list[str], lock: str) -> list[str]:
    """The requirements that a lock file does not satisfy."""
    pinned = dict(re.findall(r"^(\S+)==(\S+)", lock, re.MULTILINE))
    needs = [Requirement(text) for text in wanted]
    return [str(need) for need in needs if need.name not in pinned or pinned[need.name] not in need.specifier]


def wanted_from(*groups: str) -> list[str]:
    """The run-time requirements of pyproject.toml, and those of some dependency groups, or of all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    chosen = [group for name, group in project["dependency-groups"].items() if not groups or name in groups]
    return [*project["project"]["dependencies"], *(text for group in chosen for text in group if isinstance(text, str))]


@pytest.mark.parametrize(("lock", "groups"), [("dev.lock", ()), ("runtime.lock", ("build",))])
def test_lock_has_every_requirement_of_pyproject(lock: str, groups: tuple[str, ...]) -> None:
    """A dependency added to pyproject.toml without `make lock` would be missing from every fresh clone."""
    missing = unpinned(wanted_from(*groups), (ROOT / "requirements" / lock).read_text())
    assert not missing, f"run `make lock`: {missing}"


@pytest.mark.parametrize("lock", ["runtime.lock", "node.lock"])
def test_smaller_lock_is_a_part_of_the_whole(lock: str) -> None:
    """`make serve` and `make test` share .venv, so that one must not replace the packages of the other."""
    whole = pins((ROOT / "requirements/dev.lock").read_text())
    part = pins((ROOT / "requirements" / lock).read_text())
    assert part
    assert part < whole, f"run `make lock`: {part - whole}"


def pins(lock: str) -> set[str]:
    """The pins of a lock file, with their conditions and hashes."""
    return {" ".join(line.split()) for line in lock.replace("\\\n", " ").splitlines()}


def test_runtime_lock_holds_no_tools() -> None:
    """`make serve` must not install what only tests, lint and types need."""
    names = {pin.split("==")[0] for pin in pins((ROOT / "requirements/runtime.lock").read_text())}
    runtime = {Requirement(text).name for text in wanted_from("build")}
    assert not ({Requirement(text).name for text in wanted_from()} - runtime) & names


@pytest.mark.parametrize("wanted", ["ruff", "rich>=16", "rich==15.0.1"])
def test_a_requirement_that_the_lock_lacks_is_found(wanted: str) -> None:
    assert unpinned([wanted, "rich", "rich>=14"], "rich==15.0.0 \\\n    --hash=sha256:00") == [wanted]
