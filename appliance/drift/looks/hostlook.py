"""One look at the appliance itself, without privilege: room, mounts, timer stamps, the last boot.

It writes nothing, and asks only filesystems without which nothing here would run.

How the last boot ended: a shutdown takes its mark away. mark-boot leaves ``ended`` for this boot
if the one before did not, or if systemd-pstore(8) has brought records of the kernel to the disk
since. Those are root's, so that the privileged scan reads them (:func:`last_boot`). Whatever is
in them is hostile: a driver prints what a disk says.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance import paths
from appliance.state import codec
from appliance.system import files, liveness
from appliance.system.kernel import Kernel, Mount
from appliance.text import bounded

RUN = "/run"
# The second is looked at where it is a file system of its own.
PLACES = ("/", "/var", RUN)
_READ_ONLY = frozenset({"ro", "emergency_ro"})
_OURS = "stamp-stripewright-*.timer"
_BOOT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
# Two clocks that are read one after the other, and the jitter of a file system's times.
AHEAD_SECONDS = 60.0
_MAX_MARK_BYTES = 16 * 1024
MAX_SEEN_BYTES = 16 * 1024 * 1024
_MAX_RECORDS = 8
_MAX_FILES = 64
_MAX_FILE_BYTES = 256 * 1024
_MAX_WORDS = 160
_LINE = re.compile(
    r"^(?:<\d{1,3}>)?\[\s{0,8}(\d{1,9}\.\d{1,9})\](?:\[[^\]]{1,32}\])? (.*)$", re.ASCII
)
_PANIC = "Kernel panic - not syncing: "
# The first words of what a kernel that goes on afterwards would call its trouble.
_TROUBLE = (
    "BUG: ",
    "Oops: ",
    "kernel BUG at ",
    "general protection fault",
    "Unable to handle ",
    "Internal error: ",
    "watchdog: BUG: ",
    "sysrq: Trigger a crash",
)


@dataclass(frozen=True, slots=True)
class Room:
    """What a file system of the appliance itself has left; without ``free_inodes`` it does not
    count them.
    """

    path: str
    free_bytes: int
    free_inodes: int | None
    read_only: bool


@dataclass(frozen=True, slots=True)
class Words:
    """The kernel's last words: ``record`` is where its messages are, ``panic`` and ``trouble`` are
    its words for the end and for what came first, ``uptime_seconds`` when.
    """

    record: str = ""
    panic: str = ""
    trouble: str = ""
    uptime_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How the last boot ended, if that was no shutdown. ``boot_id`` and ``began_at`` are empty and
    0 where its mark does not say.
    """

    boot_id: str
    began_at: float
    last: Words = Words()


@dataclass(frozen=True, slots=True)
class Host:
    """One look. ``stamps`` are our timers that fired at a time that has not come yet, and that
    time. ``set_seconds`` is by how much the clock was set since the first look of this boot,
    ``None`` if root has not looked.
    """

    at: float
    rooms: tuple[Room, ...] = ()
    stamps: Mapping[str, float] = field(default_factory=dict)
    set_seconds: float | None = None
    ended: Ended | None = None


@dataclass(frozen=True, slots=True)
class HostSeen:
    """What root adds (seen.json): ``began_at`` is the boot by the clock of its first look, as
    seconds since the epoch. ``last_boot`` is ``None`` where the kernel has left no record.
    """

    began_at: float | None = None
    set_seconds: float | None = None
    last_boot: Words | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    boot_id: str
    host: HostSeen = HostSeen()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a look looks, so that files can stand in for a machine."""

    kernel: Kernel = field(default_factory=Kernel)
    places: tuple[str, ...] = PLACES
    stamps: Path = paths.TIMER_STAMPS
    ended: Path = paths.ENDED_FILE
    seen: Path = paths.SEEN_FILE


def look(sources: Sources | None = None) -> Host:
    """Look once. Never raises for what it finds or does not find."""
    sources = sources or Sources()
    now = time.time()
    boot_id = liveness.boot_id(sources.kernel.proc_root)
    seen = read_seen(sources.seen, boot_id)
    return Host(
        at=now,
        rooms=_rooms(sources),
        stamps=stamps_ahead(sources.stamps, now),
        set_seconds=seen.set_seconds,
        ended=_ended(sources.ended, boot_id, seen.last_boot),
    )


def read_seen(path: Path, boot_id: str) -> HostSeen:
    """What root left of the host itself in this boot."""
    try:
        seen = codec.parse(_Seen, files.read_bounded(path, MAX_SEEN_BYTES))
    except (OSError, codec.DecodeError):
        return HostSeen()
    return seen.host if seen.boot_id == boot_id else HostSeen()


def stamps_ahead(folder: Path, now: float) -> dict[str, float]:
    """Our timers of which the last time lies ahead of ``now``, and that time."""
    found = {}
    with contextlib.suppress(OSError):
        for stamp in folder.glob(_OURS):
            with contextlib.suppress(OSError):
                at = stamp.lstat().st_mtime
                if at > now + AHEAD_SECONDS:
                    found[stamp.name.removeprefix("stamp-")] = at
    return found


def _rooms(sources: Sources) -> tuple[Room, ...]:
    # The last one at a place is the one on top.
    mounts = {mount.mountpoint: mount for mount in sources.kernel.mounts()}
    found = []
    for path in sources.places:
        if path in mounts:
            with contextlib.suppress(OSError):
                found.append(_room(path, mounts[path]))
    return tuple(found)


def _room(path: str, mount: Mount) -> Room:
    usage = os.statvfs(path)
    options = {*mount.options.split(","), *mount.super_options.split(",")}
    return Room(
        path=path,
        free_bytes=usage.f_bavail * usage.f_frsize,
        free_inodes=usage.f_favail if usage.f_files else None,
        read_only=bool(options & _READ_ONLY),
    )


def _ended(mark: Path, boot_id: str, words: Words | None) -> Ended | None:
    found = read_mark(mark, boot_id)
    if found is None:
        return None
    ended, names = found
    if words is None:
        words = Words(str(paths.CRASH_RECORDS / names[-1]) if names else "")
    return replace(ended, last=words)


def read_mark(path: Path, boot_id: str) -> tuple[Ended, tuple[str, ...]] | None:
    """What mark-boot left for this boot, and the names of the records; ``None`` if the last boot
    was shut down, or has left no mark.
    """
    lines = _text(path, _MAX_MARK_BYTES).splitlines()
    now, before, began = [*(lines[0].split(" ") if lines else ()), "", "", ""][:3]
    if not boot_id or now != boot_id:
        return None
    found = Ended(
        boot_id=before if _BOOT.fullmatch(before) else "",
        began_at=float(began) if began.isascii() and began.isdecimal() and len(began) < 12 else 0.0,
    )
    return found, tuple(name for name in lines[1:] if _NAME.fullmatch(name) and name[0] != ".")


def read_words(folder: Path) -> Words:
    """What the messages in the record ``folder`` say."""
    lines = sorted(_lines(folder), key=lambda one: one[0])
    panics = [one for one in lines if one[1].startswith(_PANIC)]
    trouble = next((said for _, said in lines if said.startswith(_TROUBLE)), "")
    at = panics[-1][0] if panics else lines[-1][0] if lines else None
    return Words(
        record=str(folder),
        panic=bounded(panics[-1][1].removeprefix(_PANIC), _MAX_WORDS) if panics else "",
        trouble=bounded(trouble, _MAX_WORDS),
        uptime_seconds=at if at is not None and math.isfinite(at) else None,
    )


def last_boot(mark: Path, records: Path, boot_id: str) -> Words | None:
    """What root adds to the mark: the words of the record that says most, if there is one."""
    found = read_mark(mark, boot_id)
    names = found[1][-_MAX_RECORDS:] if found else ()
    said = (read_words(records / name) for name in names)
    return max(said, key=lambda one: (bool(one.panic), bool(one.trouble)), default=None)


def _lines(folder: Path) -> Iterator[tuple[float, str]]:
    """The kernel's lines in all files of a record, each once, with its seconds since the boot."""
    seen: set[tuple[float, str]] = set()
    for file in _files(folder):
        for line in _text(file, _MAX_FILE_BYTES).splitlines():
            if (match := _LINE.match(line)) and (one := (float(match[1]), match[2])) not in seen:
                seen.add(one)
                yield one


def _files(folder: Path) -> list[Path]:
    """The parts of a record: one file, or those in a directory and in the directories in that,
    which systemd-pstore makes of what EFI variables kept (``TIMESTAMP/COUNT/dmesg.txt``).
    """
    found = [folder]
    for _ in range(2):
        found = [file for one in found for file in _listed(one)][:_MAX_FILES]
    return found


def _listed(path: Path) -> list[Path]:
    """What is in a directory; anything else is itself."""
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            return [path]
        return sorted(path.iterdir())[:_MAX_FILES]
    except OSError:
        return []


def _text(path: Path, most: int) -> str:
    try:
        return files.read_bounded(path, most, cut=True).decode("utf-8", "replace")
    except OSError:
        return ""
