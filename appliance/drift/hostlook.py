"""One look at the appliance itself, without privilege: room, mounts, timer stamps, the last boot.

It writes nothing, and asks only file systems without which nothing here would run.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.drift import lastboot
from appliance.drift.host import AHEAD_SECONDS, RUN, Ended, Host, Room
from appliance.system.kernel import Kernel, Mount, read_text

# The second is looked at where it is a file system of its own.
PLACES = ("/", "/var", RUN)
_READ_ONLY = frozenset({"ro", "emergency_ro"})
_OURS = "stamp-stripewright-*.timer"


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
    found = lastboot.read_mark(mark, boot_id)
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
