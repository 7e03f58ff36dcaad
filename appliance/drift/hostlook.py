"""One look at the appliance itself, without privilege: room, mounts, timer stamps, the last boot.

It writes nothing, and asks only filesystems without which nothing here would run.

How the last boot ended: a shutdown takes its mark away. mark-boot leaves ``ended`` for this boot
if the one before did not, or if systemd-pstore(8) has brought records of the kernel to the disk
since. Those are root's, so that the privileged scan reads them (:func:`last_boot`). Whatever is
in them is hostile: a driver prints what a disk says.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.drift.host_rules import AHEAD_SECONDS, RUN, Ended, Host, Room
from appliance.system import files
from appliance.system.kernel import Kernel, Mount, read_text
from appliance.text import printable

# The second is looked at where it is a file system of its own.
PLACES = ("/", "/var", RUN)
_READ_ONLY = frozenset({"ro", "emergency_ro"})
_OURS = "stamp-stripewright-*.timer"
_BOOT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_MAX_MARK_BYTES = 16 * 1024
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
class Words:
    """What a record says: see :class:`Ended`."""

    panic: str = ""
    trouble: str = ""
    uptime_seconds: float | None = None


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
    boot_id = read_text(sources.kernel.proc_root / "sys/kernel/random/boot_id").strip()
    seen = _seen(sources.seen, boot_id)
    set_seconds = seen.get("set_seconds")
    return Host(
        at=now,
        rooms=_rooms(sources),
        stamps=stamps_ahead(sources.stamps, now),
        set_seconds=float(set_seconds) if isinstance(set_seconds, int | float) else None,
        ended=_ended(sources.ended, boot_id, seen.get("last_boot")),
    )


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


def _seen(path: Path, boot_id: str) -> Mapping[str, Any]:
    """What root left of the host itself in this boot."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        host = found["host"] if found["boot_id"] == boot_id else {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return host if isinstance(host, dict) else {}


def _ended(mark: Path, boot_id: str, seen: object) -> Ended | None:
    found = read_mark(mark, boot_id)
    if found is None:
        return None
    ended, names = found
    if not isinstance(seen, dict):
        return replace(ended, record=str(paths.CRASH_RECORDS / names[-1]) if names else "")
    uptime = seen.get("uptime_seconds")
    return replace(
        ended,
        record=str(seen.get("record") or ""),
        panic=str(seen.get("panic") or ""),
        trouble=str(seen.get("trouble") or ""),
        uptime_seconds=float(uptime) if isinstance(uptime, int | float) else None,
    )


# ----------------------------------------------------------------------------- the last boot


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
        panic=_shown(panics[-1][1].removeprefix(_PANIC)) if panics else "",
        trouble=_shown(trouble),
        uptime_seconds=at if at is not None and math.isfinite(at) else None,
    )


def last_boot(mark: Path, records: Path, boot_id: str) -> dict[str, str | float | None] | None:
    """What root adds to the mark: the record that says most, and its words, if there is one."""
    found = read_mark(mark, boot_id)
    if found is None or not found[1]:
        return None
    said = [(name, read_words(records / name)) for name in found[1][-_MAX_RECORDS:]]
    name, words = max(said, key=lambda one: (bool(one[1].panic), bool(one[1].trouble)))
    return {
        "record": str(records / name),
        "panic": words.panic,
        "trouble": words.trouble,
        "uptime_seconds": words.uptime_seconds,
    }


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


def _shown(words: str) -> str:
    line = printable(words)
    return line if len(line) <= _MAX_WORDS else f"{line[: _MAX_WORDS - 1]}…"
