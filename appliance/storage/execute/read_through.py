"""Reading a volume through once: blocks of a disk restored from a snapshot come slowly the
first time that each is read, so let that not be the database's read.

Every block of every member is read past the page cache, at most as fast as the layout says,
and nothing is written to the disks. How far it is stays on the root disk under the volume's
uuid, so it goes on after a reboot and starts over for another volume of the same name.
"""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from appliance import paths
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError
from appliance.model.disks import Disk
from appliance.state import boot_state
from appliance.state.live_state import ReadProgress, read_progress
from appliance.system import files, journal

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BLOCK_BYTES = 1024 * 1024
# So many reads at once: the first read of a block takes milliseconds.
_READERS = 8
_SAVE_SECONDS = 2.0
_KEPT_ERRORS = 100
_HINT = "see 'stripewright status'"
# O_DIRECT: what is in the page cache was read before and would not be read again.
_FLAGS = os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC


def members_of(volume: str, state_file: Path = paths.STATE_FILE) -> tuple[str, list[Disk]]:
    """The uuid and the disks of a volume that is up, from the executor's state."""
    state = boot_state.find(state_file)
    found = state.volume(volume) if state else None
    if state is None or found is None:
        raise OperatorError(f"volume '{volume}' is not known to be up", _HINT)
    known = {disk.id: disk for disk in (state.inventory.disks if state.inventory else ())}
    disks = [known[one.id] for one in found.members if one.id in known]
    if not found.is_up or not disks or len(disks) < len(found.members):
        raise OperatorError(f"volume '{volume}' is not up", _HINT)
    return found.uuid, disks


@dataclass(slots=True)
class Reader:
    """Reads members to their ends, saving how far it is; ``stop`` ends it between two batches."""

    members: list[Disk]
    progress: ReadProgress
    kept: Path
    shown: Path
    rate_bytes: int | None = None
    flags: int = _FLAGS
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stopped: bool = False
    _saved_at: float = 0.0

    def stop(self, _signum: int = 0, _frame: FrameType | None = None) -> None:
        self.stopped = True

    def run(self) -> ReadProgress:
        """Read what is left. The state at the end is ``done`` or ``stopped``."""
        from concurrent.futures import ThreadPoolExecutor  # status reads progress, and is quick

        begun, before = self.clock(), self.progress.done_bytes
        self._save("running")
        with ThreadPoolExecutor(max_workers=_READERS) as pool:
            for member in self.members:
                self._member(member, pool, begun, before)
        whole = all(self.progress.done.get(m.id, 0) >= m.size_bytes for m in self.members)
        self._save("done" if whole else "stopped")
        return self.progress

    def _member(self, member: Disk, pool: ThreadPoolExecutor, begun: float, before: int) -> None:
        progress = self.progress
        position = progress.done.get(member.id, 0)
        descriptor = os.open(member.path, self.flags)
        try:
            while position < member.size_bytes and not self.stopped:
                batch = range(position, member.size_bytes, BLOCK_BYTES)[:_READERS]
                problems = pool.map(lambda at: _read(descriptor, at), batch)
                for offset, problem in zip(batch, problems, strict=True):
                    if problem:
                        self._error(member, offset, problem)
                position = min(batch[-1] + BLOCK_BYTES, member.size_bytes)
                progress.done[member.id] = position
                self._pace(begun, progress.done_bytes - before)
        finally:
            os.close(descriptor)

    def _pace(self, begun: float, read_bytes: int) -> None:
        passed = self.clock() - begun
        while self.rate_bytes and read_bytes / self.rate_bytes > passed and not self.stopped:
            # In short sleeps, so that it can be stopped.
            self.sleep(min(1.0, read_bytes / self.rate_bytes - passed))
            passed = self.clock() - begun
        self.progress.rate_bytes = read_bytes / passed if passed > 0 else 0.0
        if self.clock() - self._saved_at >= _SAVE_SECONDS:
            self._save("running")

    def _error(self, member: Disk, offset: int, problem: str) -> None:
        self.progress.error_count += 1
        if len(self.progress.errors) < _KEPT_ERRORS:
            self.progress.errors.append(
                {
                    "path": member.path,
                    "serial": member.serial,
                    "offset_bytes": offset,
                    "error": problem,
                }
            )

    def _save(self, state: str) -> None:
        self.progress.state, self.progress.at = state, time.time()
        files.replace_json(self.kept, self.progress.document())
        files.replace_json(self.shown, self.progress.document())
        self._saved_at = self.clock()


def _read(descriptor: int, offset: int) -> str:
    """Read one block and drop it; returns what went wrong, or nothing."""
    # Direct reads need memory aligned as the device's blocks are: whole pages.
    with mmap.mmap(-1, BLOCK_BYTES) as page:
        try:
            os.preadv(descriptor, [page], offset)
        except OSError as error:
            return error.strerror or "read error"
    return ""


def resume(volume: str, uuid: str, members: list[Disk], kept: Path) -> ReadProgress:
    """How far it was with this very volume; from the start for any other, or if it was done."""
    progress = ReadProgress(volume, uuid, sum(member.size_bytes for member in members))
    sizes = {member.id: member.size_bytes for member in members}
    found = read_progress(kept)
    if found is None or found.uuid != uuid or found.state == "done":
        return progress
    for disk, position in found.done.items():
        if disk in sizes and position <= sizes[disk]:
            progress.done[disk] = position // BLOCK_BYTES * BLOCK_BYTES
    progress.errors = found.errors[:_KEPT_ERRORS]
    progress.error_count = found.error_count
    return progress


def run(volume: str, *, rate_bytes: int | None, folder: Path = paths.INITIALISE_DIR) -> int:
    """Read ``volume`` through, in this process; 1 if a block could not be read."""
    uuid, members = members_of(volume)
    kept = folder / f"{volume}.json"
    progress = resume(volume, uuid, members, kept)
    reader = Reader(members, progress, kept, paths.initialise_file(volume), rate_bytes)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, reader.stop)
    journal.event(
        journal.Event.INITIALISE_STARTED,
        f"reading volume {volume} through, from {progress.done_bytes} of"
        f" {progress.total_bytes} bytes",
        volume=volume,
    )
    ended = reader.run()
    journal.event(
        journal.Event.INITIALISE_ENDED,
        f"reading volume {volume} through: {ended.state}, {ended.done_bytes} of"
        f" {ended.total_bytes} bytes, {ended.error_count} read errors",
        priority=journal.Priority.WARNING if ended.error_count else journal.Priority.NOTICE,
        volume=volume,
        errors=ended.error_count,
    )
    return EXIT_FAILED if ended.error_count else EXIT_OK
