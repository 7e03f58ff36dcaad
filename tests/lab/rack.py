"""The guest's disks: SCSI disks of any vendor, model, serial and size, backed by sparse files.

The kernel's own SCSI target (LIO) over its loopback fabric (tcm_loop): what is stored lies in a
file, so that it can be read around the disk, enlarged, pulled out and put back, given to
another disk, and kept over a power cut if the files are the host's.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.lab.shell import sh

MIB = 1024 * 1024
TARGET = Path("/sys/kernel/config/target")
_MODULES = ("configfs", "sd_mod", "target_core_file", "tcm_loop")
_DISCARD = {
    # By WRITE SAME: Linux 7.2's target says in a page of 44 bytes how much UNMAP may take, and its
    # sd wants 64. As many blocks at once as sd asks for then.
    True: (
        ("attrib/emulate_tpws", "1"),
        ("attrib/unmap_zeroes_data", "1"),
        ("attrib/max_write_same_len", str(1 << 16)),
    ),
    False: (),
}
_CHUNK = 256 * 1024
_ZERO = bytes(_CHUNK)
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Model:
    """What a kind of disk calls itself (appliance/data/disk_models.toml)."""

    vendor: str
    product: str


_Disk = TypeVar("_Disk", bound="DiskOfLab")

KINDS = {
    "local-ssd": Model("Google", "EphemeralDisk"),
    "network": Model("Google", "PersistentDisk"),
    # Some disk that no rule knows.
    "unknown": Model("ACME", "Disk 3000"),
}


def load() -> None:
    sh("modprobe", "-a", *_MODULES)
    if not (TARGET / "core").is_dir():
        sh("mount", "-t", "configfs", "none", "/sys/kernel/config")


class DiskOfLab:
    """One disk, in its slot or out of it."""

    def __init__(self, rack: Rack, name: str, number: int, serial: str, size_bytes: int) -> None:
        self.name, self.serial, self.size_bytes = name, serial, size_bytes
        self.discard = rack.discard
        self.file = rack.folder / f"{name}.disk"
        self._core = TARGET / "core/fileio_0" / name
        # The loopback fabric makes a SCSI host of each address.
        self._port = TARGET / f"loopback/naa.60014050000000{number:02x}/tpgt_1"
        self._plugged = False

    @property
    def plugged(self) -> bool:
        return self._plugged

    @property
    def path(self) -> str:
        """The kernel's node of the disk now, ``/dev/sdX``."""
        folder = self._scsi_device() / "block"
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, StopIteration):
                return f"/dev/{next(folder.iterdir()).name}"
            time.sleep(0.01)
        raise TimeoutError(f"disk {self.name} got no node")

    def _scsi_device(self) -> Path:
        """The device behind the port: its address is ``HOST:0:1:0``, tpgt_1 being target 1."""
        adapter = (self._port / "address").read_text().strip().split(":")[0]
        return Path(f"/sys/class/scsi_device/{adapter}:0:1:0/device")

    def make(self, model: Model) -> None:
        with self.file.open("ab") as file:
            file.truncate(self.size_bytes)
        self._core.mkdir(parents=True)
        self._write("control", self._backing())
        for key, value in (
            ("wwn/vendor_id", model.vendor),
            ("wwn/product_id", model.product),
            ("wwn/vpd_unit_serial", self.serial),
            ("enable", "1"),
            *_DISCARD[self.discard],
            # In sectors. The default, 8 MiB, would be LVM's and XFS's alignment.
            ("attrib/optimal_sectors", "128"),
        ):
            self._write(key, value)

    def _backing(self) -> str:
        # Buffered: what is not flushed is lost when the guest dies, as in a disk's own cache.
        return f"fd_dev_name={self.file},fd_dev_size={self.size_bytes},fd_buffered_io=1"

    def _write(self, key: str, value: str) -> None:
        (self._core / key).write_text(value)

    def plug(self) -> None:
        (self._port / "lun/lun_0").mkdir(parents=True, exist_ok=True)
        nexus = self._port / "nexus"
        try:
            nexus.read_text()
        except OSError:
            nexus.write_text(self._port.parent.name)
        (self._port / "lun/lun_0/disk").symlink_to(self._core)
        self._plugged = True

    def pull(self) -> None:
        """Take the disk away from the kernel, also under somebody's feet; what it holds stays."""
        if self._plugged:
            self.flush()
            (self._port / "lun/lun_0/disk").unlink()
            self._plugged = False

    def yank(self) -> None:
        """The same without a flush: I/O in flight fails, and so does all that comes after it."""
        (self._scsi_device() / "delete").write_text("1")
        (self._port / "lun/lun_0/disk").unlink()
        self._plugged = False

    def flush(self) -> None:
        """Have what the guest has written to the disk reach its file."""
        if not self._plugged:
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def blank(self) -> None:
        """Clear every byte, as a provider does."""
        self.flush()
        os.truncate(self.file, 0)
        os.truncate(self.file, self.size_bytes)
        self.forget_cache()

    def forget_cache(self) -> None:
        """Drop what the kernel remembers of the disk, after its file was changed."""
        if self._plugged:
            sh("blockdev", "--flushbufs", self.path)

    def enlarge(self, size_bytes: int) -> None:
        """As a provider enlarges a volume: at once, also while it is mounted."""
        os.truncate(self.file, size_bytes)
        self.size_bytes = size_bytes
        self._write("control", f"fd_dev_size={size_bytes}")
        if self._plugged:
            (self._scsi_device() / "rescan").write_text("1")

    def contents(self) -> str:
        """SHA-256 over every byte that is not zero, with its place, and the size.

        Complete: chunks that are left out are zero, every other one is hashed with its offset.
        """
        self.flush()
        digest = hashlib.sha256(str(self.size_bytes).encode())
        # One buffer for all of it: new memory costs a guest more than what is read.
        buffer = bytearray(_CHUNK)
        with self.file.open("rb", buffering=0) as file, memoryview(buffer) as view:
            for start, end in _extents(file.fileno(), self.size_bytes):
                first = start // _CHUNK * _CHUNK
                for offset in range(first, end, _CHUNK):
                    read = os.preadv(file.fileno(), [view], offset)
                    if not _ZERO.startswith(view[:read]):
                        digest.update(offset.to_bytes(8, "little"))
                        digest.update(view[:read])
        return digest.hexdigest()

    def remove(self, *, keep_file: bool = False) -> None:
        self.pull()
        for folder in (self._port / "lun/lun_0", self._port, self._port.parent, self._core):
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()
        if not keep_file:
            self.file.unlink(missing_ok=True)


def _extents(descriptor: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """The parts of a sparse file that hold data, none touching the same chunk as another."""
    offset = 0
    while offset < size_bytes:
        try:
            start = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        start = max(start, offset)
        end = (end + _CHUNK - 1) // _CHUNK * _CHUNK
        if start < end:
            yield start, end
        offset = end


class SlowDisk(DiskOfLab):
    """A disk that takes its time: device-mapper's delay lies between the disk and its file."""

    def __init__(self, rack: Rack, name: str, number: int, serial: str, size_bytes: int) -> None:
        super().__init__(rack, name, number, serial, size_bytes)
        self._core = TARGET / "core/iblock_0" / name
        self._below = ""

    def _backing(self) -> str:
        sh("modprobe", "-a", "loop", "dm-delay", "target_core_iblock")
        self._below = sh("losetup", "--find", "--show", str(self.file)).strip()
        sh("dmsetup", "create", f"slow-{self.name}", "--table", self._table(0))
        return f"udev_path=/dev/mapper/slow-{self.name}"

    def _table(self, delay_ms: int) -> str:
        return f"0 {self.size_bytes // 512} delay {self._below} 0 {delay_ms}"

    def delay(self, milliseconds: int) -> None:
        """How long each I/O waits at least; the guest's clock has ticks of 10 ms."""
        name = f"slow-{self.name}"
        sh("dmsetup", "suspend", name)
        sh("dmsetup", "load", name, "--table", self._table(milliseconds))
        sh("dmsetup", "resume", name)

    def remove(self, *, keep_file: bool = False) -> None:
        super().remove(keep_file=keep_file)
        sh("dmsetup", "remove", "--retry", f"slow-{self.name}")
        sh("losetup", "--detach", self._below)


class Rack:
    """The disks of one guest, by name."""

    of = DiskOfLab

    def __init__(self, folder: Path, *, discard: bool = True) -> None:
        self.folder = folder
        # Not where the files are the host's (hostfs makes no holes), or where writes are recorded.
        self.discard = discard
        self.disks: dict[str, DiskOfLab] = {}

    def add(
        self,
        name: str,
        size_bytes: int,
        *,
        kind: str = "local-ssd",
        serial: str = "",
        discard: bool = True,
    ) -> DiskOfLab:
        """A disk that is there and not plugged; what its file held before is on it."""
        return self._made(self.of, name, size_bytes, kind, serial, discard=discard)

    def add_slow(self, name: str, size_bytes: int) -> SlowDisk:
        """A local SSD that can be made slow."""
        return self._made(SlowDisk, name, size_bytes)

    def _made(
        self,
        of: type[_Disk],
        name: str,
        size_bytes: int,
        kind: str = "local-ssd",
        serial: str = "",
        *,
        discard: bool = True,
    ) -> _Disk:
        number = len(self.disks) + 1
        disk = of(self, name, number, serial or f"LAB{number:05d}", size_bytes)
        disk.discard &= discard
        self.folder.mkdir(parents=True, exist_ok=True)
        disk.make(KINDS[kind])
        self.disks[name] = disk
        return disk

    def settle(self) -> None:
        """Wait until the kernel has found every plugged disk, and udev has told of it."""
        for disk in self.disks.values():
            if disk.plugged:
                _ = disk.path
        sh("udevadm", "settle")

    def contents(self) -> dict[str, str]:
        return {name: disk.contents() for name, disk in self.disks.items()}

    def clear(self, *, keep_files: bool = False) -> None:
        for disk in self.disks.values():
            disk.remove(keep_file=keep_files)
        self.disks.clear()
