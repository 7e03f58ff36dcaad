"""What makes a look for drift due at once: a disk or an array that comes, goes or changes, or a
mount of ours that does.

The kernel says it by itself: udev's events, ``/proc/mdstat`` and ``mountinfo`` wake a process
that polls them. No privilege is needed for any of it. Some things it does not say (a scheduler
that was changed): these are found by the timer.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from appliance.storage.probe import events
from appliance.storage.probe.events import QUIET_SECONDS, Device, Monitor
from appliance.system import journal

# A look is due after a burst of events, and after so long in any case.
BURST_SECONDS = 10.0
# From the end of one look to the beginning of the next: a look costs a third of a second of CPU,
# and a device that comes and goes must not make a load of it.
SPACING_SECONDS = 20.0
# Of the mounts, those below which the layout puts volumes, and what covers all of them.
_MOUNTS_BELOW = "/mnt"
# The host's own: this unit has a copy, which a remount by hand does not reach.
HOST_MOUNTS = Path("/proc/1/mountinfo")
MDSTAT = Path("/proc/mdstat")


class Events(Protocol):
    """Waits ``timeout`` seconds at the most (``None``: for ever) and says what happened."""

    def wait(self, timeout: float | None) -> tuple[str, ...]: ...


def matters(device: Device) -> bool:
    """Whether an event can mean that the layout is another one."""
    if not events.is_whole(device):
        return False
    if device.action in {"add", "remove"} or events.is_resized(device):
        return True
    return device.action == "change" and events.is_built(device)


def our_mounts(mountinfo: str) -> frozenset[str]:
    """The lines of mountinfo (proc_pid_mountinfo(5)) that are about volumes."""
    found = set()
    for line in mountinfo.split("\n"):
        fields = line.split(" ", 5)
        if len(fields) > 5 and (
            fields[4] == _MOUNTS_BELOW or fields[4].startswith(f"{_MOUNTS_BELOW}/")
        ):
            found.add(line)
    return frozenset(found)


class Pace:
    """When a look is due. Times are seconds of one clock that only goes forward."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._last = 0.0
        self._looked: float | None = None

    def noticed(self, now: float) -> None:
        """Something happened."""
        self._first = now if self._first is None else self._first
        self._last = now

    def due_at(self) -> float | None:
        """When to look, or ``None`` while nothing has happened."""
        if self._first is None:
            return None
        quiet = min(self._last + QUIET_SECONDS, self._first + BURST_SECONDS)
        return quiet if self._looked is None else max(quiet, self._looked + SPACING_SECONDS)

    def looked(self, now: float) -> None:
        """A look is over; what happened before it began has been seen."""
        self._first = None
        self._looked = now


def follow(
    source: Events, check: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> None:
    """Wait for what matters, let its burst end, have a look; for ever."""
    pace = Pace()
    why: dict[str, None] = {}
    while True:
        due = pace.due_at()
        happened = source.wait(None if due is None else max(0.0, due - clock()))
        if happened:
            why.update(dict.fromkeys(happened))
            pace.noticed(clock())
        due = pace.due_at()
        if due is not None and clock() >= due:
            _tell(tuple(why))
            why.clear()
            check()
            pace.looked(clock())


def _tell(why: tuple[str, ...]) -> None:
    more = f" and {len(why) - 5} more" if len(why) > 5 else ""
    journal.event(
        journal.Event.DRIFT_NOTICED,
        f"{', '.join(why[:5])}{more}: looking for drift at once",
        priority=journal.Priority.INFO,
    )


class KernelEvents:
    """The kernel's own word: block devices, arrays, mounts. Raises :class:`OSError`."""

    def __init__(
        self, monitor: Monitor, *, mdstat: Path = MDSTAT, mountinfo: Path = HOST_MOUNTS
    ) -> None:
        self._monitor = monitor
        self._poll = select.poll()
        self._poll.register(monitor.fileno(), select.POLLIN)
        self._mounts = _open(mountinfo)
        self._poll.register(self._mounts, select.POLLPRI)
        self._mounted = our_mounts(_text(self._mounts))
        self._mdstat = mdstat
        self._arrays: int | None = None
        self._listen_to_arrays()

    def wait(self, timeout: float | None) -> tuple[str, ...]:
        found: list[str] = []
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1000):
            if descriptor == self._mounts:
                now = our_mounts(_text(self._mounts))
                if now != self._mounted:
                    found.append("a mount changed")
                self._mounted = now
            elif descriptor == self._arrays:
                # Read it again, or it wakes at once.
                _text(descriptor)
                found.append("an array changed")
            else:
                found += self._devices()
                # A first array is a device, too, and its module is loaded by then.
                self._listen_to_arrays()
        return tuple(found)

    def _listen_to_arrays(self) -> None:
        """Open mdstat if that has not been done; absent until the module of md is loaded."""
        if self._arrays is not None:
            return
        try:
            self._arrays = _open(self._mdstat)
        except FileNotFoundError:
            return
        self._poll.register(self._arrays, select.POLLPRI)
        # Read once, or it wakes at once.
        _text(self._arrays)

    def _devices(self) -> list[str]:
        found = []
        while (device := self._monitor.poll(0)) is not None:
            if matters(device):
                found.append(f"{device.sys_name} {device.action}")
        return found


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _text(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 65536):
        parts.append(part)
    return b"".join(parts).decode("utf-8", "surrogateescape")


def run(check: Callable[[], None]) -> None:
    """What the watch unit runs beside its look for new disks."""
    follow(KernelEvents(events.block_devices()), check)
