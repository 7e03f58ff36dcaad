"""Waiting for a disk: the kernel's own events, not a timer that looks again and again."""

from __future__ import annotations

import time

import pyudev

from appliance.system import process

# Disks arrive in a burst; after the last event this much quiet means that it is over.
_QUIET_SECONDS = 0.3
_SETTLE_SECONDS = 30


class BlockEvents:
    """Block device events from the moment this object exists, so that none is missed."""

    def __init__(self) -> None:
        self._monitor = pyudev.Monitor.from_netlink(pyudev.Context())
        self._monitor.filter_by("block")
        self._monitor.start()

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep until something happens to a block device and it is quiet again.

        Returns whether anything happened within ``timeout_seconds``.
        """
        deadline = time.monotonic() + timeout_seconds
        if self._monitor.poll(timeout=max(0.0, timeout_seconds)) is None:
            return False
        while time.monotonic() < deadline and self._monitor.poll(timeout=_QUIET_SECONDS):
            pass
        return True


def settle() -> None:
    """Let udev finish what is queued; what is not there by then may come as an event."""
    process.run(
        ["udevadm", "settle", f"--timeout={_SETTLE_SECONDS}"],
        timeout_seconds=_SETTLE_SECONDS + 5,
        check=False,
    )


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
