"""What an interrupted mkfs of ours leaves, told from everything else. Pure.

The filesystem's UUID is in the mark before mkfs begins, and XFS repeats it in every block of
metadata. So a block that bears it was written by that mkfs, and one without it was not, wherever
it lies. ext4 repeats it in its superblocks only; what the rest is, mkfs.ext4 shows by writing it
to an empty file of the same size.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from uuid import UUID

from appliance.storage.formats import ext4

_SECTOR_BYTES = 512
_ZERO_SECTOR = bytes(_SECTOR_BYTES)
# struct xlog_rec_header (fs/xfs/libxfs/xfs_log_format.h), big-endian.
_LOG_MAGIC = struct.pack(">I", 0xFEEDBABE)
# mkfs writes the log as one record of one operation, padded to the stripe unit with sectors that
# are empty but for the cycle, 1 (libxfs_log_clear in xfsprogs' libxfs/rdwr.c).
_FIRST_CYCLE = struct.pack(">I", 1)
_PADDING = _FIRST_CYCLE.ljust(_SECTOR_BYTES, b"\0")
# The operation: 8 bytes of XFS_LOG (0xAA) that end a mount (0x20), of type "Un". Behind the
# headers of a record that is aligned to a stripe it has a block of its own.
_UNMOUNTED = (_FIRST_CYCLE + bytes.fromhex("00000008aa2000006e55")).ljust(_SECTOR_BYTES, b"\0")
_OF_THE_LOG = frozenset({_PADDING, _UNMOUNTED, _ZERO_SECTOR})

_FOLDER_TAIL = struct.pack("<IHBB", 0, 12, 0, 0xDE)
_DIGEST_BYTES = 16
_INODES, _FOLDER = b"inodes", b"folder"

# Whether a block that is not zero is what our own making writes: (offset in bytes, block).
Accepts = Callable[[int, bytes], bool]


def of_mkfs(uuid: str, *, blank: bool) -> Accepts:
    """What ``mkfs`` writes for the filesystem with this UUID (32 digits) and bears it.

    Not a superblock that was mounted since, nor any later record of the log. On a disk that was
    ``blank`` each sector counts for itself; else what was there before fills up the block.
    """
    wanted = UUID(uuid).bytes

    def accepts(_: int, block: bytes) -> bool:
        if mounted(block):
            return False
        if not blank and wanted in block:
            return True
        rest = _without_ext4_superblock(block, wanted)
        sectors = (rest[at : at + _SECTOR_BYTES] for at in range(0, len(rest), _SECTOR_BYTES))
        return all(sector in _OF_THE_LOG or wanted in sector for sector in sectors)

    return accepts


def _without_ext4_superblock(block: bytes, uuid: bytes) -> bytes:
    """It has two sectors, and the UUID in the first; backups of it are at the start of a block."""
    for at in (ext4.SUPERBLOCK_OFFSET_BYTES, 0):
        if ext4.superblock_uuid(block[at:]) == uuid:
            end = at + ext4.SUPERBLOCK_BYTES
            return block[:at] + bytes(end - at) + block[end:]
    return block


def was_mounted(uuid: str, block: bytes) -> bool:
    """Whether ``block`` shows that the filesystem with this UUID was mounted."""
    return bool(uuid) and UUID(uuid).bytes in block and mounted(block)


def mounted(block: bytes) -> bool:
    """Whether ``block``, of one of our filesystems, shows that this was mounted: it begins with a
    record of an XFS log that is not the first, or is the start of an ext4 that counts mounts.
    """
    if block.startswith(_LOG_MAGIC):
        cycle, _, _, lsn = struct.unpack_from(">IIIQ", block, 4)
        (operations,) = struct.unpack_from(">I", block, 40)
        return (cycle, lsn, operations) != (1, 1 << 32, 1)
    return ext4.mounts(block) > 0


def expected(offset: int, block: bytes, inodes_at: int) -> bytes:
    """What tells a block that mkfs.ext4 writes at ``offset`` of the filesystem, for :func:`like`:
    its digest, or, where times or an earlier state may stand, what kind of block it is.

    ``inodes_at`` is where the inode table begins, with all that mke2fs makes in its first block.
    """
    if offset == inodes_at:
        return _INODES
    return _FOLDER if _is_folder(block) else _digest(block)


def like(blocks: Mapping[int, bytes]) -> Accepts:
    """What mkfs.ext4 writes: ``blocks`` are :func:`expected` by their offset on this disk."""

    def accepts(offset: int, block: bytes) -> bool:
        wanted = blocks.get(offset)
        if wanted == _INODES:
            return not any(block[ext4.FIRST_INODES_BYTES :])
        return _is_folder(block) if wanted == _FOLDER else wanted == _digest(block)

    return accepts


def _is_folder(block: bytes) -> bool:
    """Whether it ends as blocks of ext4's directories do (``struct ext4_dir_entry_tail``)."""
    return block[-12:-4] == _FOLDER_TAIL


def _digest(block: bytes) -> bytes:
    return hashlib.sha256(block).digest()[:_DIGEST_BYTES]
