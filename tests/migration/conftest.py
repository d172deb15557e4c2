"""Releases that the tests of this folder share, and stores of which each test has a copy."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.migration.mixed_releases import filled
from tests.migration.releases import HERE, Release, build_next_release, pins, unpacked
from tests.migration.stores import Place, PostgresPlace, SqlitePlace
from tests.support.servers.postgres import PostgresServer

DIALECTS = ["sqlite", pytest.param("postgres", marks=pytest.mark.server)]


def _shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Release]) -> Release:
    """Return a release that the first process of the tests makes for all: Python compiles its modules only once."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"release-{name}"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = place / "ready"
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
            release = make(place)
            ready.write_text(f"{release.version}\n{release.home}")
    version, home = ready.read_text().split("\n")
    return Release(version, Path(home))


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The newest release there has been."""
    return _shared(tmp_path_factory, "old", lambda place: unpacked(pins()[-1], place))


@pytest.fixture(scope="session")
def next_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release that may follow the present code, with one migration more."""
    return _shared(tmp_path_factory, "next", build_next_release)


def _home(tmp_path: Path) -> Path:
    shutil.copy(HERE / "worker_tasks" / "tasks.py", tmp_path)
    return tmp_path


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a store may be made."""
    home = _home(tmp_path)
    if request.param == "postgres":
        return PostgresPlace(request.getfixturevalue("postgres_url"), home)
    return SqlitePlace(home)


Copy = Callable[[str, Callable[[Place], object]], Place]


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Place]:
    """Stores that take a while to make, by name. Tests get copies."""
    return {}


@pytest.fixture
def file_copy(templates: dict[str, Place], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Copy:
    """Copies a file, which the first call with a name creates."""

    def copied(name: str, make: Callable[[Place], object]) -> Place:
        if f"file {name}" not in templates:
            templates[f"file {name}"] = SqlitePlace(_home(tmp_path_factory.mktemp(name)))
            make(templates[f"file {name}"])
        shutil.copytree(templates[f"file {name}"].home, tmp_path, dirs_exist_ok=True)
        return SqlitePlace(tmp_path)

    return copied


@pytest.fixture
def database_copy(
    templates: dict[str, Place],
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    postgres_server: PostgresServer,
) -> Iterator[Copy]:
    """The same for a database."""
    mine = f"test_{uuid.uuid4().hex}"

    def copied(name: str, make: Callable[[Place], object]) -> Place:
        if f"database {name}" not in templates:
            url = postgres_server.create_database(f"upgrade_{name}")
            templates[f"database {name}"] = PostgresPlace(url, _home(tmp_path_factory.mktemp(name)))
            make(templates[f"database {name}"])
        shutil.copytree(templates[f"database {name}"].home, tmp_path, dirs_exist_ok=True)
        return PostgresPlace(postgres_server.create_database(mine, f"upgrade_{name}"), tmp_path)

    yield copied
    postgres_server.drop_database(mine)


@pytest.fixture
def full_file(old: Release, file_copy: Copy) -> Place:
    """A file with everything that the old release can leave in one."""
    return file_copy("full", lambda place: filled(old, place))


@pytest.fixture
def full_database(old: Release, database_copy: Copy) -> Place:
    """The same in a database."""
    return database_copy("full", lambda place: filled(old, place))


@pytest.fixture(params=DIALECTS)
def full(request: pytest.FixtureRequest) -> Place:
    """A store of the old release with rows in every table."""
    place: Place = request.getfixturevalue("full_database" if request.param == "postgres" else "full_file")
    return place


@pytest.fixture(params=DIALECTS)
def newer(request: pytest.FixtureRequest, next_release: Release) -> Place:
    """A store that the next release has made."""
    copy: Copy = request.getfixturevalue("database_copy" if request.param == "postgres" else "file_copy")
    return copy("newer", lambda place: next_release.program("create_schedules.py", place.url, cwd=place.home))
