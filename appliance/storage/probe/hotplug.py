"""Waiting for a disk: the kernel's own events, not a timer that looks again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from appliance.storage.probe.kernel import Kernel
from appliance.system import process, stopping

# Disks arrive in a burst; after the last event this much quiet means that it is over.
_QUIET_SECONDS = 0.3
_SETTLE_SECONDS = 30
_POLL_SECONDS = 1.0


class BlockEvents:
    """Block device events from the moment this object exists, so that none is missed."""

    def __init__(self) -> None:
        import pyudev

        self._monitor = pyudev.Monitor.from_netlink(pyudev.Context())
        self._monitor.filter_by("block")
        self._monitor.start()

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep until something happens to a block device and it is quiet again.

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
        while time.monotonic() < deadline and self._monitor.poll(timeout=_QUIET_SECONDS):
            pass
        return True


def settle(kernel: Kernel, properties: Callable[[str], Mapping[str, str]]) -> None:
    """Wait until udev has told of every disk that the kernel has, but for those that the machine
    runs from; later ones come as events.

    A disk's sequence number is given only once, and the link that has it is udev's word that it
    has seen this very disk, and none before it by the same name. Where all are there, nothing
    is to be waited for.
    """
    names = set(kernel.disks()) - kernel.root_disks()
    if all(_is_told_of(kernel, name, properties(name)) for name in names):
        return
    process.run(
        ["udevadm", "settle", f"--timeout={_SETTLE_SECONDS}"],
        timeout_seconds=_SETTLE_SECONDS + 5,
        check=False,
    )


def _is_told_of(kernel: Kernel, name: str, facts: Mapping[str, str]) -> bool:
    number = kernel.attribute(name, "diskseq")
    links = facts.get("DEVLINKS", "").split()
    return bool(number) and f"/dev/disk/by-diskseq/{number}" in links


def refresh(device: str) -> None:
    """Make udev look at ``device`` again and wait for that very event.

    A bare ``settle`` returns at once if the kernel's event has not reached udev yet, and
    the link or label that the next step needs is not there. An event that we ask for
    ourselves comes after the kernel's, and ``--settle`` waits for it.
    """
    process.run(
        ["udevadm", "trigger", "--action=change", "--settle", device],
        timeout_seconds=_SETTLE_SECONDS,
        hint=f"udev did not answer for {device}; is systemd-udevd running?",
    )
