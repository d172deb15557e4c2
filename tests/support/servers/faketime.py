"""A clock that can be stepped while the process that reads it runs: libfaketime, of which the library alone is used.

    with SteppedClock() as clock:
        subprocess.Popen(…, env={**os.environ, **clock.surroundings})
        clock.step(+7200)

Only the time of day is stepped: pauses last as long as they should.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

MEMORY = Path("/dev/shm")  # noqa: S108 - where the library keeps what it shares, by the number of its process
LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"


class SteppedClock:
    """The offset of a process's clock from the machine's. Use as a context manager."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tompion-clock-")
        here = Path(self._directory.name)
        here.chmod(0o755)  # a server may run as another user, who cannot read our packages and files
        self._library = here / "libfaketime.so.1"
        self._offset = here / "offset"

    def __enter__(self) -> Self:
        package = importlib.util.find_spec("libfaketime")  # not imported: an import restarts the process
        assert package is not None
        assert package.origin is not None
        shutil.copy(Path(package.origin).parent / LIBRARY, self._library)
        self._library.chmod(0o755)
        self.step(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()
        remove_abandoned()

    @property
    def surroundings(self) -> dict[str, str]:
        """Return the variables with which a process has this clock."""
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, offset_s: int) -> None:
        """Let the clock be so far off the machine's from now on."""
        draft = self._offset.with_suffix(".draft")
        draft.write_text(f"{offset_s:+d}\n")
        draft.chmod(0o644)
        draft.replace(self._offset)


def remove_abandoned() -> None:
    """Remove what processes have left in shared memory that had no time to do so."""
    for path in MEMORY.glob("*faketime_s*_*"):
        number = path.name.rpartition("_")[2]
        if number.isdigit() and not Path("/proc", number).exists():
            with suppress(OSError):
                path.unlink()
