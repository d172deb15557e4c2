"""A program without a store: a service schedules the runs and stores them, and this program executes its own functions.

Start a service first: `make serve`.
"""

from __future__ import annotations

import sys

from tompion import Tompion
from tompion.executors.base import RunContext

app = Tompion(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8640")


@app.schedule("*/2 * * * * *", schedule_id="remote-heartbeat")
def heartbeat(run: RunContext) -> None:
    print(f"heartbeat for {run.run_at:%H:%M:%S}", flush=True)


if __name__ == "__main__":
    raise SystemExit(app.run())
