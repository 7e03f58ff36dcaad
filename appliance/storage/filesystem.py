"""XFS: command lines, superblock and ``xfs_info``. Pure.

The superblock is read directly by the probe (``struct xfs_dsb``, fs/xfs/libxfs/xfs_format.h,
big-endian), because it must also be read through one member of an array that is not
assembled; what mkfs made is proved by the filesystem's own tool, ``xfs_info``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model import Filesystem

# An XFS label holds 12 bytes; the volume name pattern keeps to it.
LABEL_BYTES = 12
SUPERBLOCK_SIZE_BYTES = 512
_FORCE = "-f"
# No setuid programs or device nodes from a scratch disk; no write for each read.
MOUNT_OPTIONS = ("nodev", "nosuid", "noatime")


def mkfs_argv(
    label: str, device: str, *, chunk_bytes: int, members: int, over_unfinished: bool = False
) -> tuple[str, ...]:
    """Make XFS aligned to the stripe; on one disk there is no stripe to align to.

    ``-K``: instance storage is blank and trimmed by the provider, a discard of terabytes
    only delays boot. No ``-f``: mkfs itself is the last one to refuse a signature. The one
    exception, ``over_unfinished``, is a superblock that still says "in progress": its removal
    and the new mkfs have to be one program, because whatever is killed between two
    leaves remains that nobody can tell from data.
    """
    alignment = ("-d", f"su={chunk_bytes},sw={members}") if members > 1 else ()
    force = (_FORCE,) if over_unfinished else ()
    return ("mkfs.xfs", *force, "-K", "-L", label, *alignment, device)


def is_forced(argv: Sequence[str]) -> bool:
    """Whether a command of :func:`mkfs_argv` writes over an unfinished XFS."""
    return _FORCE in argv


def mount_argv(device: str, mount: str) -> tuple[str, ...]:
    return ("mount", "-t", "xfs", "-o", ",".join(MOUNT_OPTIONS), device, mount)


def xfs_info_argv(device: str) -> tuple[str, ...]:
    return ("xfs_info", device)


def parse_xfs_superblock(block: bytes) -> Filesystem | None:
    """The superblock at the start of an XFS, or ``None`` if there is none."""
    if len(block) < SUPERBLOCK_SIZE_BYTES or block[:4] != b"XFSB":
        return None
    (block_size,) = struct.unpack_from(">I", block, 4)
    unit, width = struct.unpack_from(">II", block, 184)
    return Filesystem(
        kind="xfs",
        label=block[108:120].split(b"\0", 1)[0].decode(errors="backslashreplace"),
        uuid=str(UUID(bytes=block[32:48])),
        sunit_bytes=unit * block_size,
        swidth_bytes=width * block_size,
        unfinished=block[126] != 0,
    )


def parse_xfs_info(text: str) -> tuple[int, int]:
    """(sunit, swidth) of the data section in bytes.

    ``xfs_info`` counts both in filesystem blocks, on the lines that follow ``data``;
    the log section has a ``sunit`` of its own, so the section matters.
    Raises :class:`OperatorError` if the text is not what it should be.
    """
    section = re.search(r"^data\b.*?(?=^\w)", text, re.MULTILINE | re.DOTALL)
    found = section and re.search(
        r"bsize=(\d+).*?sunit=(\d+)\s+swidth=(\d+)\s+blks", section.group(0), re.DOTALL
    )
    if not found:
        raise OperatorError(
            "xfs_info printed no data section with sunit and swidth",
            "run xfs_info on the device by hand and report what it prints",
        )
    block_size, unit, width = (int(number) for number in found.groups())
    return unit * block_size, width * block_size
