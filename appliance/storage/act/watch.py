"""Disks that arrive after boot, or are enlarged: the kernel's own events, and then a new look by
the boot unit, which takes in what is new and says what can grow.

This runs without privileges: it hears udev's events and may ask for two things, that the boot
unit looks again, which never touches a volume that is up, and that drift is looked for
(:mod:`appliance.drift.watching`).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from appliance import paths
from appliance.storage.probe.kernel import Kernel
from appliance.system import journal

# Disks arrive in bursts; after so much quiet they are looked at together.
_QUIET_SECONDS = 2.0
_BURST_SECONDS = 30.0
# What is built on disks, or is none: its events are the echo of our own work.
_ECHO = re.compile(r"(md|dm-|loop|ram|zram|sr|fd|nbd)\d", re.ASCII)


class Device(Protocol):
    """What is used of a pyudev device."""

    action: str
    sys_name: str
    device_type: str
    properties: Mapping[str, str]


class Monitor(Protocol):
    """What is used of a pyudev monitor; ``timeout`` in seconds, ``None`` for ever."""

    def poll(self, timeout: float | None = None) -> Device | None: ...


def matters(device: Device) -> bool:
    """Whether an event says that a whole disk has come, or became another size.

    The kernel alone says ``RESIZE``, and nothing here resizes a disk; any other change may be
    the echo of a look at it. A disk that went is no reason: what it leaves behind is for a
    person to decide, and the status tells it without a look.
    """
    if device.device_type != "disk" or _ECHO.match(device.sys_name) is not None:
        return False
    resized = device.action == "change" and device.properties.get("RESIZE") == "1"
    return device.action == "add" or resized


def unknown_disks(state: Mapping[str, Any] | None, present: set[str]) -> set[str]:
    """Disks that are here and were not there at the last look: they came in between."""
    try:
        seen = {Path(disk["path"]).name for disk in (state or {})["inventory"]["disks"]}
    except (KeyError, TypeError):
        return set()
    return present - seen


def follow(monitor: Monitor, look: Callable[[], None]) -> None:
    """Wait for such an event, let its burst end, have a look; for ever."""
    while True:
        device = monitor.poll(None)
        if device is None or not matters(device):
            continue
        found = {device.sys_name: device.action}
        # Our own work on other disks echoes for as long as it lasts: that is no reason to wait.
        until = time.monotonic() + _BURST_SECONDS
        while time.monotonic() < until and (more := monitor.poll(_QUIET_SECONDS)) is not None:
            if matters(more):
                found.setdefault(more.sys_name, more.action)
        _look(found, look)


def _look(found: Mapping[str, str], look: Callable[[], None]) -> None:
    """``found``: kernel names of disks, each with what happened to it."""
    words = {"add": "new", "change": "of another size"}
    said = [
        f"{word}: {', '.join(name for name, one in found.items() if one == action)}"
        for action, word in words.items()
        if action in found.values()
    ]
    journal.event(
        journal.Event.DISK_ARRIVED,
        f"{'; '.join(said)}; the boot unit looks again",
        priority=journal.Priority.NOTICE,
        disks=",".join(found),
    )
    look()


def run(look: Callable[[], None], state_file: Path = paths.STATE_FILE) -> None:
    """What the watch unit runs."""
    import pyudev

    monitor = pyudev.Monitor.from_netlink(pyudev.Context())
    monitor.filter_by("block")
    monitor.start()
    # Between the boot unit's last look and this line nobody listened.
    try:
        state = json.loads(state_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = None
    if missed := unknown_disks(state, set(Kernel().disks())):
        _look(dict.fromkeys(sorted(missed), "add"), look)
    follow(monitor, look)
