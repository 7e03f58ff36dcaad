"""A process without privilege that locks whatever it can open, in every way, until it is ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

_NOBODY = 65534


@contextlib.contextmanager
def held(folder: Path) -> Iterator[list[str]]:
    """Locks on everything below ``folder``; which files could be opened at all."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            _lock_everything(folder, writing)
        os._exit(1)
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            *opened, last = pipe.read().splitlines()
        assert last == "held", (opened, last)
        yield opened
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _lock_everything(folder: Path, writing: int) -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    kept, opened = [], []
    for base, _, names in os.walk(folder):
        for name in [*names, "."]:
            path = Path(base, name)
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                if name == ".":
                    continue
                # SQLite first: its own close would drop what was locked by hand.
                opened.append(str(path.relative_to(folder)))
                with contextlib.suppress(sqlite3.Error):
                    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
                    connection.execute("BEGIN")
                    connection.execute("SELECT * FROM sqlite_master").fetchone()
                    kept.append(connection)
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.write(writing, "\n".join([*opened, "held"]).encode())
    os.close(writing)
    signal.pause()
