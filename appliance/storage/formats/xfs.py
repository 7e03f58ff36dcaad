"""XFS: what its tools are told, the superblock, what an interrupted mkfs leaves. Pure.

The superblock is read directly by the probe (``struct xfs_dsb``, fs/xfs/libxfs/xfs_format.h,
big-endian), because it must also be read through one member of an array that is not
assembled; what mkfs made is proved by the filesystem's own tool, ``xfs_info``. mkfs writes its
UUID into every block of metadata but for the padding of the log.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model.disks import Filesystem
from appliance.model.plans import FilesystemOptions
from appliance.model.toml_fields import Field, Flag, Size
from appliance.storage.formats.filesystem_kind import (
    FilesystemKind,
    Mkfs,
    MountedSize,
    MountOption,
)

BLOCK_BYTES = 4096

_SECTOR_BYTES = 512
_SUPERBLOCK_BYTES = 512
_DATA_SECTION = re.compile(r"^data\b.*?(?=^\w)", re.MULTILINE | re.DOTALL)
_DATA_FIELDS = re.compile(
    r"bsize=(\d+)\s+blocks=(\d+).*?sunit=(\d+)\s+swidth=(\d+)\s+blks", re.DOTALL
)
_MKFS_WIDTH = re.compile(r",sw=([0-9]+)")
# mkfs.xfs makes 4 groups, or 2 to 32 of a device with a stripe (calc_default_ag_geometry in
# xfsprogs' libxfs/topology.c), none larger than 1 TiB. Each begins with a superblock.
_GROUPS = (2, 4, 8, 16, 32)
_LARGEST_GROUP_BYTES = 1 << 40
# struct xlog_rec_header (fs/xfs/libxfs/xfs_log_format.h), big-endian.
_LOG_MAGIC = struct.pack(">I", 0xFEEDBABE)
# mkfs writes the log as one record of one operation, padded to the stripe unit with sectors that
# are empty but for the cycle, 1 (libxfs_log_clear in xfsprogs' libxfs/rdwr.c).
_FIRST_CYCLE = struct.pack(">I", 1)
_PADDING = _FIRST_CYCLE.ljust(_SECTOR_BYTES, b"\0")
# The operation: 8 bytes of XFS_LOG (0xAA) that end a mount (0x20), of type "Un". Behind the
# headers of a record that is aligned to a stripe it has a block of its own.
_UNMOUNTED = (_FIRST_CYCLE + bytes.fromhex("00000008aa2000006e55")).ljust(_SECTOR_BYTES, b"\0")
# struct xfs_fsop_geom_v1 and XFS_IOC_FSGEOMETRY_V1, fs/xfs/libxfs/xfs_fs.h: eight 32-bit
# words (the first is the block size), then datablocks; 112 bytes with padding; _IOR('X', 100).
_GEOMETRY_BYTES = 112
_XFS_IOC_FSGEOMETRY_V1 = 0x80705864


@dataclass(frozen=True, slots=True)
class XfsOptions(FilesystemOptions):
    """What a volume may set of mkfs.xfs; ``None``: the tool's own default."""

    reflink: bool | None = None
    inode_size_bytes: int | None = None
    log_size_bytes: int | None = None


def _mkfs_argv(mkfs: Mkfs) -> tuple[str, ...]:
    """``-K``: instance storage is blank and trimmed by the provider, a discard of terabytes only
    delays boot. Without ``-f`` mkfs itself is the last one to refuse a signature. ``noalign``
    on a plain disk: some report an optimal I/O size, of which mkfs would make a stripe.
    """
    options = cast("XfsOptions", mkfs.options)
    data = f"su={mkfs.alignment[0]},sw={mkfs.alignment[1]}" if mkfs.alignment else "noalign"
    if mkfs.size_bytes is not None:
        data = f"size={mkfs.size_bytes // BLOCK_BYTES * BLOCK_BYTES},{data}"
    metadata = [f"uuid={mkfs.uuid}"] if mkfs.uuid else []
    if options.reflink is not None:
        metadata.append(f"reflink={int(options.reflink)}")
    return (
        "mkfs.xfs",
        *(("-f",) if mkfs.force else ()),
        "-K",
        "-b",
        f"size={BLOCK_BYTES}",
        "-L",
        mkfs.label,
        *(("-m", ",".join(metadata)) if metadata else ()),
        "-d",
        data,
        *(("-i", f"size={options.inode_size_bytes}") if options.inode_size_bytes else ()),
        *(("-l", f"size={options.log_size_bytes}") if options.log_size_bytes else ()),
        mkfs.device,
    )


def _mkfs_members(argv: Sequence[str], chunk_bytes: int) -> int:  # noqa: ARG001 - sw counts them
    width = _MKFS_WIDTH.search(" ".join(argv))
    return int(width[1]) if width else 1


def _grow_argv(device: str, mount: str, size_bytes: int | None) -> tuple[str, ...]:  # noqa: ARG001
    if size_bytes is None:
        return ("xfs_growfs", "-d", mount)
    return ("xfs_growfs", "-D", str(size_bytes // BLOCK_BYTES), mount)


def parse_superblock(block: bytes) -> Filesystem | None:
    """The superblock at the start of an XFS, or ``None`` if there is none."""
    if len(block) < _SUPERBLOCK_BYTES or block[:4] != b"XFSB":
        return None
    block_size, blocks = struct.unpack_from(">IQ", block, 4)
    unit, width = struct.unpack_from(">II", block, 184)
    return Filesystem(
        kind="xfs",
        label=block[108:120].split(b"\0", 1)[0].decode(errors="backslashreplace"),
        uuid=str(UUID(bytes=block[32:48])),
        sunit_bytes=unit * block_size,
        swidth_bytes=width * block_size,
        unfinished=block[126] != 0,
        size_bytes=blocks * block_size,
    )


def log_offset(start: bytes) -> int | None:
    """Where the internal log of the XFS that begins with ``start`` lies, in bytes; ``None`` if
    there is none.
    """
    if len(start) < _SUPERBLOCK_BYTES or start[:4] != b"XFSB":
        return None
    (block_size,) = struct.unpack_from(">I", start, 4)
    (log,) = struct.unpack_from(">Q", start, 48)
    (group_blocks,) = struct.unpack_from(">I", start, 84)
    # A block's number is that of its group, then as many bits as the blocks of a group take.
    group, block = divmod(log, 1 << start[124])
    return (group * group_blocks + block) * block_size if log else None


def parse_info(text: str) -> tuple[int, int, int]:
    """(sunit, swidth, size) of the data section in bytes.

    ``xfs_info`` counts all in filesystem blocks, on the lines that follow ``data``;
    the log section has a ``sunit`` of its own, so the section matters.
    Raises :class:`OperatorError` if the text is not what it should be.
    """
    section = _DATA_SECTION.search(text)
    found = section and _DATA_FIELDS.search(section.group(0))
    if not found:
        raise OperatorError(
            "xfs_info printed no data section with sunit and swidth",
            "run xfs_info on the device by hand and report what it prints",
        )
    block_size, blocks, unit, width = (int(number) for number in found.groups())
    return unit * block_size, width * block_size, blocks * block_size


def _copies(size_bytes: int) -> Iterator[int]:
    blocks = size_bytes // BLOCK_BYTES
    for groups in _GROUPS:
        group = -(-blocks // groups) * BLOCK_BYTES
        if 0 < group <= _LARGEST_GROUP_BYTES:
            yield from (group * number for number in range(1, groups))
    yield from range(_LARGEST_GROUP_BYTES, size_bytes, _LARGEST_GROUP_BYTES)


def _shows_mount(block: bytes) -> bool:
    """Whether ``block`` begins with a record of a log that is not the first."""
    if not block.startswith(_LOG_MAGIC):
        return False
    cycle, _, _, lsn = struct.unpack_from(">IIIQ", block, 4)
    (operations,) = struct.unpack_from(">I", block, 40)
    return (cycle, lsn, operations) != (1, 1 << 32, 1)


def _without_debris(block: bytes, uuid: bytes) -> bytes:  # noqa: ARG001 - the log bears none
    sectors = [block[at : at + _SECTOR_BYTES] for at in range(0, len(block), _SECTOR_BYTES)]
    return b"".join(
        bytes(_SECTOR_BYTES) if sector in {_PADDING, _UNMOUNTED} else sector for sector in sectors
    )


def _mounted_size(answer: bytes) -> int:
    block_bytes, blocks = struct.unpack_from("<I28xQ", answer)
    return int(block_bytes * blocks)


KIND = FilesystemKind(
    name="xfs",
    title="XFS",
    signatures=frozenset({"xfs"}),
    programs=("mkfs.xfs", "xfs_growfs", "xfs_info"),
    options=XfsOptions(),
    option_fields=(
        Field("reflink", Flag()),
        # 256 bytes were possible before metadata had checksums.
        Field("inode_size", Size("512B", "2KiB", power=True), "inode_size_bytes"),
        # mkfs.xfs itself wants 64 MiB; the format ends at 2 GiB less 10 MiB.
        Field("log_size", Size("64MiB", "2038MiB", step="1MiB"), "log_size_bytes"),
    ),
    options_hint='xfs = { reflink = false, inode_size = "512B", log_size = "64MiB" }',
    mount_options=(
        MountOption("largeio", "largeio", "reports the stripe width as the preferred I/O size"),
        MountOption("swalloc", "swalloc", "begins large files at a whole stripe"),
        MountOption(
            "allocsize=64k … 1048576k (a power of two)",
            "allocsize=(?:" + "|".join(f"{2**power}k" for power in range(6, 21)) + ")",
            "how far ahead a growing file is given room",
        ),
        MountOption(
            "logbsize=32k, 64k, 128k or 256k",
            "logbsize=(?:32|64|128|256)k",
            "the size of the journal's buffers",
        ),
    ),
    read_only="ro,norecovery",
    mkfs_argv=_mkfs_argv,
    mkfs_device=lambda argv: argv[-1],
    mkfs_members=_mkfs_members,
    grow_argv=_grow_argv,
    check_argv=lambda device: ("xfs_repair", "-n", device),
    # A device that is mounted is refused, its mount point is not.
    info_argv=lambda device, mount: ("xfs_info", mount or device),
    parse_info=parse_info,
    parse_superblock=parse_superblock,
    copies=_copies,
    shows_mount=_shows_mount,
    without_debris=_without_debris,
    log_offset=log_offset,
    alignment_in_mount=True,
    mounted_size=MountedSize(_XFS_IOC_FSGEOMETRY_V1, _GEOMETRY_BYTES, _mounted_size),
)
