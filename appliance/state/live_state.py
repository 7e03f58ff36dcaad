"""How a volume is now, as far as anybody may read it: mount, array state, and its reading."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.model.disks import ARRAY_RUNS
from appliance.state import codec
from appliance.system import kernel

_PROGRESS_BOUNDS = codec.Bounds(least=0)
# A reader that has written nothing for so long has ended.
_QUIET_SECONDS = 60.0


def mounts(mountinfo: Path) -> dict[str, str]:
    """Mount point -> ``major:minor`` of what is mounted on top there."""
    # Undecodable bytes become surrogates, as in every other path that Python makes.
    text = mountinfo.read_text(encoding="utf-8", errors="surrogateescape")
    return {one.mountpoint: one.device for one in kernel.parse_mountinfo(text)}


def live_problem(
    mount: str, mounted: bool, device: str, mounted_now: dict[str, str], sys_block: Path
) -> str:
    """What is no longer as the boot unit left it, in words, or an empty string."""
    if mount and not mounted:
        return f"{mount} is no longer mounted"
    kernel_name = Path(device).resolve().name
    try:
        expected = (sys_block / kernel_name / "dev").read_text().strip()
    except OSError:
        return f"{device} has gone"
    if mount and mounted_now[mount] != expected:
        return f"something else is mounted at {mount}"
    state = kernel.read_md(sys_block / kernel_name / "md").state
    # RAID0 has no degraded state: the kernel says 'broken' here and nowhere else.
    return f"{device} is {state}" if state and state not in ARRAY_RUNS else ""


def live_array(md: Path) -> tuple[int, str]:
    """How many members an array lacks, and what it does about it (``recover 12 %``)."""
    array = kernel.read_md(md)
    return array.degraded, sync_words(array)


def sync_words(array: kernel.MdArray) -> str:
    """What an array does to be in sync again, and how far it is; empty if that is nothing."""
    share = "" if array.sync_percent is None else f" {array.sync_percent} %"
    idle = array.sync_action in {"", "idle"}
    return "" if idle else f"{array.sync_action}{share}"


@dataclass(slots=True)
class ReadProgress:
    """How far the reading of a volume is. ``done`` is by disk id, in bytes from its start."""

    volume: str = ""
    uuid: str = ""
    total_bytes: int = 0
    done: dict[str, int] = field(default_factory=dict)
    error_count: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    state: str = "running"
    rate_bytes: float = 0.0
    at: float = 0.0

    @property
    def done_bytes(self) -> int:
        return sum(self.done.values())

    @property
    def percent(self) -> int:
        return self.done_bytes * 100 // self.total_bytes if self.total_bytes else 0

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "done_bytes": self.done_bytes}


def read_progress(path: Path) -> ReadProgress | None:
    """A progress document, or ``None`` if there is none."""
    try:
        return codec.parse(ReadProgress, path.read_bytes(), _PROGRESS_BOUNDS)
    except (OSError, codec.DecodeError):
        return None


def initialised(volume: str) -> str:
    """How far the reading of the volume is, if it was ever asked for since boot."""
    found = read_progress(paths.initialise_file(volume)) if volume else None
    if found is None:
        return ""
    state = found.state
    if state == "running" and abs(time.time() - found.at) > _QUIET_SECONDS:
        state = "stopped"
    words = f"{state}, {found.percent} %"
    return f"{words}, {found.error_count} read errors" if found.error_count else words
