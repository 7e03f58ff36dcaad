"""ext4: what its tools are told, the superblock, what an interrupted mkfs leaves. Pure.

The superblock is ``struct ext4_super_block`` (fs/ext4/ext4.h, little-endian), 1024 bytes into
the filesystem. Options are those of mke2fs(8) and mke2fs.conf(5) 1.47. Only superblocks bear the
UUID: what the rest of an interrupted mkfs is, mkfs.ext4 shows by writing it to an empty file.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model.disks import Filesystem
from appliance.model.plans import FilesystemOptions
from appliance.model.toml_fields import Field, Size, Whole
from appliance.storage.formats.filesystem_kind import (
    Accepts,
    FilesystemKind,
    Mkfs,
    MountOption,
    Rehearsal,
)

BLOCK_BYTES = 4096
# mke2fs makes up to twelve inodes (EXT4_GOOD_OLD_FIRST_INO is 11, one more for orphans), each of
# 256 bytes at the most, as the one block that they are in is looked at.
FIRST_INODES_BYTES = 12 * 256

SUPERBLOCK_OFFSET_BYTES = 1024
SUPERBLOCK_BYTES = 1024
_MAGIC = (0xEF53).to_bytes(2, "little")
_HAS_JOURNAL = 0x4
_RECOVER = 0x4
_JOURNAL_DEVICE = 0x8
_EXTENTS = 0x40
_64BIT = 0x80
_FIELDS = ("Block count", "Block size", "RAID stride", "RAID stripe width")
_MKFS_WIDTH = re.compile(r"stripe_width=([0-9]+)")
# Backup superblocks (Documentation/filesystems/ext4, sparse_super) are in group 1 and in those
# whose number is a power of 3, 5 or 7. A group has 8 blocks for each byte of a block.
_COPY_BLOCKS_BYTES = (1024, 2048, 4096, 65536)
_COPY_POWERS = (3, 5, 7)
_FOLDER_TAIL = struct.pack("<IHBB", 0, 12, 0, 0xDE)
_DIGEST_BYTES = 16
_INODES, _FOLDER = b"inodes", b"folder"


@dataclass(frozen=True, slots=True)
class Ext4Options(FilesystemOptions):
    """What a volume may set of mkfs.ext4; ``None``: the tool's own default."""

    bytes_per_inode: int | None = None
    reserved_percent: int | None = None
    journal_size_bytes: int | None = None


def _mkfs_argv(mkfs: Mkfs) -> tuple[str, ...]:
    """Inode tables and journal are written now. By default the kernel zeroes them for hours
    after the first mount: background writes in the middle of every measurement of that
    time. ``nodiscard``: as for XFS. Unlike mkfs.xfs, mkfs.ext4 does **not** refuse a
    signature where it has no terminal to ask on: the caller has to have looked. ``-F`` is
    for its other doubts. A plain disk's stride is said to be 0: some report an optimal I/O
    size, of which mke2fs would make one.
    """
    options = cast("Ext4Options", mkfs.options)
    sunit, data_members = mkfs.alignment or (0, 0)
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
        *(("-F",) if mkfs.force else ()),
        "-b",
        str(BLOCK_BYTES),
        "-L",
        mkfs.label,
        *(("-U", mkfs.uuid) if mkfs.uuid else ()),
        "-E",
        ",".join(extended),
        *(("-i", str(options.bytes_per_inode)) if options.bytes_per_inode else ()),
        *(("-m", str(reserved)) if reserved is not None else ()),
        *(("-J", f"size={journal // 2**20}") if journal else ()),
        mkfs.device,
        *((str(mkfs.size_bytes // BLOCK_BYTES),) if mkfs.size_bytes is not None else ()),
    )


def _mkfs_members(argv: Sequence[str], chunk_bytes: int) -> int:
    width = _MKFS_WIDTH.search(" ".join(argv))
    return int(width[1]) // (chunk_bytes // BLOCK_BYTES) if width else 1


def _grow_argv(device: str, mount: str, size_bytes: int | None) -> tuple[str, ...]:  # noqa: ARG001
    size = () if size_bytes is None else (str(size_bytes // BLOCK_BYTES),)
    return ("resize2fs", device, *size)


def parse_superblock(start: bytes) -> Filesystem | None:
    """The superblock in the first 2 KiB of an ext2, ext3 or ext4, or ``None``.

    mke2fs writes it last, so there is none where it was interrupted.
    """
    block = start[SUPERBLOCK_OFFSET_BYTES : SUPERBLOCK_OFFSET_BYTES + SUPERBLOCK_BYTES]
    if len(block) < SUPERBLOCK_BYTES or block[0x38:0x3A] != _MAGIC:
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


def _without_debris(block: bytes, uuid: bytes) -> bytes:
    """Less a superblock with that UUID: it has two sectors, and the UUID in the first; backups
    of it are at the start of a block.
    """
    for at in (SUPERBLOCK_OFFSET_BYTES, 0):
        found = block[at : at + SUPERBLOCK_BYTES]
        if found[0x38:0x3A] == _MAGIC and found[0x68:0x78] == uuid:
            return block[:at] + bytes(len(found)) + block[at + len(found) :]
    return block


def _shows_mount(start: bytes) -> bool:
    """Whether it is the start of an ext4 that counts mounts for writing, or tells of the last."""
    block = start[SUPERBLOCK_OFFSET_BYTES : SUPERBLOCK_OFFSET_BYTES + SUPERBLOCK_BYTES]
    if len(block) < SUPERBLOCK_BYTES or block[0x38:0x3A] != _MAGIC:
        return False
    (mounted_at,) = struct.unpack_from("<I", block, 0x2C)
    (count,) = struct.unpack_from("<H", block, 0x34)
    return bool(mounted_at or count)


def needs_replay(start: bytes) -> bool:
    """Whether the ext4 that begins with ``start`` was mounted when the machine ended.

    mount would replay its journal, but too late: the kernel checks the group descriptors first
    (ext4_check_descriptors), and those of a filesystem that grew when the power went may be in the
    journal only.
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


def _copies(size_bytes: int) -> Iterator[int]:
    for block in _COPY_BLOCKS_BYTES:
        group = 8 * block * block
        numbers = {1}
        for base in _COPY_POWERS:
            number = base
            while number * group < size_bytes:
                numbers.add(number)
                number *= base
        # Blocks of 1 KiB are counted from the second one.
        yield from (number * group + (block if block == 1024 else 0) for number in numbers)


def _expected(offset: int, block: bytes, start: bytes) -> bytes:
    """A block's digest, or, where times or an earlier state may stand, what kind of block it is.

    All inodes that mke2fs makes are in the first block of the first inode table; where that is,
    the group descriptors in the second block of the filesystem say.
    """
    low = struct.unpack_from("<I", start, BLOCK_BYTES + 0x8)[0]
    high = struct.unpack_from("<I", start, BLOCK_BYTES + 0x28)[0]
    if offset == int(low | high << 32) * BLOCK_BYTES:
        return _INODES
    return _FOLDER if _is_folder(block) else _digest(block)


def _like(blocks: Mapping[int, bytes]) -> Accepts:
    def accepts(offset: int, block: bytes) -> bool:
        wanted = blocks.get(offset)
        if wanted == _INODES:
            return not any(block[FIRST_INODES_BYTES:])
        return _is_folder(block) if wanted == _FOLDER else wanted == _digest(block)

    return accepts


def _is_folder(block: bytes) -> bool:
    """Whether it ends as blocks of ext4's directories do (``struct ext4_dir_entry_tail``)."""
    return block[-12:-4] == _FOLDER_TAIL


def _digest(block: bytes) -> bytes:
    return hashlib.sha256(block).digest()[:_DIGEST_BYTES]


KIND = FilesystemKind(
    name="ext4",
    title="ext4",
    signatures=frozenset({"ext2", "ext3", "ext4"}),
    programs=("mkfs.ext4", "resize2fs", "dumpe2fs"),
    options=Ext4Options(),
    option_fields=(
        Field("bytes_per_inode", Size("4KiB", "64MiB", power=True)),
        Field("reserved_percent", Whole(0, 50)),
        Field("journal_size", Size("4MiB", "16GiB", step="1MiB"), "journal_size_bytes"),
    ),
    options_hint=(
        'ext4 = { bytes_per_inode = "64KiB", reserved_percent = 1, journal_size = "128MiB" }'
    ),
    mount_options=(
        # 5 is the kernel's own, and is not shown.
        MountOption(
            "commit=1 … 60 (not 5, the default)",
            "commit=(?:[1-46-9]|[1-5][0-9]|60)",
            "seconds of written data that a crash may lose",
        ),
        MountOption("nodelalloc", "nodelalloc", "gives blocks to data as it is written"),
    ),
    read_only="ro,noload",
    mkfs_argv=_mkfs_argv,
    # The size comes after the device.
    mkfs_device=lambda argv: argv[-2] if argv[-1].isdecimal() else argv[-1],
    mkfs_members=_mkfs_members,
    grow_argv=_grow_argv,
    check_argv=lambda device: ("e2fsck", "-f", "-n", device),
    info_argv=lambda device, _: ("dumpe2fs", "-h", device),
    parse_info=parse_info,
    parse_superblock=parse_superblock,
    copies=_copies,
    shows_mount=_shows_mount,
    without_debris=_without_debris,
    rehearsal=Rehearsal(2 * BLOCK_BYTES, _expected, _like),
    needs_replay=needs_replay,
    replay_argv=replay_argv,
)
