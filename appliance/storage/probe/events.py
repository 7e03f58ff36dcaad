"""udev's events of block devices, for those who wait for them without any privilege."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

# Events come in bursts: after so much quiet one is over.
QUIET_SECONDS = 2.0
_BUILT = re.compile(r"(md|dm-)\d", re.ASCII)
_NO_DISK = re.compile(r"(loop|ram|zram|sr|fd|nbd)\d", re.ASCII)


class Device(Protocol):
    """What is used of a pyudev device."""

    action: str
    sys_name: str
    device_type: str
    properties: Mapping[str, str]


class Monitor(Protocol):
    """What is used of a pyudev monitor; ``timeout`` in seconds, ``None`` for ever."""

    def fileno(self) -> int: ...
    def poll(self, timeout: float | None = None) -> Device | None: ...


def block_devices() -> Monitor:
    """Events of block devices from now on. Raises :class:`OSError`."""
    import pyudev

    monitor = pyudev.Monitor.from_netlink(pyudev.Context())
    monitor.filter_by("block")
    monitor.start()
    found: Monitor = monitor
    return found


def is_built(device: Device) -> bool:
    """Whether it is made of disks: an array, or a device of device mapper."""
    return _BUILT.match(device.sys_name) is not None


def is_whole(device: Device) -> bool:
    """Whether it is a whole disk or array, and none of those that hold nothing of ours."""
    return device.device_type == "disk" and _NO_DISK.match(device.sys_name) is None


def is_resized(device: Device) -> bool:
    """The kernel alone says this: any other change may be the echo of somebody's look at it."""
    return device.action == "change" and device.properties.get("RESIZE") == "1"
