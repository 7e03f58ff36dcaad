"""What the drift check remembers from one time to the next without wearing the disk.

A small file in /run: when it last looked, up to which run it judged, when it asked for repeated
runs, and what it told while there was no history to keep it in. It is lost at a reboot, and
nothing depends on it but work that is done once more.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
        found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
        return Memory(
            at=float(found["at"]),
            judged=str(found["judged"]),
            judged_at=float(found["judged_at"]),
            told={str(key): float(at) for key, at in found["told"].items()},
            asked_at=float(found["asked_at"]),
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
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
    document = {
        "at": memory.at,
        "judged": memory.judged,
        "judged_at": memory.judged_at,
        "told": dict(latest),
        "asked_at": memory.asked_at,
    }
    with contextlib.suppress(OSError):
        files.replace_json(folder / _NAME, document)
    return True
