"""Emulated instance storage: what lies on the drives, before a boot and after it.

The guest's kernel turns files into NVMe drives with the model string of the cloud (the
kernel's NVMe target, looped back). The files lie on an ext4 *carrier* disk that the host
writes and reads without mounting anything: ``mkfs.ext4 -d`` and ``debugfs``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.errors import RigError

MODEL = "Amazon EC2 NVMe Instance Storage"
EBS_MODEL = "Amazon Elastic Block Store"
CARRIER_LABEL = "rig-carrier"
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Drive:
    """One emulated drive; ``holds`` is a file with its content, blank if ``None``.

    ``serial`` has at most 20 bytes, as NVMe has it, and may be any text.
    """

    serial: str
    size_bytes: int = GIB
    holds: Path | None = None
    model: str = MODEL


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
    """The disk that carries the drives' files; lives as long as the machine does."""

    def __init__(self, disk: Path, drives: Sequence[Drive]) -> None:
        self.disk = disk
        self.drives: tuple[Drive, ...] = ()
        self.replace(drives)

    @classmethod
    def of(cls, disk: Path, drives: Sequence[Drive]) -> Carrier:
        """The carrier that ``disk`` already is, with ``drives`` on it."""
        carrier = cls.__new__(cls)
        carrier.disk, carrier.drives = disk, tuple(drives)
        return carrier

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
            "set -eu",
            "modprobe -a nvmet nvme-loop",
            f"mkdir -p /run/{CARRIER_LABEL}",
            f"mount -t ext4 /dev/disk/by-label/{CARRIER_LABEL} /run/{CARRIER_LABEL}",
            "c=/sys/kernel/config/nvmet",
            "mkdir -p $c/ports/1",
            "echo loop > $c/ports/1/addr_trtype",
        ]
        for number, drive in enumerate(self.drives):
            lines += _attached(number, drive.model, drive.serial)
        return "\n".join(lines) + "\n"

    @staticmethod
    def enlarge_script(number: int, size_bytes: int) -> str:
        """Makes drive ``number`` bigger while the guest runs, as a modified EBS volume becomes."""
        return "\n".join(
            [
                "set -eu",
                f"truncate -s {size_bytes} {_place(number)}",
                "n=/sys/kernel/config/nvmet/subsystems/" + f"ec2-{number}/namespaces/1",
                "echo 1 > $n/revalidate_size",
                "",
            ]
        )

    @staticmethod
    def swap_script(number: int, serial: str) -> str:
        """Takes drive ``number`` away while the guest runs; a blank one comes in its place."""
        subsystem = f"$c/subsystems/ec2-{number}"
        return "\n".join(
            [
                "set -eu",
                "c=/sys/kernel/config/nvmet",
                f"nvme disconnect -n ec2-{number}",
                f"rm $c/ports/1/subsystems/ec2-{number}",
                f"echo 0 > {subsystem}/namespaces/1/enable",
                f"size=$(stat -c %s {_place(number)})",
                f"rm {_place(number)}",
                f"truncate -s $size {_place(number)}",
                f"rmdir {subsystem}/namespaces/1 {subsystem}",
                *_attached(number, MODEL, serial),
                "udevadm settle",
                "",
            ]
        )

    @staticmethod
    def add_script(number: int, serial: str, size_bytes: int, label: str) -> str:
        """Puts one more drive in while the guest runs, with an ext4 of somebody's on it."""
        return "\n".join(
            [
                "set -eu",
                "c=/sys/kernel/config/nvmet",
                f"truncate -s {size_bytes} {_place(number)}",
                f"mkfs.ext4 -q -F -L {_quoted(label)} {_place(number)}",
                *_attached(number, MODEL, serial),
                "udevadm settle",
                "",
            ]
        )

    @staticmethod
    def teardown_script() -> str:
        """Takes the drives away again at shutdown; fails while an array still uses them."""
        return "\n".join(
            [
                "set -u",
                "nvme disconnect-all",
                "c=/sys/kernel/config/nvmet",
                "rm -f $c/ports/1/subsystems/*",
                "for n in $c/subsystems/ec2-*; do",
                "  echo 0 > $n/namespaces/1/enable",
                "done",
                f"umount /run/{CARRIER_LABEL}",
                "",
            ]
        )


def file_sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _file_name(number: int) -> str:
    return f"drive{number}.img"


def _place(number: int) -> str:
    """Where the guest has the file of a drive."""
    return f"/run/{CARRIER_LABEL}/{_file_name(number)}"


def _attached(number: int, model: str, serial: str) -> list[str]:
    """Shell lines that make the file of drive ``number`` an NVMe drive; ``$c`` is nvmet's place."""
    subsystem = f"$c/subsystems/ec2-{number}"
    return [
        f"mkdir {subsystem}",
        f"echo 1 > {subsystem}/attr_allow_any_host",
        f"printf %s {_quoted(model)} > {subsystem}/attr_model",
        f"printf %s {_quoted(serial)} > {subsystem}/attr_serial",
        f"mkdir {subsystem}/namespaces/1",
        f"printf %s {_place(number)} > {subsystem}/namespaces/1/device_path",
        f"echo 1 > {subsystem}/namespaces/1/enable",
        f"ln -s {subsystem} $c/ports/1/subsystems/",
        f"nvme connect -t loop -n ec2-{number}",
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


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
