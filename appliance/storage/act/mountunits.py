"""One static ``.mount`` unit for each declared volume: the text is pure, :func:`sync` writes it.

Where it is on a disk of its own, a drop-in lets systemd wait for that as long as the layout does.

The executor has systemd mount it (docs/decisions/0040); the unit gives that mount an order
and a name that other units can require, and never mounts by itself (0022). Only files that
begin with our own line are ever replaced or removed: an administrator's unit for the same path
stays.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance import files, paths

_OURS = "# Written by Stripewright for the volume that layout.toml declares; it is replaced.\n"
_PLAIN = re.compile(r"[A-Za-z0-9:_.]", re.ASCII)
_WHAT = re.compile(r"^What=(.*)$", re.MULTILINE)
# Before the fstab generator's 50-device-timeout.conf, so that a time that is given there holds.
_DROP_IN = "40-stripewright.conf"
_LONGEST_NAME = 255
# How long systemd waits for a device by itself; here, from the moment at which the time of the
# layout is over.
_DEVICE_SECONDS = 90


@dataclass(frozen=True, slots=True)
class MountUnit:
    """What one unit says. ``options`` are mount(8)'s, without ``nofail``."""

    volume: str
    device: str
    mount: str
    filesystem: str
    options: tuple[str, ...]


def unit_name(mount: str) -> str:
    """The unit's name for a mount point, as ``systemd-escape --path --suffix=mount`` makes it."""
    return f"{_escaped(mount)}.mount"


def _escaped(path: str) -> str:
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


def unit_text(unit: MountUnit) -> str:
    """The whole unit file."""
    options = ",".join(("nofail", *unit.options))
    return f"""{_OURS}[Unit]
Description=Striped volume {unit.volume}
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
What={_quoted(unit.device)}
Where={_quoted(unit.mount)}
Type={unit.filesystem}
Options={options}
# A big filesystem's log may have to be recovered.
TimeoutSec=30min
"""


def _device_text(wait_seconds: float) -> str:
    """The drop-in of a disk that may be late."""
    return f"""{_OURS}[Unit]
# The layout may wait longer for the disk than systemd does for a device. No order after the boot
# unit, as what is built of disks has it: who has this disk in /etc/fstab as well would get a cycle.
JobRunningTimeoutSec={math.ceil(wait_seconds) + _DEVICE_SECONDS}s
"""


def _quoted(path: str) -> str:
    """A path in a unit file: ``%`` begins a specifier there."""
    return path.replace("%", "%%")


def put(folder: Path, unit: MountUnit) -> bool:
    """Write ``unit`` where it is not there as it is; whether it was. Raises :class:`OSError`."""
    wanted = {unit_name(unit.mount): unit_text(unit)}
    return bool(_write(folder, wanted, _present(folder, "*.mount")))


def sync(folder: Path, units: Sequence[MountUnit], *, keep: Mapping[str, float]) -> list[str]:
    """Write ``units``, and remove ours of volumes that are no longer declared.

    ``keep`` are the mount points of all declared volumes, each with how long its disks are waited
    for: the unit of one that is not up stays as it is. Returns the names of the files that
    changed. Raises :class:`OSError`.
    """
    wanted = {unit_name(unit.mount): unit_text(unit) for unit in units}
    kept = {unit_name(mount) for mount in keep} | set(wanted)
    present = _present(folder, "*.mount")
    changed = _write(folder, wanted, present)
    for name in sorted(set(present) - kept):
        (folder / name).unlink(missing_ok=True)
        changed.append(name)
    return changed + _sync_devices(folder, keep)


def _sync_devices(folder: Path, keep: Mapping[str, float]) -> list[str]:
    """A drop-in for the disk of each of our units, also of those that stayed as they were."""
    units = _present(folder, "*.mount")
    wanted = {}
    for mount, wait_seconds in keep.items():
        found = _WHAT.search(units.get(unit_name(mount), ""))
        device = found.group(1).replace("%%", "%") if found else ""
        name = f"{_escaped(device)}.device.d"
        # Only by a name that another disk cannot get; what is built of disks has its own drop-in.
        if device.startswith("/dev/disk/") and len(name) <= _LONGEST_NAME:
            wanted[f"{name}/{_DROP_IN}"] = _device_text(wait_seconds)
    present = _present(folder, f"dev-disk-*.device.d/{_DROP_IN}")
    changed = _write(folder, wanted, present)
    for name in sorted(set(present) - set(wanted)):
        (folder / name).unlink(missing_ok=True)
        # Somebody else's drop-ins may be there, too.
        with contextlib.suppress(OSError):
            (folder / name).parent.rmdir()
        changed.append(name)
    return changed


def _write(folder: Path, wanted: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """Write what is ``wanted`` and not there; what is there and not ours stays."""
    changed = []
    for name, text in wanted.items():
        path = folder / name
        if present.get(name) == text or (name not in present and path.exists()):
            continue
        files.replace_text(path, text, durable=True)
        changed.append(name)
    return changed


def _present(folder: Path, pattern: str) -> Mapping[str, str]:
    """Name -> text of the files in ``folder`` that are ours."""
    found = {}
    for path in folder.glob(pattern):
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.startswith(_OURS):
            found[str(path.relative_to(folder))] = text
    return found
