"""Files that others leave in a directory in which they may write: everything there is hostile.

A file is opened without following links and without waiting, and must be a regular file with one
name and few bytes. What is taken out may be anything, and what it leads to stays.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# To make a file that is not there yet.
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a FIFO in the spool would hold its reader for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Begins with a dot: no reader asks for such a name.
_ASIDE = ".aside-"


class Unusable(Exception):
    """``why`` a file is not read (``is too long``), and its ``owner``, if that is known."""

    def __init__(self, why: str, owner: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.owner = owner


@contextlib.contextmanager
def opened(spool: Path) -> Iterator[int]:
    """The directory, as what :func:`read` and :func:`remove` take. Raises :class:`OSError`."""
    folder = os.open(spool, FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


def read(folder: int, name: str, max_bytes: int) -> tuple[bytes, int]:
    """What is in the file ``name`` and whose it is. Raises :class:`Unusable`."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise Unusable(f"cannot be opened ({error.strerror})") from error
    owner = None
    try:
        status = os.fstat(descriptor)
        owner = status.st_uid
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise Unusable("is not a regular file, or has several names", owner)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise Unusable(f"cannot be read ({error.strerror})", owner) from error
    finally:
        os.close(descriptor)
    if len(raw) > max_bytes:
        raise Unusable("is too long", owner)
    return raw, owner


def remove(folder: int, name: str) -> None:
    """Take ``name`` out of the spool, whatever it is.

    A directory that is not empty is only put aside, which takes no longer if it is deep:
    systemd-tmpfiles removes it with all that it holds.
    """
    with contextlib.suppress(OSError):
        try:
            os.unlink(name, dir_fd=folder)
        except (IsADirectoryError, PermissionError):
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError:
                if not name.startswith(_ASIDE):
                    aside = f"{_ASIDE}{os.urandom(16).hex()}"
                    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
