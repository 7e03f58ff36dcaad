"""What the kernel says about block devices: sysfs, mountinfo and swaps. Reads only.

Roots are parameters so that a recorded tree can stand in for a machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Not disks, whatever their model says; md and dm are reached through their members.
_NOT_DISKS = re.compile(r"(loop|ram|zram|md|dm-|sr|fd|nbd|mtdblock)\d*", re.ASCII)
_SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo: ``device`` is ``major:minor``, ``source`` what was mounted."""

    device: str
    mountpoint: str
    fstype: str
    source: str
    options: str


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """/proc/self/mountinfo (proc_pid_mountinfo(5)), octal escapes undone."""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(rest) < 2:
            continue
        mounts.append(
            Mount(
                device=fields[2],
                mountpoint=_unescape(fields[4]),
                fstype=rest[0],
                source=_unescape(rest[1]),
                options=fields[5],
            )
        )
    return tuple(mounts)


def parse_swaps(text: str) -> tuple[str, ...]:
    """/proc/swaps: the files and devices that are swap."""
    return tuple(_unescape(line.split()[0]) for line in text.splitlines()[1:] if line.split())


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)


def read_text(path: Path) -> str:
    """A sysfs attribute without its line end, empty if it is not there or cannot be read."""
    try:
        return path.read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The block devices of one machine."""

    sys_root: Path = Path("/sys")
    proc_root: Path = Path("/proc")
    dev_root: Path = Path("/dev")

    def disks(self) -> Iterator[str]:
        """Kernel names of whole disks; hidden paths of a multipath NVMe are not among them."""
        for folder in sorted((self.sys_root / "block").iterdir()):
            hidden = read_text(folder / "hidden") == "1"
            if not hidden and not _NOT_DISKS.fullmatch(folder.name):
                yield folder.name

    def arrays(self) -> Iterator[str]:
        """Kernel names of md arrays that have members."""
        for folder in sorted((self.sys_root / "block").iterdir()):
            if (folder / "md").is_dir() and any((folder / "md").glob("dev-*")):
                yield folder.name

    def _folder(self, name: str) -> Path:
        return self.sys_root / "block" / name

    def attribute(self, name: str, attribute: str) -> str:
        return read_text(self._folder(name) / attribute)

    def size_bytes(self, name: str) -> int:
        """Size in bytes; sysfs counts 512-byte sectors whatever the device's own are."""
        text = self.attribute(name, "size")
        return int(text) * _SECTOR_BYTES if text.isdecimal() else 0

    def partitions(self, name: str) -> tuple[str, ...]:
        folder = self._folder(name)
        return tuple(sorted(found.parent.name for found in folder.glob("*/partition")))

    def holders(self, name: str) -> tuple[str, ...]:
        return tuple(sorted(found.name for found in self._folder(name).glob("holders/*")))

    def transport(self, name: str) -> str:
        """``nvme``, ``scsi``, ``virtio`` …: the bus of the device behind the disk."""
        if name.startswith("nvme"):
            return "nvme"
        bus = self._folder(name) / "device" / "subsystem"
        return bus.resolve().name if bus.exists() else ""

    def mounts(self) -> tuple[Mount, ...]:
        return parse_mountinfo(read_text(self.proc_root / "self/mountinfo"))

    def swaps(self) -> tuple[str, ...]:
        return parse_swaps(read_text(self.proc_root / "swaps"))

    def whole_disks(self, device: str) -> set[str]:
        """The disks under ``major:minor``: through partitions, md and dm down to the ground."""
        found = self.sys_root / "dev/block" / device
        return self._ground(found.resolve()) if found.exists() else set()

    def _ground(self, folder: Path) -> set[str]:
        if (folder / "partition").exists():
            folder = folder.parent
        below = folder / "slaves"
        names = sorted(below.iterdir()) if below.is_dir() else []
        if not names:
            return {folder.name}
        return set().union(*(self._ground(name.resolve()) for name in names))

    def device_number(self, path: str) -> str:
        """``major:minor`` of a device node, empty if it is none."""
        try:
            status = Path(path).stat()
        except OSError:
            return ""
        if not status.st_rdev:
            return ""
        return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"

    def root_disks(self) -> set[str]:
        """The disks under the root filesystem. Btrfs hides its device, so its source counts too."""
        disks: set[str] = set()
        for mount in self.mounts():
            if mount.mountpoint == "/":
                disks |= self.whole_disks(mount.device)
                disks |= self.whole_disks(self.device_number(mount.source) or "-")
        return disks

    def swap_disks(self) -> set[str]:
        """The disks under each swap device (a swap file is under a mount already)."""
        return set().union(
            *(self.whole_disks(self.device_number(path) or "-") for path in self.swaps())
        )

    def direct_mounts(self, name: str) -> tuple[str, ...]:
        """Where the device itself or one of its partitions is mounted."""
        folder = self._folder(name)
        numbers = {read_text(folder / "dev")}
        numbers |= {read_text(folder / part / "dev") for part in self.partitions(name)}
        numbers.discard("")
        return tuple(mount.mountpoint for mount in self.mounts() if mount.device in numbers)

    def mount_at(self, mountpoint: str) -> Mount | None:
        """What is on top at ``mountpoint``, or ``None`` if nothing is mounted there."""
        found = [mount for mount in self.mounts() if mount.mountpoint == mountpoint]
        return found[-1] if found else None
