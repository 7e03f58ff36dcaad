"""XFS: what mkfs.xfs and xfs_growfs are told, the superblock, ``xfs_info``. Pure.

The superblock is read directly by the probe (``struct xfs_dsb``, fs/xfs/libxfs/xfs_format.h,
big-endian), because it must also be read through one member of an array that is not
assembled; what mkfs made is proved by the filesystem's own tool, ``xfs_info``.
"""

from __future__ import annotations

import re
import struct
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model import Filesystem, XfsOptions

BLOCK_BYTES = 4096

_SUPERBLOCK_BYTES = 512
_DATA_SECTION = re.compile(r"^data\b.*?(?=^\w)", re.MULTILINE | re.DOTALL)
_DATA_FIELDS = re.compile(
    r"bsize=(\d+)\s+blocks=(\d+).*?sunit=(\d+)\s+swidth=(\d+)\s+blks", re.DOTALL
)


def mkfs_argv(
    label: str,
    device: str,
    options: XfsOptions,
    *,
    alignment: tuple[int, int] | None,
    size_bytes: int | None,
    uuid: str,
    force: bool,
) -> tuple[str, ...]:
    """``mkfs.xfs``; ``alignment`` is (sunit, members that hold data), ``None`` for a plain disk.

    ``-K``: instance storage is blank and trimmed by the provider, a discard of terabytes only
    delays boot. Without ``-f`` mkfs itself is the last one to refuse a signature. ``noalign``
    on a plain disk: some report an optimal I/O size, of which mkfs would make a stripe.
    """
    data = f"su={alignment[0]},sw={alignment[1]}" if alignment else "noalign"
    if size_bytes is not None:
        data = f"size={size_bytes // BLOCK_BYTES * BLOCK_BYTES},{data}"
    metadata = [f"uuid={uuid}"] if uuid else []
    if options.reflink is not None:
        metadata.append(f"reflink={int(options.reflink)}")
    return (
        "mkfs.xfs",
        *(("-f",) if force else ()),
        "-K",
        "-b",
        f"size={BLOCK_BYTES}",
        "-L",
        label,
        *(("-m", ",".join(metadata)) if metadata else ()),
        "-d",
        data,
        *(("-i", f"size={options.inode_size_bytes}") if options.inode_size_bytes else ()),
        *(("-l", f"size={options.log_size_bytes}") if options.log_size_bytes else ()),
        device,
    )


def grow_argv(mount: str, size_bytes: int | None) -> tuple[str, ...]:
    """Grow the mounted filesystem over its device, or up to ``size_bytes`` of it."""
    if size_bytes is None:
        return ("xfs_growfs", "-d", mount)
    return ("xfs_growfs", "-D", str(size_bytes // BLOCK_BYTES), mount)


def info_argv(device: str) -> tuple[str, ...]:
    return ("xfs_info", device)


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
