"""What the drift check remembers from one time to the next without wearing the disk.

A small file in /run: when it last looked, up to which run it judged, when it asked for repeated
runs, and what it told while there was no history to keep it in. It is lost at a reboot, and
nothing depends on it but work that is done once more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from appliance.state import codec
from appliance.system import files

_NAME = "checked.json"
_MOST_TOLD = 256


@dataclass(frozen=True, slots=True)
class Memory:
    """``at`` is when the last check ended, ``judged_at`` when it last judged the runs up to
    ``judged``; ``told`` has the facts that were told though nobody keeps them, and when.
    ``asked_at`` is when repeated runs were last asked for. Seconds since the epoch (UTC).
    """

    at: float = 0.0
    judged: str = ""
    judged_at: float = 0.0
    told: Mapping[str, float] = field(default_factory=dict)
    asked_at: float = 0.0


def load(folder: Path) -> Memory:
    """What is remembered; nothing if the file is not there or is not one of ours."""
    try:
        return codec.parse(Memory, (folder / _NAME).read_bytes())
    except (OSError, codec.DecodeError):
        return Memory()


def save(folder: Path, memory: Memory) -> bool:
    """Remember; ``False`` for whoever is not the drift check: an operator, root, a laptop.

    The drift check that cannot remember, because /run is full, tells again rather than nothing.
    """
    try:
        if folder.stat().st_uid != os.geteuid():
            return False
    except OSError:
        return False
    latest = sorted(memory.told.items(), key=lambda one: one[1])[-_MOST_TOLD:]
    with contextlib.suppress(OSError):
        files.replace_json(folder / _NAME, asdict(replace(memory, told=dict(latest))))
    return True
