"""A whole block device as the target of a run: held open, and written only if nothing is on it.

fio gets the device as ``/proc/PID/fd/N``: it is the very device that was looked at, whatever
its name leads to by then. Writing needs root, the disk's serial as the operator typed it, and
a disk on which nothing is; the reasons against it are those for which a disk is not claimed
(:mod:`appliance.storage.policy.exclusions`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.errors import OperatorError, Refused, UsageError
from appliance.model import advice
from appliance.model.disks import Disk
from appliance.storage.formats import serials
from appliance.storage.policy import exclusions
from appliance.storage.policy.layout import DEFAULT_LAYOUT
from appliance.storage.probe import blockdev, devices
from appliance.system.kernel import Kernel, read_text

# linux/fs.h: zero or more bytes from an offset are given up; what is read there then is the
# device's own affair.
_BLKDISCARD = 0x1277
_RANGE = struct.Struct("=QQ")
# The biggest piece a signal has to wait for.
_DISCARD_BYTES = 64 * 1024**3


@dataclass(frozen=True, slots=True)
class RawDevice:
    """A block device that is open. ``path`` is as the operator gave it, ``name`` the kernel's."""

    descriptor: int
    path: Path
    name: str
    size_bytes: int
    writable: bool

    @property
    def device_number(self) -> int:
        return os.fstat(self.descriptor).st_rdev

    @property
    def target(self) -> str:
        """What fio opens."""
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def discard(self) -> bool:
        """Give up everything on the device; whether it can do that."""
        try:
            for start in range(0, self.size_bytes, _DISCARD_BYTES):
                length = min(_DISCARD_BYTES, self.size_bytes - start)
                fcntl.ioctl(self.descriptor, _BLKDISCARD, _RANGE.pack(start, length))
        except OSError as error:
            if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL}:
                return False
            raise
        return True

    def looks_blank(self) -> bool:
        """Whether the places at which the boot unit looks for contents read as zero."""
        return blockdev.first_nonzero(self.target, self.size_bytes) is None


@contextlib.contextmanager
def open_to_read(path: Path) -> Iterator[RawDevice]:
    """``path`` for reading. :class:`UsageError` for what is no block device."""
    descriptor = _open(path, os.O_RDONLY)
    try:
        yield _described(descriptor, path, writable=False)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_to_overwrite(path: Path, serial: str) -> Iterator[RawDevice]:
    """``path`` for a run that destroys what is on it, held exclusively until the end.

    :class:`OperatorError` without root; :class:`Refused` unless it is a whole disk with this
    ``serial``, not of the running system, and it is blank and unused.
    """
    if os.geteuid() != 0:
        raise OperatorError(
            "only root can write to a device",
            "run it as root, with --db FILE in a directory of root's; or use --target",
        )
    if "INVOCATION_ID" in os.environ:
        # systemd.exec(5): set for everything that a unit or a timer starts.
        raise Refused(
            "a unit or timer never writes to a raw device", "run it by hand, in a shell as root"
        )
    looked = _open(path, os.O_RDONLY)
    try:
        name = _described(looked, path, writable=False).name
        _require(path, name, serial, held=False)
        with _held(looked, path) as device:
            # Once more: what came between the look and the hold is seen now, and nothing can
            # come after it.
            _require(path, name, serial, held=True)
            yield device
    finally:
        os.close(looked)


@contextlib.contextmanager
def _held(looked: int, path: Path) -> Iterator[RawDevice]:
    """The device again, writable and exclusively (open(2), O_EXCL): no mount, md or device-mapper
    can take it meanwhile; and locked, so that udev does not look at it (BLOCK_DEVICE_LOCKING).
    """
    try:
        descriptor = os.open(f"/proc/self/fd/{looked}", os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EBUSY:
            # Who has it open shows the device's own name, not that of a link to it.
            own = path.resolve()
            raise Refused(
                f"{path} is in use", f"lsblk {own}; as root: {exclusions.holders(str(own))}"
            ) from error
        raise _cannot_open(path, error) from error
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _described(descriptor, path, writable=True)
    finally:
        os.close(descriptor)


def _require(path: Path, name: str, serial: str, *, held: bool) -> None:
    """:class:`Refused` with the first reason against overwriting the disk ``name``; with
    ``held`` the disk is opened exclusively, and by us.
    """
    kernel = Kernel()
    if read_text(kernel.sys_root / "class/block" / name / "partition"):
        raise Refused(f"{path} is a partition", "only a whole disk is written: name the disk")
    seen = devices.Probe.of(kernel, True, DEFAULT_LAYOUT)
    (disk,) = devices.try_read([seen.disk(name)])
    disk = replace(
        disk,
        claimed_by=seen.claimed_by(name, disk),
        # A loop device has no serial: the file behind it says which one it is.
        serial=disk.serial or kernel.attribute(name, "loop/backing_file"),
        # It is we who hold it.
        busy=disk.busy and not held,
    )
    reason, hint = why_not(disk, serial)
    if reason:
        raise Refused(f"{path} is not written: it {reason}", hint)


def why_not(disk: Disk, serial: str) -> tuple[str, str]:
    """(what speaks against overwriting ``disk``, what can be done), both empty if nothing does.

    ``serial`` is what the operator typed.
    """
    if disk.holds_root:
        return "holds the running system", "give another disk; this one is never written"
    if not disk.serial:
        return (
            "has no serial that could be compared with the one that was typed",
            "only a disk can be written, not what is built of disks",
        )
    if serials.plain(disk.serial) != serials.plain(serial):
        return (
            "has another serial than the one that was typed",
            "see 'stripewright inventory', and give the serial of the disk whose contents may go",
        )
    # The serial was compared; as that of a loop device it is a path, which is no fault.
    plain = replace(disk, serial="") if disk.path.startswith("/dev/loop") else disk
    reason, hint = exclusions.find(plain, ours="", own_holders=())
    if "--erase" in hint:
        hint = f"if its contents are not wanted: blkdiscard --force {disk.path}, then try again"
    return reason, hint


def _open(path: Path, flags: int) -> int:
    try:
        # Non-blocking, so that a pipe in the place of a device cannot hold us up.
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_open(path, error) from error
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(
            f"{path} is not a block device", "give a device like /dev/nvme1n1, or use --target DIR"
        )
    return descriptor


def _described(descriptor: int, path: Path, *, writable: bool) -> RawDevice:
    number = os.fstat(descriptor).st_rdev
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    size_bytes = os.lseek(descriptor, 0, os.SEEK_END)
    if size_bytes == 0:
        raise Refused(f"{path} has size zero", "there is nothing to measure")
    return RawDevice(descriptor, path, link.resolve().name, size_bytes, writable)


def _cannot_open(path: Path, error: OSError) -> OperatorError:
    if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
        return UsageError(f"there is no device {path}", "see 'stripewright inventory'")
    hint = "see journalctl -k"
    if error.errno in {errno.EACCES, errno.EPERM}:
        hint = f"as root: {advice.READING_DISKS} stripewright bench run SUITE, with its options"
    return OperatorError(f"cannot open {path}: {os.strerror(error.errno or 0)}", hint)
