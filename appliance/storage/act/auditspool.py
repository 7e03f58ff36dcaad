"""Steps of plans that the history could not take, kept by root until it can.

A file of JSON lines in a directory that only root enters. A line is on the disk before the step
goes on. Later the history's clerk is given all of them, and only when it has them they go: cut
off in between it is given them again, and knows them by their time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from appliance import files
from appliance.system import journal

Row = Mapping[str, Any]
_NAME = "steps.jsonl"
_ROWS_AT_ONCE = 20
# What the history takes of a row (History.audit); a line of anything else would be in its way.
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "at": (int, float),
    "boot_id": str,
    "plan_digest": str,
    "step_index": int,
    "argv": list,
    "state": str,
    "detail": str,
}


def keep(folders: Sequence[Path], row: Row, why: str) -> None:
    """Bring ``row`` to the disk, in the first of ``folders`` that takes it."""
    problem = why
    for folder in folders:
        try:
            _append(folder, json.dumps(row).encode())
        except OSError as error:
            problem = f"{problem}; {folder}: {os.strerror(error.errno or 0)}"
        else:
            return
    _tell(problem, row)


def _tell(problem: str, row: Row) -> None:
    journal.event(
        journal.Event.HISTORY_UNAVAILABLE,
        f"a step is recorded here alone ({problem}): {json.dumps(row)}",
        priority=journal.Priority.ERROR,
    )


def merge(folders: Sequence[Path], give: Callable[[Sequence[Row]], bool]) -> None:
    """Hand what was kept to ``give``, and remove it when that took everything."""
    for folder in folders:
        with contextlib.suppress(OSError), _opened(folder, os.O_RDWR) as file:
            if all(give(some) for some in _batches(file)):
                file.truncate(0)
                os.fsync(file.fileno())


def _append(folder: Path, line: bytes) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    with _opened(folder, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        # A line that was cut off stays by itself.
        torn = size_bytes and os.pread(file.fileno(), 1, size_bytes - 1) != b"\n"
        try:
            whole = b"\n" * bool(torn) + line + b"\n"
            if file.write(whole) != len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(size_bytes)
            raise
    files.sync_folder(folder)


@contextlib.contextmanager
def _opened(folder: Path, flags: int) -> Iterator[BinaryIO]:
    descriptor = os.open(folder / _NAME, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield file


def _batches(file: BinaryIO) -> Iterator[tuple[Row, ...]]:
    rows = filter(None, map(_parsed, file))
    while some := tuple(itertools.islice(rows, _ROWS_AT_ONCE)):
        yield some


def _parsed(line: bytes) -> Row | None:
    """A line that was cut off by a power cut belongs to a step that did not go on."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    if row.keys() == _KINDS.keys() and all(isinstance(row[name], _KINDS[name]) for name in row):
        return row
    _tell("it has not the form of this version", row)
    return None
