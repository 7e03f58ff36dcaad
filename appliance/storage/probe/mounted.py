"""What a mounted filesystem says of itself: how large and how full it is.

It may never answer, on a dead disk, so it is asked in a process of its own.

Where the superblock on the disk is behind, it knows better: XFS changes its superblock in the log
first, so after ``xfs_growfs`` the sector on the disk shows the old size until the log is written
back, perhaps only at unmount. ext4 changes it in the block device's own cache, which is what is
read of the device.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.model.disks import Filesystem
from appliance.storage.formats import filesystem
from appliance.storage.formats.filesystem_kind import MountedSize
from appliance.system import child

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
    """``found`` with the size that the kernel has for it, if it is mounted there and says more
    than its superblock.
    """
    kind = None if found is None else filesystem.KINDS.get(found.kind)
    if found is None or kind is None or kind.mounted_size is None or not mountpoint:
        return found
    size_bytes = _size(mountpoint, kind.mounted_size)
    return found if size_bytes is None else replace(found, size_bytes=size_bytes)


def _size(mountpoint: str, asked: MountedSize) -> int | None:
    try:
        descriptor = os.open(mountpoint, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            answer = fcntl.ioctl(descriptor, asked.request, bytes(asked.answer_bytes))
        finally:
            os.close(descriptor)
    except OSError:  # something else is mounted on top by now
        return None
    return asked.size_bytes(answer)
