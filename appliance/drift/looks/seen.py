"""Reading what root's scan has left (:mod:`appliance.drift.looks.privileged_scan` writes it), for
who cannot look: the drift check, status and the screens.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from appliance.drift.looks.hostlook import MAX_SEEN_BYTES
from appliance.drift.looks.observation import Health, Seen
from appliance.model.disks import Filesystem
from appliance.state import codec
from appliance.system import files

_T = TypeVar("_T")
# Root's unit looks every few minutes; after so long it does not any more.
STALE_SECONDS = 3600.0


def last_scan(path: Path, boot_id: str) -> tuple[Seen | None, str]:
    """The privileged scan at ``path``, if it is recent and of this boot, or why there is none."""
    seen = read_seen(path, boot_id)
    if seen is None:
        return None, "no privileged scan in this boot"
    # A look that lies ahead is of a clock that was put back since: of no known age.
    age_seconds = abs(time.time() - seen.at)
    if age_seconds > STALE_SECONDS:
        return None, f"no privileged scan for {age_seconds / 3600:.0f} h"
    return seen, ""


def read_seen(path: Path, boot_id: str) -> Seen | None:
    """What root saw in this boot. A disk or filesystem that cannot be read did not answer."""
    try:
        document = json.loads(files.read_bounded(path, MAX_SEEN_BYTES))
        health, filesystems = document.get("health", {}), document.get("filesystems", {})
        seen = replace(
            codec.decode(Seen, {**document, "health": {}, "filesystems": {}}),
            health={key: _part(Health, one) for key, one in health.items()},
            filesystems={key: _part(Filesystem, one) for key, one in filesystems.items()},
        )
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return seen if seen.boot_id == boot_id else None


def _part(kind: type[_T], document: object) -> _T | None:
    with contextlib.suppress(codec.DecodeError):
        return codec.decode(kind, document)
    return None
