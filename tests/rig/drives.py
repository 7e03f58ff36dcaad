"""Emulated instance storage: what lies on the drives, before a boot and after it.

The guest's kernel turns files into drives (tests/rig/buses.py). The files lie on an ext4 *carrier*
disk that the host writes and reads without mounting anything: ``mkfs.ext4 -d`` and ``debugfs``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.buses import Bus, quoted
from tests.rig.errors import RigError

CARRIER_LABEL = "rig-carrier"
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Drive:
    """One emulated drive; ``holds`` is a file with its content, blank if ``None``.

    ``serial`` has at most 20 bytes, as NVMe has it, and may be any text. ``kind`` is
    "instance-store" or "network".
    """

    serial: str
    size_bytes: int = GIB
    holds: Path | None = None
    kind: str = "instance-store"


def blank_drives(count: int = 4, prefix: str = "AWS", size_bytes: int = GIB) -> tuple[Drive, ...]:
    """``count`` blank drives with serials as Amazon's look: three letters, 17 hex digits."""
    serials = [
        prefix + hashlib.sha256(f"{prefix}{number}".encode()).hexdigest()[:17].upper()
        for number in range(count)
    ]
    return tuple(Drive(serial, size_bytes) for serial in serials)


def ext4_content(target: Path, size_bytes: int, files: dict[str, bytes]) -> Path:
    """Make ``target`` an ext4 file system with ``files`` on it: a disk with foreign data."""
    source = target.with_suffix(".tree")
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name, content in files.items():
        (source / name).write_bytes(content)
    _make_ext4(target, size_bytes, source, "foreign")
    shutil.rmtree(source)
    return target


def cloud_seed(target: Path, meta_data: str, user_data: str) -> Path:
    """Make ``target`` a disk with metadata as cloud-init's NoCloud source reads it."""
    folder = target.with_suffix(".tree")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta-data").write_text(meta_data)
    (folder / "user-data").write_text(user_data)
    target.unlink(missing_ok=True)
    _checked(["mkfs.vfat", "-n", "CIDATA", "-C", str(target), "1440"])
    _checked(["mcopy", "-i", str(target), *map(str, sorted(folder.iterdir())), "::"])
    shutil.rmtree(folder)
    return target


class Carrier:
    """The disk that carries the drives' files; lives as long as the machine does. What ``disk``
    already is, it stays.
    """

    def __init__(self, disk: Path, drives: Sequence[Drive], bus: Bus) -> None:
        self.disk = disk
        self.bus = bus
        self.drives = tuple(drives)
        if not disk.exists():
            self.replace(drives)

    def replace(self, drives: Sequence[Drive]) -> None:
        """Other drives, as after stop/start on another host. The old content is lost."""
        folder = self.disk.with_suffix(".tree")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number, drive in enumerate(drives):
            file = folder / _file_name(number)
            if drive.holds is not None:
                # Hard-linked or copied with its holes: a gigabyte of zeros is not written.
                subprocess.run(["cp", "--sparse=always", str(drive.holds), str(file)], check=True)
            with file.open("ab") as handle:
                handle.truncate(drive.size_bytes)
        total = sum(drive.size_bytes for drive in drives)
        _make_ext4(self.disk, total + total // 16 + 256 * (1 << 20), folder, CARRIER_LABEL)
        shutil.rmtree(folder)
        self.drives = tuple(drives)

    def read_back(self, number: int, target: Path) -> Path:
        """Copy the content of drive ``number`` out. The guest must be off."""
        _debugfs(self.disk, f"dump /{_file_name(number)} {target}")
        return target

    def sha256(self, number: int) -> str:
        """The hash of all bytes of drive ``number``. The guest must be off."""
        copy = self.read_back(number, self.disk.with_suffix(f".{number}"))
        try:
            return file_sha256(copy)
        finally:
            copy.unlink()

    def unmounted_cleanly(self) -> bool:
        """Whether the guest unmounted the carrier: only possible when nothing used it."""
        header = subprocess.run(
            ["dumpe2fs", "-h", str(self.disk)], capture_output=True, text=True, check=True
        ).stdout
        fields = dict(line.split(":", 1) for line in header.splitlines() if ":" in line)
        clean = fields["Filesystem state"].strip() == "clean"
        return clean and "needs_recovery" not in fields["Filesystem features"]

    def setup_script(self) -> str:
        """The shell script that makes drives of the files; root runs it in the guest."""
        lines = [
            f"mkdir -p /run/{CARRIER_LABEL}",
            f"mount -t ext4 /dev/disk/by-label/{CARRIER_LABEL} /run/{CARRIER_LABEL}",
            *self.bus.begin(),
        ]
        for number, drive in enumerate(self.drives):
            lines += self.bus.attach(number, drive.kind, drive.serial, _place(number))
        return _script(lines)

    def enlarge_script(self, number: int, size_bytes: int) -> str:
        """Makes drive ``number`` bigger while the guest runs, as a modified volume becomes."""
        return _script(
            [f"truncate -s {size_bytes} {_place(number)}", *self.bus.enlarged(number, size_bytes)]
        )

    def pull_script(self, number: int) -> str:
        """Takes drive ``number`` away while the guest runs, whatever uses it."""
        return _script(self.bus.detach(number))

    def swap_script(self, number: int, serial: str) -> str:
        """Takes drive ``number`` away while the guest runs; a blank one comes in its place."""
        return _script(
            [
                *self.bus.detach(number),
                f"size=$(stat -c %s {_place(number)})",
                f"rm {_place(number)}",
                f"truncate -s $size {_place(number)}",
                *self.bus.attach(number, "instance-store", serial, _place(number)),
                "udevadm settle",
            ]
        )

    def add_script(self, number: int, serial: str, size_bytes: int, label: str) -> str:
        """Puts one more drive in while the guest runs, with a foreign ext4 on it."""
        return _script(
            [
                f"truncate -s {size_bytes} {_place(number)}",
                f"mkfs.ext4 -q -F -L {quoted(label)} {_place(number)}",
                *self.bus.attach(number, "instance-store", serial, _place(number)),
                "udevadm settle",
            ]
        )

    def teardown_script(self) -> str:
        """Takes the drives away again at shutdown; fails while an array still uses them."""
        return "\n".join(["set -u", *self.bus.end(), f"umount /run/{CARRIER_LABEL}", ""])


def file_sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _file_name(number: int) -> str:
    return f"drive{number}.img"


def _place(number: int) -> str:
    """Where the guest has the file of a drive."""
    return f"/run/{CARRIER_LABEL}/{_file_name(number)}"


def _script(lines: Sequence[str]) -> str:
    return "\n".join(["set -eu", *lines, ""])


def _make_ext4(target: Path, size_bytes: int, source: Path, label: str) -> None:
    target.unlink(missing_ok=True)
    argv = ["mkfs.ext4", "-q", "-F", "-L", label, "-E", "lazy_itable_init=1", "-d", str(source)]
    _checked([*argv, str(target), f"{size_bytes // 1024}k"])


def _debugfs(disk: Path, request: str) -> None:
    _checked(["debugfs", "-R", request, str(disk)])


def _checked(argv: Sequence[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RigError(f"{argv[0]} failed: {done.stderr.strip()}", "is the disk full?")
