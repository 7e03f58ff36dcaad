"""What the boot unit leaves behind: state.json, audit rows and the epoch.

The stripe is more important than its record. A history that cannot be opened or
written is reported once and then left alone; no error of it gets past this file. The audit
goes to root's own spool then, and into the history with the next record that works. Root
never opens the history: a proxy without privileges does, and its answers are checked here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from appliance.model.runs import EpochRecord
from appliance.state import codec
from appliance.storage.execute.history_proxy import HistoryProxy, ProxyError
from appliance.system import files, journal, liveness

# Bounds of what a proxy may say: an id as SQLite has them, texts as 24 disks need them.
_MAX_ID = 2**63 - 1
_MAX_TEXT = 8192
_EPOCH_BOUNDS = codec.Bounds(max_items=32, max_chars=_MAX_TEXT)
# A step does not wait for its row longer than this; opening checks the whole file.
_AUDIT_SECONDS = 5.0


def write_state(path: Path, document: Mapping[str, Any]) -> None:
    """Replace ``path`` in one step; everybody may read it. A full /run stops no stripe."""
    try:
        files.replace_json(path, document)
    except OSError as error:
        journal.event(
            journal.Event.HISTORY_UNAVAILABLE,
            f"the state {path} is not written: {error.strerror}",
            priority=journal.Priority.WARNING,
            db=str(path),
        )


class Record:
    """The history, for as long as it works. ``problem`` says why it no longer does."""

    def __init__(self, db: Path, spools: Sequence[Path] = ()) -> None:
        """``spools``: directories of root's for the audit of a history that does not work."""
        self.problem = ""
        self._db = db
        self._spools = spools
        self._proxy: HistoryProxy | None = None

    def __enter__(self) -> Self:
        try:
            self._proxy = HistoryProxy(self._db)
        except OSError as error:  # no process to be had
            self._give_up(str(error))
        set_aside = self._ask("open")
        if isinstance(set_aside, str):
            self.problem = f"history was damaged and set aside as {set_aside[:_MAX_TEXT]}"
        merge(self._spools, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            proxy.dismiss()

    def audit(self, digest: str, index: int, argv: Sequence[str], state: str, detail: str) -> None:
        """Note a step as ``started``, ``done`` or ``failed``; it is on the disk then."""
        row = {
            "at": time.time(),
            "boot_id": liveness.boot_id(),
            "plan_digest": digest,
            "step_index": index,
            "argv": [_storable(word) for word in argv],
            "state": state,
            "detail": _storable(detail),
        }
        if not self._take([row]) and self._spools:
            keep(self._spools, row, self.problem)

    def _take(self, steps: Sequence[Row]) -> bool:
        """Whether the history has ``steps`` now, each once, though it may have had some before."""
        return self._ask("audit", _AUDIT_SECONDS, steps=list(steps)) is True

    def current_epoch(self) -> EpochRecord | None:
        return self._epoch(self._ask("current_epoch"))

    def ensure_epoch(self, fingerprint: Mapping[str, str]) -> EpochRecord | None:
        return self._epoch(self._ask("ensure_epoch", fingerprint=dict(fingerprint)))

    def _epoch(self, answer: object) -> EpochRecord | None:
        if answer is None:
            return None
        try:
            return parse_epoch(answer)
        except ValueError as error:
            self._give_up(f"{error}")
            return None

    def _ask(self, call: str, timeout_seconds: float | None = None, **values: object) -> object:
        if self._proxy is None:
            return None
        try:
            return self._proxy.ask(call, timeout_seconds, **values)
        except ProxyError as error:
            self._give_up(str(error))
            return None

    def _give_up(self, why: str) -> None:
        self.problem = f"history is not written: {why}"
        journal.event(
            journal.Event.HISTORY_UNAVAILABLE,
            self.problem,
            priority=journal.Priority.WARNING,
            db=str(self._db),
        )
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            proxy.dismiss(kill=True)


def _storable(words: str) -> str:
    """Text that SQLite takes: a row that it never took would stand in every later one's way."""
    return words.encode(errors="backslashreplace").decode()


def parse_epoch(answer: object) -> EpochRecord:
    """An epoch as the proxy sends it. :class:`ValueError` if it is anything else."""
    epoch = codec.decode(EpochRecord, answer, "an epoch", _EPOCH_BOUNDS)
    if not 0 < epoch.id <= _MAX_ID:
        raise ValueError("an epoch without a number")
    return epoch


# -------------------------------------------------------- steps that the history could not take


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
