"""What the kernel and udev say about block devices: sysfs, mountinfo, swaps. Reads only.

Roots are parameters so that a recorded tree can stand in for a machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Not disks, whatever their model says; md and dm are reached through their members.
_NOT_DISKS = re.compile(r"(loop|ram|zram|md|dm-|sr|fd|nbd|mtdblock)\d*", re.ASCII)
_SECTOR_BYTES = 512
_CHOSEN = re.compile(r"\[([^\]]+)\]")
_READ_BYTES = 1 << 16
# What the machine runs from, besides swap. Whatever is under these is never to be used.
_SYSTEM_MOUNTS = frozenset({"/", "/usr", "/boot", "/boot/efi", "/efi", "/etc", "/var"})
# device-mapper uuids begin with the name of what made the device (libdevmapper's convention).
_DM_KINDS = (
    ("LVM-", "LVM volume"),
    ("CRYPT-LUKS", "LUKS"),
    ("CRYPT-", "dm-crypt"),
    ("mpath-", "multipath"),
    ("part", "partition mapping"),
    ("DMRAID-", "dmraid"),
)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo: ``device`` is ``major:minor``, ``source`` what was mounted.

    ``options`` are those of this mount, ``super_options`` those of the filesystem itself.
    ``parent_id`` is the ``mount_id`` of the mount that this one is mounted on, ``root`` what of
    the filesystem is mounted: ``/``, or the directory of a bind mount.
    """

    device: str
    mountpoint: str
    fstype: str
    source: str
    options: str
    super_options: str = ""
    mount_id: int = 0
    parent_id: int = 0
    root: str = "/"


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """/proc/self/mountinfo (proc_pid_mountinfo(5)), octal escapes undone."""
    mounts = []
    # Not splitlines(): the kernel escapes no other line end, and paths may hold Unicode's.
    for line in text.split("\n"):
        left, separator, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(rest) < 2:
            continue
        mounts.append(
            Mount(
                device=fields[2],
                mountpoint=unescape(fields[4]),
                fstype=rest[0],
                source=unescape(rest[1]),
                options=fields[5],
                super_options=rest[2] if len(rest) > 2 else "",
                mount_id=int(fields[0]) if fields[0].isdecimal() else 0,
                parent_id=int(fields[1]) if fields[1].isdecimal() else 0,
                root=unescape(fields[3]),
            )
        )
    return tuple(mounts)


def parse_swaps(text: str) -> tuple[str, ...]:
    """/proc/swaps: the files and devices that are swap."""
    lines = text.split("\n")[1:]
    return tuple(unescape(re.split("[ \t]", line)[0]) for line in lines if line)


def unescape(text: str) -> str:
    r"""Blank, tab, line break and backslash are ``\ooo`` in the kernel's tables and in fstab(5)."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), text)


def read_text(path: Path | str) -> str:
    """A sysfs attribute without its line end, empty if it is not there or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    # A look reads thousands of these; a file object asks the kernel twice as often.
    read = b""
    try:
        while part := os.read(descriptor, _READ_BYTES):
            read += part
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return read.decode(errors="replace").rstrip("\n")


@dataclass(frozen=True, slots=True)
class MdArray:
    """What sysfs says of an md array (Documentation/admin-guide/md.rst).

    ``slots`` has the kernel name of each member with its slot, or a word where it has none.
    ``sync_percent`` is how far ``sync_action`` is, ``None`` if nothing is done. ``component_bytes``
    is what the array uses of each member, 0 for RAID0. All is empty for what is no array.
    """

    state: str = ""
    level: str = ""
    chunk_bytes: int = 0
    raid_disks: int = 0
    layout: int = 0
    degraded: int = 0
    sync_action: str = ""
    sync_percent: int | None = None
    component_bytes: int = 0
    slots: Mapping[str, str] = field(default_factory=dict)


def read_md(folder: Path) -> MdArray:
    """The array with the directory ``folder`` (``…/md``)."""
    if not folder.is_dir():
        return MdArray()
    done, _, total = read_text(folder / "sync_completed").partition(" / ")
    share = int(done) * 100 // int(total) if done.isdecimal() and whole_number(total) else None
    return MdArray(
        state=read_text(folder / "array_state"),
        level=read_text(folder / "level"),
        chunk_bytes=whole_number(read_text(folder / "chunk_size")),
        raid_disks=whole_number(read_text(folder / "raid_disks")),
        layout=whole_number(read_text(folder / "layout")),
        degraded=whole_number(read_text(folder / "degraded")),
        sync_action=read_text(folder / "sync_action"),
        sync_percent=share,
        # In KiB there.
        component_bytes=whole_number(read_text(folder / "component_size")) * 1024,
        slots={
            one.name.removeprefix("dev-"): read_text(one / "slot") for one in folder.glob("dev-*")
        },
    )


def whole_number(text: str) -> int:
    """``262144``, but also 0 for ``none`` and, while an array is reshaped, 4 for ``4 (3)``."""
    word = text.partition(" ")[0]
    return int(word) if word.isascii() and word.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """The block devices of one machine."""

    sys_root: Path = Path("/sys")
    proc_root: Path = Path("/proc")
    dev_root: Path = Path("/dev")

    @property
    def root(self) -> Path:
        """The directory that /etc, /run and /var are in: beside /dev."""
        return self.dev_root.parent

    def has_process(self, pid: object) -> bool:
        """Whether ``pid``, as a file says it, is a process that is there."""
        return isinstance(pid, int) and pid > 0 and (self.proc_root / str(pid)).exists()

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

    def mapped(self) -> Iterator[str]:
        """Kernel names of device-mapper devices."""
        for folder in sorted((self.sys_root / "block").glob("dm-*/dm")):
            yield folder.parent.name

    def md(self, name: str) -> MdArray:
        return read_md(self._folder(name) / "md")

    def _folder(self, name: str) -> Path:
        return self.sys_root / "block" / name

    def attribute(self, name: str, attribute: str) -> str:
        return read_text(f"{self.sys_root}/block/{name}/{attribute}")

    def udev(self, name: str) -> dict[str, str]:
        """The udev database of a block device, as udev keeps it (``E:KEY=VALUE``, ``S:link``).

        ``DEVLINKS`` is put together from the links, as libudev does.
        """
        number = self.attribute(name, "dev")
        text = read_text(self.root / "run/udev/data" / f"b{number}") if number else ""
        facts, links = {}, []
        # Not splitlines(): a label may hold U+2028 and other line ends of Unicode, and what follows
        # them is no fact of udev's.
        for line in text.split("\n"):
            kind, _, rest = line.partition(":")
            key, separator, value = rest.partition("=")
            if kind == "E" and separator:
                facts[key] = value
            elif kind == "S":
                links.append(f"/dev/{rest}")
        if links:
            facts["DEVLINKS"] = " ".join(links)
        return facts

    def size_bytes(self, name: str) -> int:
        """Size in bytes; sysfs counts 512-byte sectors whatever the device's own are."""
        text = self.attribute(name, "size")
        return int(text) * _SECTOR_BYTES if text.isdecimal() else 0

    def wwid(self, name: str) -> str:
        """What the device says it is, besides its serial: each name once, empty if it has none.

        NVMe's UUID, NGUID and EUI-64 (drivers/nvme/host/sysfs.c); ``wwid`` is the best of them, and
        made up of vendor, serial and model where there is none. SCSI's page 0x83 has one.
        """
        names = [
            self.attribute(name, attribute)
            for attribute in ("wwid", "device/wwid", "uuid", "nguid", "eui")
        ]
        return " ".join(dict.fromkeys(one for one in names if one))

    def writes(self, name: str) -> str:
        """What changes whenever this kernel writes to the disk, or has not had it all the time.

        The sectors written and discarded since it appeared (Documentation/block/stat.rst), and a
        number that each appearance of a disk gets but once (``diskseq``).
        """
        counted = self.attribute(name, "stat").split()
        return " ".join([self.attribute(name, "diskseq"), *counted[6:7], *counted[13:14]])

    def partitions(self, name: str) -> tuple[str, ...]:
        folder = self._folder(name)
        return tuple(sorted(found.parent.name for found in folder.glob("*/partition")))

    def holders(self, name: str) -> tuple[str, ...]:
        return tuple(sorted(found.name for found in self._folder(name).glob("holders/*")))

    def holder_note(self, name: str) -> str:
        """What a holder is, as device-mapper, md or bcache say it: ``LUKS 'secret'``."""
        folder = self._folder(name)
        if (folder / "md").is_dir():
            return f"md array, {read_text(folder / 'md/level') or 'not running'}"
        if (folder / "bcache").exists() or name.startswith("bcache"):
            return "bcache"
        if not (folder / "dm").is_dir():
            return ""
        made_by = read_text(folder / "dm/uuid")
        what = next((what for prefix, what in _DM_KINDS if made_by.startswith(prefix)), "")
        return f"{what or 'device-mapper'} '{read_text(folder / 'dm/name')}'"

    def transport(self, name: str) -> str:
        """``nvme``, ``scsi``, ``virtio``, ``xen`` …: the bus of the device behind the disk."""
        if name.startswith("nvme"):
            return "nvme"
        bus = self._folder(name) / "device" / "subsystem"
        return bus.resolve().name if bus.exists() else ""

    def mounts(self) -> tuple[Mount, ...]:
        """The mounts as the first process has them, else our own.

        A unit with ``ProtectSystem=`` has copies of its own: read-only, or there twice.
        """
        found = parse_mountinfo(read_text(self.proc_root / "1/mountinfo"))
        return found or parse_mountinfo(read_text(self.proc_root / "self/mountinfo"))

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
        """The disks under what the machine runs from: /, /boot, /usr and others."""
        disks: set[str] = set()
        for mount in self.mounts():
            if mount.mountpoint in _SYSTEM_MOUNTS:
                for device in self.mount_devices(mount):
                    disks |= self.whole_disks(device)
        return disks

    def mount_devices(self, mount: Mount) -> set[str]:
        """``major:minor`` of everything that is under a mount.

        Btrfs shows a number that is no device's; its source is one of its devices, and
        sysfs has the others. (bcachefs lists them all, with colons between.)
        """
        devices = {mount.device}
        if mount.device.startswith("0:") and mount.source.startswith("/dev/"):
            numbers = {self.device_number(path) for path in mount.source.split(":")} - {""}
            devices |= numbers
            if mount.fstype == "btrfs":
                for pool in self.sys_root.glob("fs/btrfs/*/devices"):
                    members = {read_text(one / "dev") for one in pool.iterdir()} - {""}
                    if members & numbers:
                        devices |= members
        return devices

    def swap_disks(self) -> set[str]:
        """The disks under each swap device (a swap file is under a mount already)."""
        return set().union(
            *(self.whole_disks(self.device_number(path) or "-") for path in self.swaps())
        )

    def mounted(self) -> dict[str, list[Mount]]:
        """The mounts by the ``major:minor`` of each device under them."""
        found: dict[str, list[Mount]] = {}
        for mount in self.mounts():
            for device in self.mount_devices(mount):
                found.setdefault(device, []).append(mount)
        return found

    def direct_mounts(self, name: str, mounted: dict[str, list[Mount]]) -> list[Mount]:
        """The mounts (of :meth:`mounted`) of the device itself or of one of its partitions."""
        folder = self._folder(name)
        numbers = [read_text(folder / "dev")]
        numbers += [read_text(folder / part / "dev") for part in self.partitions(name)]
        return [mount for number in numbers for mount in mounted.get(number, [])]

    def scsi_address(self, name: str) -> tuple[str, tuple[str, ...]]:
        """The LUN, and the ``device_id`` of each device above (those on VMBus have one), nearest
        first; empty where it is not attached.
        """
        device = self._folder(name) / "device"
        if not device.exists():
            return "", ()
        here = device.resolve()
        ids = (read_text(folder / "device_id").strip("{}") for folder in here.parents)
        return here.name.rpartition(":")[2], tuple(one for one in ids if one)

    def mount_at(self, mountpoint: str) -> Mount | None:
        """What is on top at ``mountpoint``, or ``None`` if nothing is mounted there."""
        found = [mount for mount in self.mounts() if mount.mountpoint == mountpoint]
        return found[-1] if found else None


def chosen(text: str) -> str:
    """The value in a setting's file; of a choice (``[none] mq-deadline``) the chosen one."""
    chosen = _CHOSEN.search(text)
    return chosen.group(1) if chosen else text.strip()
