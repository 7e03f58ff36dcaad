"""How a volume is now, as far as anybody may read it: mount, array state, and its reading."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from appliance import paths

# A reader that has not said anything for so long is not there any more.
_QUIET_SECONDS = 60.0
_ARRAY_OK = {"clean", "active", "active-idle", "write-pending", "read-auto", "readonly"}


def mounts(mountinfo: Path) -> dict[str, str]:
    """Mount point -> ``major:minor`` of what is mounted on top there (proc_pid_mountinfo(5))."""
    # Undecodable bytes become surrogates, as in every other path that Python makes.
    lines = mountinfo.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    fields = [line.split(" ") for line in lines]
    return {_unescape(one[4]): one[2] for one in fields if len(one) > 4}


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
    array_state = sys_block / kernel_name / "md" / "array_state"
    if array_state.exists() and (value := array_state.read_text().strip()) not in _ARRAY_OK:
        # RAID0 has no degraded state: the kernel says 'broken' here and nowhere else.
        return f"{device} is {value}"
    return ""


def live_array(md: Path) -> tuple[int, str]:
    """How many members an array lacks, and what it does about it (``recover 12 %``)."""
    degraded, action = _read(md / "degraded"), _read(md / "sync_action")
    done, _, total = _read(md / "sync_completed").partition(" / ")
    share = f" {int(done) * 100 // int(total)} %" if done.isdecimal() and total.isdecimal() else ""
    sync = f"{action}{share}" if action not in {"", "idle"} else ""
    return int(degraded) if degraded.isdecimal() else 0, sync


def read_progress(path: Path) -> Mapping[str, Any] | None:
    """A progress document, or ``None`` if there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def initialised(volume: str) -> str:
    """How far the reading of the volume is, if it was ever asked for since boot."""
    found = read_progress(paths.initialise_file(volume)) if volume else None
    if found is None:
        return ""
    state = str(found.get("state", ""))
    if state == "running" and abs(time.time() - float(found.get("at", 0.0))) > _QUIET_SECONDS:
        state = "stopped"
    done, total = int(found.get("done_bytes", 0)), int(found.get("total_bytes", 0))
    words = f"{state}, {done * 100 // total if total else 0} %"
    errors = int(found.get("error_count", 0))
    return f"{words}, {errors} read errors" if errors else words


def _unescape(text: str) -> str:
    r"""The kernel writes blank, tab, line break and backslash as ``\ooo``, and nothing else."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
