"""The proof that a file is written in full, and where it lies on its device (FIEMAP)."""

from __future__ import annotations

import array
import errno
import fcntl
import struct
from dataclasses import dataclass

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


def decode(data: bytes) -> tuple[Extent, ...]:
    """The extents of a FIEMAP answer."""
    count = _HEADER.unpack_from(data)[3]
    return tuple(
        Extent(*_EXTENT.unpack_from(data, _HEADER.size + index * _EXTENT.size))
        for index in range(count)
    )


def problem(extents: tuple[Extent, ...] | None, size_bytes: int) -> str:
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


def of_file(descriptor: int) -> tuple[Extent, ...] | None:
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
        some = decode(request.tobytes())
        found += some
        if not some or some[-1].flags & _LAST:
            return tuple(found)
        start = some[-1].logical + some[-1].length
