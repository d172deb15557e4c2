"""The schedules of the site."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from tompion import Tompion
from tompion.executors.base import RunContext

app = Tompion(settings.TOMPION_STORE)


@app.schedule("* * * * * *", schedule_id="count-tables")
def count_tables(run: RunContext) -> int:
    """Query Django's own database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master")
        (count,) = cursor.fetchone()
    connection.close()  # each thread has its own connection
    print(f"{run.run_at:%H:%M:%S} {count} tables", flush=True)
    return int(count)
