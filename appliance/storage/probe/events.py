"""Events of block devices, and waiting for disks: by the kernel's own events, not by polling."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Protocol

from appliance.system import process, stopping
from appliance.system.kernel import Kernel

# Events come in bursts: after so much quiet one is over.
QUIET_SECONDS = 2.0
# Of disks that are waited for: the boot is in a hurry.
_BURST_QUIET_SECONDS = 0.3
_SETTLE_SECONDS = 30
_POLL_SECONDS = 1.0
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


def block_devices(source: str = "udev") -> Monitor:
    """Events of block devices from now on, udev's or the kernel's. Raises :class:`OSError`."""
    import pyudev

    monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source=source)
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
    """The kernel alone says this: any other change may be the echo of a look at it."""
    return device.action == "change" and device.properties.get("RESIZE") == "1"


# ---------------------------------------------------------------------------- waiting for disks


class BlockEvents:
    """Block device events from the moment this object exists, so that none is missed.

    The kernel's: udev's own reach no unit with ``PrivateNetwork=``.
    """

    def __init__(self) -> None:
        self._monitor = block_devices("kernel")

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep until something happens to a block device, it is quiet again, and udev has told
        what it knows of that.

        Returns whether anything happened within ``timeout_seconds``, or until the process is
        asked to stop: a signal does not end a poll, so it is a short one.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            left_seconds = max(0.0, deadline - time.monotonic())
            if self._monitor.poll(timeout=min(_POLL_SECONDS, left_seconds)) is not None:
                break
            if stopping.asked() or time.monotonic() >= deadline:
                return False
        while time.monotonic() < deadline and self._monitor.poll(timeout=_BURST_QUIET_SECONDS):
            pass
        _wait_for_udev()
        return True


def settle(kernel: Kernel) -> None:
    """Wait until udev has told of every disk that the kernel has, but for those that the machine
    runs from; later ones come as events.

    A disk's sequence number is given only once, and the link that has it is udev's word that it
    has seen this very disk, and none before it by the same name. Where all are there, nothing
    is to be waited for.
    """
    names = set(kernel.disks()) - kernel.root_disks()
    if all(_is_told_of(kernel, name) for name in names):
        return
    _wait_for_udev()


def _wait_for_udev() -> None:
    """For as long as is reasonable: one disk that udev is not done with holds up no other."""
    argv = ["udevadm", "settle", f"--timeout={_SETTLE_SECONDS}"]
    process.run(argv, timeout_seconds=_SETTLE_SECONDS + 5, check=False)


def _is_told_of(kernel: Kernel, name: str) -> bool:
    number = kernel.attribute(name, "diskseq")
    links = kernel.udev(name).get("DEVLINKS", "").split()
    return bool(number) and f"/dev/disk/by-diskseq/{number}" in links


def refresh(device: str) -> None:
    """Make udev look at ``device`` again and wait until it has.

    An event that we ask for ourselves comes after the kernel's. ``settle`` asks udev itself, which
    answers when it has read all events so far; ``trigger --settle`` waits for one that does not
    reach a unit with ``PrivateNetwork=``.
    """
    hint = f"udev did not answer for {device}; is systemd-udevd running?"
    argv = ["udevadm", "trigger", "--action=change", device]
    process.run(argv, timeout_seconds=_SETTLE_SECONDS + 5, hint=hint)
    _wait_for_udev()
