"""A clock that can be stepped while a process reads it, with the library libfaketime.

    with SteppedClock() as clock:
        subprocess.Popen(…, env={**os.environ, **clock.surroundings})
        clock.step(+7200)

Only the time of day is stepped. Pauses keep their length.
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
        """Return the environment variables that give a process this clock."""
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, offset_s: int) -> None:
        """Set the offset of the clock from the machine's, in seconds."""
        draft = self._offset.with_suffix(".draft")
        draft.write_text(f"{offset_s:+d}\n")
        draft.chmod(0o644)
        draft.replace(self._offset)


def remove_abandoned() -> None:
    """Remove the shared memory of processes that were killed."""
    for path in MEMORY.glob("*faketime_s*_*"):
        number = path.name.rpartition("_")[2]
        if number.isdigit() and not Path("/proc", number).exists():
            with suppress(OSError):
                path.unlink()
