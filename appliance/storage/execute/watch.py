"""Disks that arrive after boot, or are enlarged: the kernel's own events, and then a new look by
the boot unit, which takes in what is new and says what can grow.

This runs without privileges: it hears udev's events and may ask for two things, that the boot
unit looks again, which never touches a volume that is up, and that drift is looked for
(:mod:`appliance.drift.looks.watch_machine`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from appliance import paths
from appliance.state import boot_state
from appliance.state.boot_state import BootState
from appliance.storage.probe import events
from appliance.storage.probe.events import QUIET_SECONDS, Device, Monitor
from appliance.system import journal
from appliance.system.kernel import Kernel

# Disks that arrive in a burst are looked at together, and after so long in any case.
_BURST_SECONDS = 30.0


def matters(device: Device) -> bool:
    """Whether an event says that a whole disk has come, or became another size.

    What is built on disks is the echo of our own work. A disk that went is no reason: what it
    leaves behind is for a person to decide, and the status tells it without a look.
    """
    if not events.is_whole(device) or events.is_built(device):
        return False
    return device.action == "add" or events.is_resized(device)


def unknown_disks(state: BootState | None, present: set[str]) -> set[str]:
    """Disks that are here and were not there at the last look: they came in between."""
    if state is None or state.inventory is None:
        return set()
    return present - {Path(disk.path).name for disk in state.inventory.disks}


def follow(monitor: Monitor, look: Callable[[], None]) -> None:
    """Wait for such an event, let its burst end, have a look; for ever."""
    while True:
        device = monitor.poll(None)
        if device is None or not matters(device):
            continue
        found = {device.sys_name: device.action}
        # Our own work on other disks echoes for as long as it lasts: that is no reason to wait.
        until = time.monotonic() + _BURST_SECONDS
        while time.monotonic() < until and (more := monitor.poll(QUIET_SECONDS)) is not None:
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
        disks=",".join(found),
    )
    look()


def run(look: Callable[[], None], state_file: Path = paths.STATE_FILE) -> None:
    """What the watch unit runs."""
    monitor = events.block_devices()
    # What came between the boot unit's last look and this line was not heard.
    if missed := unknown_disks(boot_state.find(state_file), set(Kernel().disks())):
        _look(dict.fromkeys(sorted(missed), "add"), look)
    follow(monitor, look)
