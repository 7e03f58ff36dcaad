"""Steps of plans that the history could not take, kept by root until it can.

A file of JSON lines in a directory that only root enters. A line is on the disk before the step
goes on; on a full disk it takes the place of a reserve. Later the history's clerk is given all of
them, and only when it has them they go: cut off in between it is given them again, and knows them
by their time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from appliance.state import codec
from appliance.system import files, journal

Row = Mapping[str, Any]
_NAME = "steps.jsonl"
_RESERVE = "reserve"
# A plan of 24 disks has some 200 rows of at most 1 KiB.
_RESERVE_BYTES = 256 * 1024
# More is no audit of plans that wait for a history, and would fill the disk.
_MAX_BYTES = 16 * 1024 * 1024
_ROWS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class _Step:
    """What the history takes of a row (History.audit); any other line would be in its way."""

    at: float
    boot_id: str
    plan_digest: str
    step_index: int
    argv: list[str]
    state: str
    detail: str


def keep(folders: Sequence[Path], row: Row, why: str) -> None:
    """Bring ``row`` to the first of ``folders`` that takes it. Only what is in the first outlives
    a reboot; the journal is told of any other row.
    """
    problem = why
    for number, folder in enumerate(folders):
        try:
            _append_to_full(folder, json.dumps(row).encode())
        except OSError as error:
            problem = f"{problem}; {folder}: {os.strerror(error.errno or 0)}"
        else:
            if number:
                _tell(f"in {folder} and the journal", problem, row)
            return
    _tell("in the journal", problem, row)


def _tell(where: str, problem: str, row: Row) -> None:
    journal.event(
        journal.Event.HISTORY_UNAVAILABLE,
        f"a step of a plan is recorded only {where} ({problem}): {json.dumps(row)}",
        priority=journal.Priority.ERROR,
    )


def merge(folders: Sequence[Path], give: Callable[[Sequence[Row]], bool]) -> None:
    """Hand what was kept to ``give``, and remove it when that took everything. The first of
    ``folders`` has its reserve then.
    """
    for folder in folders:
        with contextlib.suppress(OSError), _opened(folder, os.O_RDWR) as file:
            if all(give(some) for some in _batches(file.read())):
                file.truncate(0)
                os.fsync(file.fileno())
    for folder in folders[:1]:
        with contextlib.suppress(OSError):
            _reserve(folder)


def _reserve(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder / _RESERVE, flags, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, _RESERVE_BYTES)
    finally:
        os.close(descriptor)


def _append_to_full(folder: Path, line: bytes) -> None:
    try:
        _append(folder, line)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        (folder / _RESERVE).unlink()
        _append(folder, line)


def _append(folder: Path, line: bytes) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    with _opened(folder, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
        size_bytes = file.seek(0, os.SEEK_END)
        if size_bytes > _MAX_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
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


def _batches(lines: bytes) -> Iterator[tuple[Row, ...]]:
    rows = filter(None, map(_parsed, lines.splitlines()))
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
    with contextlib.suppress(codec.DecodeError):
        if asdict(codec.decode(_Step, row)) == row:
            return row
    _tell("in the journal", "its form is not that of this version", row)
    return None
