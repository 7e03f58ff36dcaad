"""The appliance's own history for readers: a copy, so that no lock of theirs reaches a writer.

A process that can open a file for reading can lock it for as long as it likes (fcntl(2), flock(2)),
and SQLite's writers wait for such locks. So the file that is written lies in a directory that
only its user enters, and at :data:`appliance.paths.HISTORY_DB` lies a whole copy of it. Another
copy takes its place after a write, in one step; nothing waits for a reader of the old
one. A file anywhere else (``--db FILE``) is read and written where it is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from appliance import paths
from appliance.history import format as file_format
from appliance.system import journal

_LIVE = "live"
# Earlier copies are used again, and only what differs is written. One that is still read is left
# alone, unless as many are: a reader who keeps all of them open takes no more space than this.
_SPARES = 2
_NAMES = tuple(f"copy-{number}" for number in range(1, _SPARES + 2))
_PIECE_BYTES = 1 << 18
# One copy takes a part of a second even of a large file: at most this share of a writer's time.
_PAUSE_SECONDS, _PAUSE_FACTOR = 1.0, 20
_WAIT_SECONDS, _LOOK_SECONDS = 2.0, 0.02
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def is_own(path: Path) -> bool:
    """Whether ``path`` is the appliance's own history, as readers know it."""
    return path.absolute() == paths.HISTORY_DB


def live(path: Path) -> Path:
    """The file that is written for the history that readers know as ``path``."""
    return path.parent / _LIVE / path.name if is_own(path) else path


def for_reader(path: Path) -> Path:
    """Where to read ``path``: a writer of the live file reads its own writes there."""
    place = live(path)
    with contextlib.suppress(OSError):
        if place != path and place.parent.stat().st_uid == os.geteuid() and place.exists():
            return place
    return path


class Publisher:
    """Brings the copy up to date with what ``connection`` wrote into the live file ``place``."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._place = live(path)
        self._next_at = 0.0
        # Open for as long as the connection: closing it would drop SQLite's locks on the file
        # (https://sqlite.org/howtocorrupt.html, 2.2).
        self._live = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def close(self) -> None:
        """After the connection was closed."""
        os.close(self._live)

    def now_and_then(self) -> None:
        """After a write; what is left out now comes with the next, or with the last."""
        if time.monotonic() >= self._next_at:
            self.now()

    def now(self) -> None:
        """A copy that cannot be made stops no writer."""
        began = time.monotonic()
        try:
            with alone(self._place.parent), self._unchanging():
                if _header(self._live) != self._published_header():
                    self._publish()
        except (OSError, sqlite3.Error) as error:
            journal.event(
                journal.Event.HISTORY_UNAVAILABLE,
                f"the history's copy for readers, {self._path}, is not up to date: {error}",
                priority=journal.Priority.WARNING,
                db=str(self._path),
            )
        ended = time.monotonic()
        self._next_at = ended + max(_PAUSE_SECONDS, _PAUSE_FACTOR * (ended - began))

    @contextlib.contextmanager
    def _unchanging(self) -> Iterator[None]:
        """Other writers wait meanwhile; none of what they began is in the file."""
        self._connection.execute("BEGIN")
        try:
            self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            yield
        finally:
            self._connection.rollback()

    def _published_header(self) -> bytes:
        """With the counter of SQLite that grows with each transaction."""
        try:
            descriptor = os.open(self._path, _LOOK)
        except FileNotFoundError:
            return b""
        try:
            return _header(descriptor)
        finally:
            os.close(descriptor)

    def _publish(self) -> None:
        names = [self._place.with_name(name) for name in _NAMES]
        for name in names:
            # A writer was killed between the two steps below.
            with contextlib.suppress(FileNotFoundError):
                if name.samefile(self._path):
                    name.unlink()
        spares = sorted(
            (name for name in names if os.path.lexists(name)), key=lambda name: name.stat().st_mtime
        )
        unused = [name for name in names if name not in spares]
        new = next((name for name in spares if not _is_read(name)), None)
        if new is None:
            new = unused.pop() if len(spares) < _SPARES else spares[0]
        copy(self._live, new)
        # The old copy keeps a name, so that its space is used again and not lost to a reader.
        # Not that of a file that another user put there.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            os.link(self._path, unused[0], follow_symlinks=False)
        new.rename(self._path)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time; in a directory that no reader can open, and so not lock either."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _header(descriptor: int) -> bytes:
    return os.pread(descriptor, file_format.HEADER_BYTES, 0)


def _is_read(name: Path) -> bool:
    """Whether a process has the file open: then there is no write lease to be had on it."""
    descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # An open through a descriptor of O_PATH breaks the lease in the moment that it is held,
        # and the signal for that is otherwise SIGIO, which ends a process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno != errno.EAGAIN:
            raise
        return True
    finally:
        os.close(descriptor)
    return False


def copy(source: int, name: Path) -> None:
    """Make ``name`` equal to ``source``, on the disk; only what differs is written."""
    target = os.open(name, _WRITE, 0o644)
    try:
        os.fchmod(target, 0o644)
        size_bytes = os.fstat(source).st_size
        os.ftruncate(target, size_bytes)
        for offset in range(0, size_bytes, _PIECE_BYTES):
            piece = os.pread(source, _PIECE_BYTES, offset)
            if os.pread(target, _PIECE_BYTES, offset) != piece:
                os.pwrite(target, piece, offset)
        os.utime(target)
        os.fsync(target)
    finally:
        os.close(target)
