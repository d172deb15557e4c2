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
    """The wheel is the same byte for byte with the same tools, and two builds are always the same."""
    first, second = (build(pin.commit, tmp_path / name) for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert contents_of(first) == pin.contents
    if (version("hatchling"), zlib.ZLIB_RUNTIME_VERSION) == (pin.hatchling, pin.zlib):
        assert pin_of(pin.commit, first) == pin


def test_processes_of_a_release_use_that_release(old: Release, next_release: Release, tmp_path: Path) -> None:
    """The checkout is installed as well, and must not win."""
    for release in (old, next_release):
        words = release.run(cwd=tmp_path, program=WHERE).output.split()
        assert words == [str(release.home / "tompion" / "__init__.py"), release.version]
    assert (old.version, next_release.version) == (pins()[-1].version, NEXT_VERSION)


def test_clone_without_the_commit_names_the_command_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="git fetch --unshallow"):
        build("0" * 40, tmp_path)
