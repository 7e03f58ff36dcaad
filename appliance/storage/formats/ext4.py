"""ext4: what mkfs.ext4 and resize2fs are told, the superblock, ``dumpe2fs -h``. Pure.

The superblock is ``struct ext4_super_block`` (fs/ext4/ext4.h, little-endian), 1024 bytes into
the filesystem. Options are those of mke2fs(8) and mke2fs.conf(5) 1.47.
"""

from __future__ import annotations

import re
import struct
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model import Ext4Options, Filesystem

BLOCK_BYTES = 4096
# mke2fs makes up to twelve inodes (EXT4_GOOD_OLD_FIRST_INO is 11, one more for orphans), each of
# 256 bytes at the most, as the one block that they are in is looked at.
FIRST_INODES_BYTES = 12 * 256

SUPERBLOCK_OFFSET_BYTES = 1024
SUPERBLOCK_BYTES = 1024
_MAGIC = 0xEF53
_HAS_JOURNAL = 0x4
_RECOVER = 0x4
_JOURNAL_DEVICE = 0x8
_EXTENTS = 0x40
_64BIT = 0x80
_FIELDS = ("Block count", "Block size", "RAID stride", "RAID stripe width")


def mkfs_argv(
    label: str,
    device: str,
    options: Ext4Options,
    *,
    alignment: tuple[int, int] | None,
    size_bytes: int | None,
    uuid: str,
    force: bool,
) -> tuple[str, ...]:
    """``mkfs.ext4``; ``alignment`` is (sunit, members that hold data), ``None`` for a plain disk.

    Inode tables and journal are written now. By default the kernel zeroes them for hours
    after the first mount: writes of nobody's, in the middle of every measurement of that
    time. ``nodiscard``: as for XFS. Unlike mkfs.xfs, mkfs.ext4 does **not** refuse a
    signature where it has no terminal to ask on: the caller has to have looked. ``-F`` is
    for its other doubts. A plain disk's stride is said to be 0: some report an optimal I/O
    size, of which mke2fs would make one.
    """
    sunit, data_members = alignment or (0, 0)
    stride = sunit // BLOCK_BYTES
    extended = (
        "nodiscard",
        "lazy_itable_init=0",
        "lazy_journal_init=0",
        f"stride={stride}",
        f"stripe_width={stride * data_members}",
    )
    reserved = options.reserved_percent
    journal = options.journal_size_bytes
    return (
        "mkfs.ext4",
        *(("-F",) if force else ()),
        "-b",
        str(BLOCK_BYTES),
        "-L",
        label,
        *(("-U", uuid) if uuid else ()),
        "-E",
        ",".join(extended),
        *(("-i", str(options.bytes_per_inode)) if options.bytes_per_inode else ()),
        *(("-m", str(reserved)) if reserved is not None else ()),
        *(("-J", f"size={journal // 2**20}") if journal else ()),
        device,
        *((str(size_bytes // BLOCK_BYTES),) if size_bytes is not None else ()),
    )


def grow_argv(device: str, size_bytes: int | None) -> tuple[str, ...]:
    """Grow the mounted filesystem over its device, or up to ``size_bytes`` of it."""
    size = () if size_bytes is None else (str(size_bytes // BLOCK_BYTES),)
    return ("resize2fs", device, *size)


def info_argv(device: str) -> tuple[str, ...]:
    return ("dumpe2fs", "-h", device)


def parse_superblock(start: bytes) -> Filesystem | None:
    """The superblock in the first 2 KiB of an ext2, ext3 or ext4, or ``None``.

    mke2fs writes it last, so there is none where it was interrupted.
    """
    block = start[SUPERBLOCK_OFFSET_BYTES : SUPERBLOCK_OFFSET_BYTES + SUPERBLOCK_BYTES]
    if len(block) < SUPERBLOCK_BYTES or block[0x38:0x3A] != _MAGIC.to_bytes(2, "little"):
        return None
    (low,) = struct.unpack_from("<I", block, 0x4)
    (log_block,) = struct.unpack_from("<I", block, 0x18)
    compat, incompat = struct.unpack_from("<II", block, 0x5C)
    # The format knows 1 KiB to 64 KiB.
    if log_block > 6 or incompat & _JOURNAL_DEVICE:
        return None
    (high,) = struct.unpack_from("<I", block, 0x150)
    (stride,) = struct.unpack_from("<H", block, 0x164)
    (width,) = struct.unpack_from("<I", block, 0x170)
    block_size = 1024 << log_block
    blocks = low | (high << 32 if incompat & _64BIT else 0)
    return Filesystem(
        kind="ext4" if incompat & _EXTENTS else "ext3" if compat & _HAS_JOURNAL else "ext2",
        label=block[0x78:0x88].split(b"\0", 1)[0].decode(errors="backslashreplace"),
        uuid=str(UUID(bytes=block[0x68:0x78])),
        sunit_bytes=stride * block_size,
        swidth_bytes=width * block_size,
        size_bytes=blocks * block_size,
    )


def superblock_uuid(superblock: bytes) -> bytes:
    """The UUID in what begins with a superblock, empty if that is none."""
    there = superblock[0x38:0x3A] == _MAGIC.to_bytes(2, "little")
    return superblock[0x68:0x78] if there else b""


def inode_table(start: bytes) -> int:
    """Where the first inode table lies, in bytes, of the ext4 that begins with ``start``: two
    blocks, the second one with the group descriptors.
    """
    low = struct.unpack_from("<I", start, BLOCK_BYTES + 0x8)[0]
    high = struct.unpack_from("<I", start, BLOCK_BYTES + 0x28)[0]
    return int(low | high << 32) * BLOCK_BYTES


def mounts(start: bytes) -> int:
    """How often the ext4 that begins with ``start`` was mounted for writing, or when last; 0 for
    one that mke2fs has just made, and for anything else.
    """
    block = start[SUPERBLOCK_OFFSET_BYTES : SUPERBLOCK_OFFSET_BYTES + SUPERBLOCK_BYTES]
    if len(block) < SUPERBLOCK_BYTES or block[0x38:0x3A] != _MAGIC.to_bytes(2, "little"):
        return 0
    (mounted_at,) = struct.unpack_from("<I", block, 0x2C)
    (count,) = struct.unpack_from("<H", block, 0x34)
    return int(mounted_at or count)


def needs_recovery(start: bytes) -> bool:
    """Whether the ext4 that begins with ``start`` has a journal to be replayed: it was mounted
    when the machine ended.
    """
    if parse_superblock(start) is None:
        return False
    (incompat,) = struct.unpack_from("<I", start, SUPERBLOCK_OFFSET_BYTES + 0x60)
    return bool(incompat & _RECOVER)


def replay_argv(device: str) -> tuple[str, ...]:
    """Replay the journal and change nothing else. Not mounted."""
    return ("e2fsck", "-p", "-E", "journal_only", device)


def parse_info(text: str) -> tuple[int, int, int]:
    """(stride, stripe width, size) in bytes from ``dumpe2fs -h``; 0 where none is set.

    Raises :class:`OperatorError` if a field is missing, or there twice: dumpe2fs prints label
    and last mount point as they are, so they could hold lines of their own.
    """
    found: dict[str, int] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        number = re.fullmatch(r"\s+([0-9]{1,19})", value, re.ASCII)
        if key not in _FIELDS or number is None:
            continue
        if key in found:
            raise OperatorError(
                f"dumpe2fs printed '{key}' twice",
                "the label or the last mount point of this filesystem holds lines of text;"
                " look at it by hand",
            )
        found[key] = int(number.group(1))
    if "Block count" not in found or "Block size" not in found:
        raise OperatorError(
            "dumpe2fs printed no block count and block size",
            "run dumpe2fs -h on the device by hand and report what it prints",
        )
    block_size = found["Block size"]
    return (
        found.get("RAID stride", 0) * block_size,
        found.get("RAID stripe width", 0) * block_size,
        found["Block count"] * block_size,
    )
