"""A plain script: two schedules and one SQLite file.

Stop it and start it again: missed runs are caught up as `nightly` is configured, and nothing runs twice.
"""

from __future__ import annotations

import sys

from tompion import Tompion
from tompion.executors.base import RunContext

app = Tompion(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///example.db")


@app.schedule("*/2 * * * * *", overlap="skip")
def heartbeat(run: RunContext) -> None:
    print(f"heartbeat for {run.run_at:%H:%M:%S}", flush=True)


@app.schedule("30 2 * * *", timezone="Europe/Berlin", catchup="coalesce", max_attempts=3)
async def nightly(run: RunContext) -> dict[str, str]:
    return {"night of": f"{run.run_at:%Y-%m-%d}"}


if __name__ == "__main__":
    raise SystemExit(app.run())
