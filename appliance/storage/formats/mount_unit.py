"""The text of the static ``.mount`` unit of a declared volume (systemd.mount(5)). Pure."""

from __future__ import annotations

import math
import re

from appliance import paths
from appliance.model.plans import Volume
from appliance.storage.formats import filesystem

OURS = "# Written by Stripewright for the volume that layout.toml declares; it is replaced.\n"
_PLAIN = re.compile(r"[A-Za-z0-9:_.]", re.ASCII)
# How long systemd waits for a device by itself; here, from the moment at which the time of the
# layout is over.
_DEVICE_SECONDS = 90


def unit_name(mount: str) -> str:
    """The unit's name for a mount point, as ``systemd-escape --path --suffix=mount`` makes it."""
    return f"{escaped(mount)}.mount"


def escaped(path: str) -> str:
    inner = path.strip("/")
    if not inner:
        return "-"
    escaped = ""
    for at, char in enumerate(inner):
        if char == "/":
            escaped += "-"
        elif _PLAIN.match(char) and not (char == "." and at == 0):
            escaped += char
        else:
            escaped += "".join(f"\\x{byte:02x}" for byte in char.encode())
    return escaped


def unit_text(volume: Volume, device: str) -> str:
    """The whole unit file, for ``volume`` on ``device``."""
    options = ",".join(("nofail", *filesystem.mount_options(volume)))
    return f"""{OURS}[Unit]
Description=Striped volume {volume.name}
# Not the default dependencies: they would order it before local-fs.target, and the stripes come
# up long after that.
DefaultDependencies=no
Conflicts=umount.target
Before=umount.target
# The boot unit has it mounted, when it has proved it. At shutdown the order is reversed:
# workloads, this mount, then the stripes are stopped.
Wants=stripewright-assemble.service
After=stripewright-assemble.service stripewright-release.service
# Mounted only when the volume has just been proved: one that was refused may well have a device,
# and what requires the mount has to fail then. Not looked at while it is mounted.
AssertPathExists={paths.MAY_MOUNT_DIR}/%n
# What asks in vain must not be the reason for which it is not mounted later.
StartLimitIntervalSec=0

[Mount]
What={_quoted(device)}
Where={_quoted(volume.mount)}
Type={volume.filesystem}
Options={options}
# A big filesystem's log may have to be recovered.
TimeoutSec=30min
"""


def device_text(wait_seconds: float) -> str:
    """The drop-in of a disk that may be late."""
    return f"""{OURS}[Unit]
# The layout may wait longer for the disk than systemd does for a device. No order after the boot
# unit, as what is built of disks has it: a disk that is in /etc/fstab as well would get a cycle.
JobRunningTimeoutSec={math.ceil(wait_seconds) + _DEVICE_SECONDS}s
"""


def _quoted(path: str) -> str:
    """A path in a unit file: ``%`` begins a specifier there."""
    return path.replace("%", "%%")
