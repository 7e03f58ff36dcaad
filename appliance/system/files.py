"""Files that others read, replaced in one step, and files that others wrote, read with bounds."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO waits for its writer otherwise.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def replace_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace ``path`` by ``document``; everybody may read it. Raises :class:`OSError`."""
    replace_text(path, json.dumps(document, indent=1) + "\n")


def replace_text(path: Path, text: str | Iterable[str], *, durable: bool = False) -> None:
    """Replace ``path`` by ``text``, or by pieces of it, with mode 0644: a reader sees
    the old text or the new one, whole. ``durable``: it survives a power cut.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Beside it, under a name that no collector looks at. Not the whole name: it may be as long as
    # a name can be. By hand, because tempfile takes longer to import than a boot has to spare.
    name = path.parent / f".{path.name[:64]}.{os.urandom(8).hex()}"
    handle = os.open(name, _CREATE, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        name.chmod(0o644)
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def create_text(path: Path, pieces: Iterable[str]) -> None:
    """Write ``pieces`` to a new file. Raises :class:`OSError`: :class:`FileExistsError` where
    something is already, whatever it is; if writing fails, the file is gone again.
    """
    with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def sync_folder(folder: Path) -> None:
    """Bring the names in ``folder`` to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bounded(
    path: Path | str, max_bytes: int, *, follow: bool = False, cut: bool = False
) -> bytes:
    """What is in a regular file of at most ``max_bytes``; ``cut``: so much of a longer one.

    Raises :class:`OSError` for anything else, also for a link unless it is to be ``follow``-ed. A
    FIFO in its place holds nothing up.
    """
    descriptor = os.open(path, _READ if follow else _READ | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        found = file.read(max_bytes + 1)
    if len(found) > max_bytes and not cut:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return found[:max_bytes]
