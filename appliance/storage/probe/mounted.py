"""What a mounted filesystem says of itself: how large and how full it is.

It may never answer, on a dead disk, so it is asked in a process of its own.

Where the superblock on the disk is behind, it knows better: XFS changes its superblock in the log
first. After ``xfs_growfs`` the sector on the disk shows the old size until the log is written back,
perhaps only at unmount. ext4 changes it in the block device's own cache, which is what reading the
device gives.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.model import Filesystem
from appliance.system import child

# struct xfs_fsop_geom_v1 and XFS_IOC_FSGEOMETRY_V1, fs/xfs/libxfs/xfs_fs.h: eight 32-bit
# words (the first is the block size), then datablocks; 112 bytes with padding; _IOR('X', 100).
_GEOMETRY_BYTES = 112
_XFS_IOC_FSGEOMETRY_V1 = 0x80705864
# A filesystem that answers does it at once; one on a dead disk, never.
ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What statvfs(3) says: ``free_bytes`` is what is left for those who are not root."""

    size_bytes: int
    free_bytes: int


def usages(mountpoints: Sequence[str]) -> dict[str, Usage]:
    """Of each filesystem that answers."""
    try:
        found = child.each(mountpoints, _usage, timeout_seconds=ANSWER_SECONDS)
    except child.NotAsked:
        return {}
    return {mount: Usage(*answer) for mount, answer in found.items() if answer is not None}


def _usage(mountpoint: str) -> tuple[int, int] | None:
    try:
        usage = os.statvfs(mountpoint)
    except OSError:
        return None
    return usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize


def brought_up_to_date(found: Filesystem | None, mountpoint: str) -> Filesystem | None:
    """``found`` with the size that the kernel has for it, if it is an XFS mounted there."""
    if found is None or found.kind != "xfs" or not mountpoint:
        return found
    size_bytes = _xfs_size(mountpoint)
    return found if size_bytes is None else replace(found, size_bytes=size_bytes)


def _xfs_size(mountpoint: str) -> int | None:
    try:
        descriptor = os.open(mountpoint, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            answer = fcntl.ioctl(descriptor, _XFS_IOC_FSGEOMETRY_V1, bytes(_GEOMETRY_BYTES))
        finally:
            os.close(descriptor)
    except OSError:  # something else is mounted on top by now
        return None
    block_bytes, blocks = struct.unpack_from("<I28xQ", answer)
    return int(block_bytes * blocks)
