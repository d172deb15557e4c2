"""Releases as users have them: each is built from its commit and unpacked beside the others.

A pin has the digest of the files in a wheel, and the digest of its bytes if it is built with the same tools: other
versions of hatchling write other metadata, other versions of zlib compress differently.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = HERE / "releases.json"
SECONDS = 120
EPOCH = "1767225600"
"""When the files in a wheel were made, whenever that was: 2026-01-01."""
NEXT_VERSION = "99.0.0"
PACKAGE = "tompion"
OUTPUT_FILE = "output.txt"
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@dataclass(frozen=True)
class Pin:
    """A release: what it is made of, and what came of that."""

    version: str
    commit: str
    contents: str
    wheel: str
    hatchling: str
    zlib: str


@dataclass(frozen=True)
class Release:
    """A release that is unpacked somewhere. Its processes know of no other."""

    version: str
    home: Path

    @property
    def schema(self) -> int:
        """The number of its migrations."""
        return len(list((self.home / PACKAGE / "store" / "sqlite" / "migrations").glob("*.sql")))

    def environment(self, cwd: Path) -> dict[str, str]:
        """Return the environment of its processes: the release and the folder of the store, and nothing else."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TOMPION_")}
        return {**kept, "PYTHONPATH": f"{self.home}{os.pathsep}{cwd}"}

    def run(self, *arguments: str, cwd: Path, program: tuple[str, ...] = ("-m", PACKAGE)) -> Ended:
        """Run a command of this release to its end."""
        done = subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=cwd,
            env=self.environment(cwd),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def program(self, script: str, *arguments: str, cwd: Path) -> str:
        """Run a program of ours with this release. Return what it prints."""
        ended = self.run(*arguments, cwd=cwd, program=(str(HERE / script),))
        assert ended.code == 0, ended
        return ended.output

    @contextmanager
    def started(
        self, *arguments: str, cwd: Path, program: tuple[str, ...] = ("-m", PACKAGE)
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command of this release in the background and stop it afterwards. ``output.txt`` has its output."""
        with (cwd / OUTPUT_FILE).open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *program, *arguments],
                cwd=cwd,
                env=self.environment(cwd),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait(SECONDS)


@dataclass(frozen=True)
class Ended:
    """The end of a command."""

    code: int
    output: str
    complaint: str


def pins() -> list[Pin]:
    """Return the releases there have been, the oldest first."""
    return [Pin(**fields) for fields in json.loads(PINS.read_text(encoding="utf-8"))]


def pin_of(commit: str, wheel: Path) -> Pin:
    """Return the digests of a wheel."""
    bytes_of_it = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name = wheel.name.split("-")[1]
    return Pin(name, commit, contents_of(wheel), bytes_of_it, version("hatchling"), zlib.ZLIB_RUNTIME_VERSION)


def contents_of(wheel: Path) -> str:
    """Return a digest of the package in a wheel: of its names and bytes, however they are packed."""
    total = hashlib.sha256()
    with zipfile.ZipFile(wheel) as packed:
        for name in sorted(path for path in packed.namelist() if path.startswith(f"{PACKAGE}/")):
            total.update(f"{name}\0{hashlib.sha256(packed.read(name)).hexdigest()}\n".encode())
    return total.hexdigest()


def build(commit: str, directory: Path) -> Path:
    """Build the wheel of a commit in a directory of its own, from its tree alone. Skip where the clone lacks it."""
    directory.mkdir(parents=True, exist_ok=True)
    tree, packed = directory / "tree", directory / "tree.zip"
    archive = ["git", "archive", "--format=zip", f"--output={packed}", commit]
    archived = subprocess.run(archive, cwd=ROOT, capture_output=True, text=True, check=False)
    if archived.returncode:
        pytest.skip(
            f"the clone lacks commit {commit}, which a release was built from: run 'git fetch --unshallow' or clone "
            "again "
            f"({archived.stderr.strip()})"
        )
    shutil.unpack_archive(packed, tree)
    environment = {**os.environ, "TOMPION_SKIP_UI": "1", "SOURCE_DATE_EPOCH": EPOCH}
    command = [sys.executable, "-c", BUILD, str(directory)]
    built = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return directory / built.stdout.split()[-1]


def unpacked(pin: Pin, directory: Path) -> Release:
    """Build a release and unpack it, as an installation would."""
    wheel = build(pin.commit, directory)
    assert contents_of(wheel) == pin.contents, f"commit {pin.commit} is not what release {pin.version} was made of"
    home = directory / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(home)
    return Release(pin.version, home)


def build_next_release(directory: Path) -> Release:
    """Return a release that there may be one day: the present code, a version of its own, and one more migration."""
    shutil.copytree(ROOT / "src" / PACKAGE, directory / PACKAGE, ignore=shutil.ignore_patterns("ui"))
    for dialect in ("sqlite", "postgres"):
        scripts = directory / PACKAGE / "store" / dialect / "migrations"
        number = len(list(scripts.glob("*.sql"))) + 1
        shutil.copy(HERE / "next" / f"{dialect}.sql", scripts / f"{number:04}_next.sql")
    about = directory / f"{PACKAGE}-{NEXT_VERSION}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {NEXT_VERSION}\n")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [f"{name} = {where}" for name, where in declared["tompion.executors"].items()]
    (about / "entry_points.txt").write_text("\n".join(["[tompion.executors]", *lines, ""]))
    return Release(NEXT_VERSION, directory)


def written(pin: Pin) -> str:
    """Return a pin as it stands in the file."""
    return json.dumps(asdict(pin), indent=2)
