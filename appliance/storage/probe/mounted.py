"""What a mounted filesystem says of itself, where its superblock on the disk is behind.

XFS changes its superblock in the log first: after ``xfs_growfs`` the sector on the disk shows
the old size until the log is written back, perhaps only at unmount. ext4 changes it in the block
device's own cache, which is what reading the device gives.
"""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import replace

from appliance.model import Filesystem

# struct xfs_fsop_geom_v1 and XFS_IOC_FSGEOMETRY_V1, fs/xfs/libxfs/xfs_fs.h: eight 32-bit
# words (the first is the block size), then datablocks; 112 bytes with padding; _IOR('X', 100).
_GEOMETRY_BYTES = 112
_XFS_IOC_FSGEOMETRY_V1 = 0x80705864


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
