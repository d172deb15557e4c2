"""Releases stay what they were: the same commit gives the same wheel, and its processes use nothing else."""

from __future__ import annotations

import zlib
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.migration.releases import NEXT_VERSION, Pin, Release, build, contents_of, pin_of, pins

WHERE = ("-c", "import tompion; from importlib.metadata import version; print(tompion.__file__, version('tompion'))")


@pytest.mark.parametrize("pin", pins(), ids=lambda pin: pin.version)
def test_a_release_can_be_built_again(pin: Pin, tmp_path: Path) -> None:
    """Byte for byte, if the tools are those of then; and whoever builds it, twice the same."""
    first, second = (build(pin.commit, tmp_path / name) for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert contents_of(first) == pin.contents
    if (version("hatchling"), zlib.ZLIB_RUNTIME_VERSION) == (pin.hatchling, pin.zlib):
        assert pin_of(pin.commit, first) == pin


def test_processes_of_a_release_use_that_release(old: Release, coming: Release, tmp_path: Path) -> None:
    """The checkout is installed as well, and must not win."""
    for release in (old, coming):
        said = release.run(cwd=tmp_path, program=WHERE).said.split()
        assert said == [str(release.home / "tompion" / "__init__.py"), release.version]
    assert (old.version, coming.version) == (pins()[-1].version, NEXT_VERSION)


def test_a_clone_without_the_commit_is_told_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="git fetch --unshallow"):
        build("0" * 40, tmp_path)
