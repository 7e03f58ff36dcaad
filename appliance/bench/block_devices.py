"""Which block devices carry a directory: the stripe, and the members that do the I/O."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from appliance.data import disk_rule
from appliance.model.disks import DiskKind
from appliance.system.kernel import read_md, read_text


@dataclass(frozen=True, slots=True)
class Devices:
    """``device`` is the kernel name of what is mounted, ``members`` the disks below it.

    A plain disk is its own only member. Both are empty where the filesystem has no block
    device of its own; ``problem`` then says why in one sentence.
    """

    device: str = ""
    members: tuple[str, ...] = ()
    problem: str = ""

    @property
    def all(self) -> tuple[str, ...]:
        """The device and its members, each once, the device first."""
        return tuple(dict.fromkeys((self.device, *self.members))) if self.device else ()


def devices_of(device_number: int, *, sys_root: Path = Path("/sys")) -> Devices:
    """Follow ``st_dev`` to /sys/dev/block and down its slaves. Never raises.

    Major 0 means an anonymous device: tmpfs, overlay, btrfs, NFS.
    """
    major, minor = os.major(device_number), os.minor(device_number)
    if major == 0:
        return Devices(
            problem="the target's filesystem has no block device of its own, so that what "
            "reached the disks cannot be counted and COVERAGE is not judged"
        )
    link = sys_root / "dev" / "block" / f"{major}:{minor}"
    try:
        top = link.resolve(strict=True)
    except OSError:
        return Devices(problem=f"block device {major}:{minor} of the target is not in /sys")
    return Devices(device=top.name, members=tuple(dict.fromkeys(_leaves(top))))


def disk_kinds(
    members: tuple[str, ...], *, sys_block: Path = Path("/sys/class/block")
) -> tuple[DiskKind, ...]:
    """What each member is by its exact model, as the boot unit tells disks apart."""
    return tuple(_kind(sys_block / member) for member in members)


def disk_folder(device: Path) -> Path:
    """The folder of ``device`` in sysfs, of a partition that of its disk: a partition has no model,
    serial and queue of its own.
    """
    return device.resolve().parent if (device / "partition").exists() else device


def _kind(device: Path) -> DiskKind:
    device = disk_folder(device)
    behind = device / "device"
    transport = "nvme" if device.name.startswith("nvme") else (behind / "subsystem").resolve().name
    # NVMe and virtio have a PCI vendor number there, which is no name.
    vendor = read_text(behind / "vendor") if transport == "scsi" else ""
    rule = disk_rule(transport=transport, vendor=vendor, model=read_text(behind / "model"))
    return DiskKind.UNKNOWN if rule is None else rule.kind


def _leaves(device: Path) -> list[str]:
    """Kernel names of the lowest devices, md members in slot order where the kernel tells."""
    slots = read_md(device / "md").slots

    def order(entry: Path) -> tuple[int, str]:
        slot = slots.get(entry.name, "")
        return int(slot) if slot.isdecimal() else 1 << 30, entry.name

    below = sorted((device / "slaves").glob("*"), key=order)
    return [leaf for entry in below for leaf in _leaves(entry.resolve())] or [device.name]
