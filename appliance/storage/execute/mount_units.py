"""One static ``.mount`` unit for each declared volume, written where systemd reads it.

Where it is on a disk of its own, a drop-in lets systemd wait for that as long as the layout does.

The executor has systemd mount it (docs/decisions/0040); the unit gives that mount an order
and a name that other units can require, and never mounts by itself (0022). Only files that
begin with our own line are ever replaced or removed: an administrator's unit for the same path
stays.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from appliance.storage.formats.mount_unit import (
    OURS,
    MountUnit,
    device_text,
    escaped,
    unit_name,
    unit_text,
)
from appliance.system import files

_WHAT = re.compile(r"^What=(.*)$", re.MULTILINE)
# Before the fstab generator's 50-device-timeout.conf, so that a time that is given there holds.
_DROP_IN = "40-stripewright.conf"
_LONGEST_NAME = 255


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
        name = f"{escaped(device)}.device.d"
        # Only by a name that another disk cannot get; what is built of disks has its own drop-in.
        if device.startswith("/dev/disk/") and len(name) <= _LONGEST_NAME:
            wanted[f"{name}/{_DROP_IN}"] = device_text(wait_seconds)
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
        if text.startswith(OURS):
            found[str(path.relative_to(folder))] = text
    return found
