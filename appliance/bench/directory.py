"""The private directory and its byte budget.

A read of a hole or of an unwritten extent never reaches the disk and measures nothing;
files are therefore written in full first and their extents looked at (FIEMAP). Everything
stays in one directory that only this user may write, opened without following links and
from then on used by its descriptor, so that it cannot be swapped meanwhile.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import re
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance import text
from appliance.errors import OperatorError, Refused, UsageError
from appliance.paths import BENCH_DIR_NAME

MIB = 1024 * 1024
MIN_BUDGET_BYTES = 64 * MIB
MAX_BUDGET_BYTES = 16 * 1024 * MIB
BUDGET_OF_FREE = 0.05
# For a suite that says how large its files are, because it repeats a known experiment.
MAX_ASKED_BYTES = 64 * 1024 * MIB
ASKED_OF_FREE = 0.25
MIN_FREE_AFTER = 0.20
# How often a run that waits for its turn looks whether it has come.
_TURN_SECONDS = 1.0

_DATA_FILE = re.compile(r"data\.[0-9]{1,3}|probe")
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def file_size_bytes(
    *, free_bytes: int, total_bytes: int, file_count: int, asked_bytes: int = 0
) -> int:
    """How large each of ``file_count`` files may be, a multiple of 1 MiB.

    Together 5 % of the free space, at least 64 MiB and at most 16 GiB. Where the suite asks
    for files of ``asked_bytes``, these, as far as 64 GiB, a quarter of the free space and the
    space that must stay free allow. :class:`Refused` where less than 20 % of the filesystem
    would stay free.
    """
    budget = min(MAX_BUDGET_BYTES, max(MIN_BUDGET_BYTES, int(free_bytes * BUDGET_OF_FREE)))
    if asked_bytes:
        spare = free_bytes - int(total_bytes * MIN_FREE_AFTER)
        budget = max(budget, min(MAX_ASKED_BYTES, int(free_bytes * ASKED_OF_FREE), spare))
        budget = min(budget, asked_bytes * file_count)
    size = max(MIB, budget // file_count // MIB * MIB)
    if free_bytes - size * file_count < total_bytes * MIN_FREE_AFTER:
        raise Refused(
            f"not enough space in the target directory: {text.size(free_bytes)} of "
            f"{text.size(total_bytes)} are free, and 20 % must stay free beside the "
            f"{text.size(size * file_count)} of test files",
            "free some space there, or give another directory with --target",
        )
    return size


def absolute_target(target: Path | str) -> Path:
    """``target`` as it is kept with the run, independent of the working directory.

    :class:`UsageError` for nothing, and for bytes that are no UTF-8, which neither the
    history nor a terminal can show as they are.
    """
    if not str(target):
        raise UsageError(
            "the name of the target is empty", "name an existing directory, or a device"
        )
    try:
        path = Path(target).absolute()
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"target {str(target)!a} is not UTF-8", "give a directory with another name"
        ) from error
    except FileNotFoundError as error:
        raise UsageError(
            f"target {target} is in a working directory that was removed",
            "give the whole path of a directory with --target",
        ) from error
    return path


class PrivateDirectory:
    """The one directory in which a run may write; one run at a time holds it, and its fio, which
    shares the lock of ``descriptor``: a killed one may still be in a call that makes a file.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    @property
    def device_number(self) -> int:
        return os.fstat(self.descriptor).st_dev

    def size_for(self, file_count: int, asked_bytes: int = 0) -> int:
        """:func:`file_size_bytes` for the space that is there now."""
        usage = os.fstatvfs(self.descriptor)
        return file_size_bytes(
            free_bytes=usage.f_bavail * usage.f_frsize,
            total_bytes=usage.f_blocks * usage.f_frsize,
            file_count=file_count,
            asked_bytes=asked_bytes,
        )

    def require_direct_io(self) -> None:
        """:class:`OperatorError` if the filesystem cannot bypass the page cache."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.close(os.open("probe", flags | os.O_DIRECT, 0o600, dir_fd=self.descriptor))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise _cannot("write in", self.path, error) from error
            raise OperatorError(
                f"the filesystem of {self.path} does not do direct I/O, so that the page cache "
                "would be measured",
                "give a directory on XFS or ext4 with --target",
            ) from error

    def extents(self, name: str) -> tuple[Extent, ...] | None:
        """All extents of file ``name``, ``None`` where the filesystem has no FIEMAP."""
        with self._opened(name) as descriptor:
            return file_extents(descriptor)

    def unwritten(self, name: str) -> str:
        """What is wrong with the extents of file ``name`` in words; empty if all are written."""
        with self._opened(name) as descriptor:
            return extents_problem(file_extents(descriptor), os.fstat(descriptor).st_size)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=self.descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def clean(self) -> None:
        """Remove the files that a run makes, also those that a killed one left."""
        for name in os.listdir(self.descriptor):  # noqa: PTH208 - pathlib has no dir_fd
            if _DATA_FILE.fullmatch(name):
                try:
                    os.unlink(name, dir_fd=self.descriptor)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    raise OperatorError(
                        f"cannot remove {self.path / name}: {os.strerror(error.errno or 0)}",
                        "it stands where a test file goes: look at it, and move it away",
                    ) from error


@contextlib.contextmanager
def private_directory(target: Path, *, wait_seconds: float = 0.0) -> Iterator[PrivateDirectory]:
    """Open (and make) the private directory of ``target`` and hold it against other runs.

    Another run that holds it is waited for, at the most ``wait_seconds``.

    On the way out its files are removed, and the directory too if it was made here.
    Errors: :class:`UsageError` for a target that is no directory, :class:`Refused` where
    others may write or another run is busy.
    """
    path = target if target.name == BENCH_DIR_NAME else target / BENCH_DIR_NAME
    made = False
    target_descriptor = _open_directory(target)
    try:
        if path == target:
            descriptor = os.dup(target_descriptor)
        else:
            try:
                os.mkdir(BENCH_DIR_NAME, 0o700, dir_fd=target_descriptor)
                made = True
            except FileExistsError:
                pass
            except OSError as error:
                raise _cannot("write in", target, error) from error
            descriptor = _open_directory(path, BENCH_DIR_NAME, target_descriptor)
        try:
            _require_own(descriptor, path)
            _hold(descriptor, path, wait_seconds)
            private = PrivateDirectory(descriptor, path)
            private.clean()
            try:
                yield private
            finally:
                private.clean()
                if made:
                    with contextlib.suppress(OSError):
                        os.rmdir(BENCH_DIR_NAME, dir_fd=target_descriptor)
        finally:
            os.close(descriptor)
    finally:
        os.close(target_descriptor)


def _open_directory(path: Path, name: str = "", inside: int | None = None) -> int:
    try:
        return os.open(name or path, _OPEN_DIRECTORY, dir_fd=inside)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and path.is_symlink():
            raise UsageError(
                f"{path} is a symbolic link", "give the directory that it leads to with --target"
            ) from error
        if error.errno in {errno.ENOENT, errno.ENOTDIR}:
            what = "does not exist" if error.errno == errno.ENOENT else "is not a directory"
            raise UsageError(
                f"target {path} {what}", "give an existing directory with --target"
            ) from error
        raise _cannot("open", path, error) from error


def _require_own(descriptor: int, path: Path) -> None:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise Refused(
            f"{path} belongs to another user (uid {found.st_uid})",
            "run as that user (on the appliance: systemctl start stripewright-bench@smoke), "
            "or give another directory with --target",
        )
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise Refused(f"others may write in {path}", f"take that away: chmod go-w {path}")


def _hold(descriptor: int, path: Path, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while not _locked(descriptor):
        left = until - time.monotonic()
        if left <= 0:
            waited = f" after {wait_seconds / 60:.0f} min" if wait_seconds else ""
            raise Refused(
                f"another run is measuring in {path}{waited}",
                "wait for its end: stripewright status",
            )
        time.sleep(min(_TURN_SECONDS, left))
    try:
        same = os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        same = False
    if not same:
        # The run that held it before removed it at its end, between our open and our lock.
        raise Refused(f"{path} was removed by a run that just ended", "try again")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _cannot(what: str, path: Path, error: OSError) -> OperatorError:
    return OperatorError(
        f"cannot {what} {path}: {os.strerror(error.errno or 0)}",
        "give a directory that you may write with --target "
        "(on the appliance: systemctl start stripewright-bench@smoke)",
    )


# ----------------------------------------------------------------------------------------- extents


# linux/fiemap.h
_FS_IOC_FIEMAP = 0xC020660B
_FIEMAP_FLAG_SYNC = 0x1
_HEADER = struct.Struct("=QQIIII")
_EXTENT = struct.Struct("=QQQ16xI12x")
_EXTENTS_A_CALL = 512
_LAST = 0x1
_UNPROVEN = {
    0x2: "unknown",
    0x4: "delayed-allocation",
    0x8: "encoded",
    0x200: "inline",
    0x800: "unwritten",
    0x2000: "shared",
}


@dataclass(frozen=True, slots=True)
class Extent:
    """A part of a file, in bytes: its offset in the file, and on the filesystem's device."""

    logical: int
    physical: int
    length: int
    flags: int = 0


def decode_extents(data: bytes) -> tuple[Extent, ...]:
    """The extents of a FIEMAP answer."""
    count = _HEADER.unpack_from(data)[3]
    return tuple(
        Extent(*_EXTENT.unpack_from(data, _HEADER.size + index * _EXTENT.size))
        for index in range(count)
    )


def extents_problem(extents: tuple[Extent, ...] | None, size_bytes: int) -> str:
    """What keeps these extents from being ``size_bytes`` of written data; empty if nothing."""
    if extents is None:
        return "this filesystem does not tell which extents are written"
    reached = 0
    for extent in extents:
        if extent.logical > reached:
            return f"a hole of {extent.logical - reached} bytes at offset {reached}"
        for bit, word in _UNPROVEN.items():
            if extent.flags & bit:
                return f"an extent at offset {extent.logical} is {word}"
        reached = extent.logical + extent.length
    if reached < size_bytes:
        return f"a hole of {size_bytes - reached} bytes at offset {reached}"
    return ""


def file_extents(descriptor: int) -> tuple[Extent, ...] | None:
    """All extents of a file, ``None`` where the filesystem has no FIEMAP."""
    found: list[Extent] = []
    start = 0
    while True:
        request = array.array("B", bytes(_HEADER.size + _EXTENTS_A_CALL * _EXTENT.size))
        _HEADER.pack_into(
            request, 0, start, (1 << 64) - 1 - start, _FIEMAP_FLAG_SYNC, 0, _EXTENTS_A_CALL, 0
        )
        try:
            fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, request, True)
        except OSError as error:
            if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL}:
                return None
            raise
        some = decode_extents(request.tobytes())
        found += some
        if not some or some[-1].flags & _LAST:
            return tuple(found)
        start = some[-1].logical + some[-1].length
