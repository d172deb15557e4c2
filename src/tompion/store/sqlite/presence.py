"""Locks that end with a process: one byte per instance in a file beside the database.

The operating system releases the lock of a process that ends in any way. A byte that was written and is not locked
belongs to a process that has ended. The locks belong to the open file, so that several stores of one process see each
other's locks. A child that is forked without ``exec`` keeps them.
"""

from __future__ import annotations

import os
import struct
import threading
from contextlib import suppress
from pathlib import Path

try:
    import fcntl

    SET_LOCK, GET_LOCK = fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK
except (ImportError, AttributeError):  # not Linux: an instance that ends without a release keeps its lease
    SET_LOCK = GET_LOCK = None  # type: ignore[assignment]  # checked before use

SUFFIX = "-instances"
MARK = b"\1"
_FLOCK = "hhqqi4x"
"""``struct flock`` of 64-bit Linux: type, whence, start, length, process id."""


class LockFile:
    """The locks of the instances of one store."""

    def __init__(self, database: str) -> None:
        self._path = Path(f"{os.path.realpath(database)}{SUFFIX}")
        self._lock = threading.Lock()
        self._file: int | None = None
        self._held: set[int] = set()

    def hold(self, instance_id: int) -> None:
        """Lock the byte of an instance until it is dropped or this process ends."""
        with self._lock, suppress(OSError):  # without the lock, the lease decides
            file = self._open()
            if file is not None:
                fcntl.fcntl(file, SET_LOCK, _flock(fcntl.F_WRLCK, instance_id))
                os.pwrite(file, MARK, instance_id)
                self._held.add(instance_id)

    def drop(self, instance_id: int) -> None:
        """Release the lock of an instance."""
        with self._lock, suppress(OSError):
            if self._file is not None and instance_id in self._held:
                self._held.discard(instance_id)
                fcntl.fcntl(self._file, SET_LOCK, _flock(fcntl.F_UNLCK, instance_id))

    def is_absent(self, instance_id: int) -> bool:
        """Return whether the process of an instance held its lock and has ended."""
        with self._lock, suppress(OSError):
            file = self._open()
            if file is None or instance_id in self._held or os.pread(file, 1, instance_id) != MARK:
                return False
            answer = fcntl.fcntl(file, GET_LOCK, _flock(fcntl.F_WRLCK, instance_id))
            return bool(struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK)
        return False

    def close(self) -> None:
        """Release all locks."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None
            self._held.clear()

    def _open(self) -> int | None:
        """Open the file once. It is never deleted, because a second file would have locks of its own."""
        if self._file is None and SET_LOCK is not None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._file


def _flock(kind: int, instance_id: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, instance_id, 1, 0)
