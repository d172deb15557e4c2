"""Migrated databases that are cleaned and reused, because creating one takes longer than most tests.

Copying a template takes a quarter of a second.  Deleting the rows of a used database is faster.  If a test has changed
the schema, which an event trigger records, its database is dropped.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.support.servers.postgres import PostgresServer

# In a schema of its own, which the product does not read.  It has a copy of the initial rows.
KEEPER = b"""
CREATE SCHEMA keeper;
CREATE TABLE keeper.spoilt (what text);
CREATE FUNCTION keeper.note() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO keeper.spoilt VALUES (tg_tag);
END $$;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TABLE keeper.%1$I AS SELECT * FROM public.%1$I', name);
    END LOOP;
END $$;
CREATE FUNCTION keeper.clean() RETURNS void LANGUAGE plpgsql AS $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;  -- some triggers refuse to let rows go
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('DELETE FROM public.%1$I', name);
        EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE SELECT * FROM keeper.%1$I', name);
    END LOOP;
    PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE schemaname = 'public';
END $$;
CREATE EVENT TRIGGER keeper_note ON ddl_command_end EXECUTE FUNCTION keeper.note();
"""
OTHERS = b"""
SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


SECONDS_TO_DROP = 10


@contextmanager
def temporary_objects(url: str, create: str, drop: str) -> Iterator[psycopg.Connection[Any]]:
    """Create objects for one test and drop them after it, so that the database can be used again.

    If the test has changed tables itself, the objects stay and the database is dropped.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(create.encode())
        before = _notes(connection)
        yield connection
        if _notes(connection) == before:
            connection.execute(f"SET lock_timeout = '{SECONDS_TO_DROP}s'".encode())
            connection.execute(drop.encode())
            connection.execute("TRUNCATE keeper.spoilt")


def _notes(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM keeper.spoilt").fetchone()
    assert row is not None
    return int(row[0])


class Recycling:
    """Databases of one server, copied from one template."""

    def __init__(self, server: PostgresServer, template: str, more: Callable[[str], str]) -> None:
        self._server, self._template, self._more = server, template, more
        self._clean: list[str] = []
        with psycopg.connect(server.url_of(template)) as connection:
            connection.execute(KEEPER)

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the URL of a database that equals the template."""
        name = self._clean.pop() if self._clean else self._made()
        yield self._server.url_of(name)
        if self._cleaned(name):
            self._clean.append(name)
        else:
            self._server.drop_database(name)

    def _made(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        url = self._server.create_database(name, self._template)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(self._more(url).encode())
            connection.execute("TRUNCATE keeper.spoilt")
        return name

    def _cleaned(self, name: str) -> bool:
        """Disconnect all clients and delete their rows. Return False if the schema has changed."""
        with psycopg.connect(self._server.url_of(name)) as connection:
            connection.execute(OTHERS)
            if connection.execute("SELECT 1 FROM keeper.spoilt LIMIT 1").fetchone():
                return False
            connection.execute("SELECT keeper.clean()")
        return True
