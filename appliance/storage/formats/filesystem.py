"""Filesystems as volumes have them: making, proving, mounting, growing. Pure.

What is common to both kinds is here, the tools and superblocks of each in
:mod:`appliance.storage.formats.xfs` and :mod:`appliance.storage.formats.ext4`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.errors import OperatorError
from appliance.model import Filesystem, Volume
from appliance.storage.formats import ext4, marks, xfs

# What has to be read from the start of a device to know any kind.
SUPERBLOCK_SIZE_BYTES = 4096
# No setuid programs or device nodes from a scratch disk; no write for each read.
MOUNT_OPTIONS = ("nodev", "nosuid", "noatime")


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a filesystem has, in bytes; 0: no stripe is known to it."""

    sunit_bytes: int
    swidth_bytes: int
    size_bytes: int


def plain_size(device_bytes: int) -> int:
    """How much of a disk its own filesystem may cover: all but the last MiB, where the mark is."""
    return marks.end_offset(device_bytes)


def data_members(volume: Volume, members: int) -> int:
    """How many chunks of data lie side by side before the next stripe begins.

    RAID10 near over an even number of members holds each chunk on two neighbours; over an odd
    number, and in far and offset layouts, the pattern is as wide as the array. The kernel
    counts the same for the array's optimal I/O size (``raid10_set_io_opt``).
    """
    if volume.stripe == "md-raid10" and volume.raid10_layout == "near2" and members % 2 == 0:
        return members // 2
    return members


def alignment(volume: Volume, members: int) -> tuple[int, int] | None:
    """(sunit in bytes, members that hold data), or ``None`` for one disk: nothing to align to."""
    return (volume.chunk_bytes, data_members(volume, members)) if members > 1 else None


def mkfs_argv(
    volume: Volume,
    device: str,
    *,
    members: int,
    size_bytes: int | None = None,
    uuid: str = "",
    force: bool = False,
) -> tuple[str, ...]:
    """Make the volume's filesystem, aligned to the stripe of ``members`` disks.

    ``size_bytes`` is what it is to cover (:func:`plain_size`), ``None`` for the whole device.
    ``uuid`` is 32 hexadecimal digits, separated or not, empty for one of the tool's own. ``force``
    writes over remains of ours; see there what each tool refuses without it.
    """
    if volume.filesystem == "none":
        raise ValueError(f"volume '{volume.name}' has no filesystem to make")
    stripe = alignment(volume, members)
    dashed = _dashed(uuid)
    if volume.filesystem == "ext4":
        return ext4.mkfs_argv(
            volume.name,
            device,
            volume.ext4,
            alignment=stripe,
            size_bytes=size_bytes,
            uuid=dashed,
            force=force,
        )
    return xfs.mkfs_argv(
        volume.name,
        device,
        volume.xfs,
        alignment=stripe,
        size_bytes=size_bytes,
        uuid=dashed,
        force=force,
    )


def _dashed(uuid: str) -> str:
    digits = uuid.replace(":", "").replace("-", "").lower()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts) if digits else ""


def mkfs_device(argv: Sequence[str]) -> str:
    """The device that a command of :func:`mkfs_argv` writes to; mke2fs may have a size after it."""
    return argv[-2] if argv[0] == "mkfs.ext4" and argv[-1].isdecimal() else argv[-1]


def mount_options(volume: Volume) -> tuple[str, ...]:
    return (*MOUNT_OPTIONS, *volume.mount_options)


def mount_argv(volume: Volume, device: str) -> tuple[str, ...]:
    options = ",".join(mount_options(volume))
    return ("mount", "-t", volume.filesystem, "-o", options, device, volume.mount)


def grow_argv(volume: Volume, device: str, *, size_bytes: int | None = None) -> tuple[str, ...]:
    """Grow the mounted filesystem over its device, or up to ``size_bytes`` of it."""
    if volume.filesystem == "ext4":
        return ext4.grow_argv(device, size_bytes)
    return xfs.grow_argv(volume.mount, size_bytes)


def wipe_argv(device: str, kinds: Sequence[str] = ()) -> tuple[str, ...]:
    """Clear signatures that wipefs knows: those of ``kinds`` (blkid's names), or all."""
    types = ("--types", ",".join(kinds)) if kinds else ()
    return ("wipefs", "--all", *types, device)


def parse_superblock(start: bytes) -> Filesystem | None:
    """The XFS or ext2/3/4 that begins with ``start`` (:data:`SUPERBLOCK_SIZE_BYTES`), if any."""
    return xfs.parse_superblock(start) or ext4.parse_superblock(start)


def check_argv(kind: str, device: str) -> tuple[str, ...]:
    """Look for faults and mend none; the exit status is not 0 if there are any. Not mounted."""
    if kind == "ext4":
        return ("e2fsck", "-f", "-n", device)
    return ("xfs_repair", "-n", device)


def info_argv(kind: str, device: str) -> tuple[str, ...]:
    """The filesystem's own tool that says what is on ``device``, for :func:`parse_info`."""
    return ext4.info_argv(device) if kind == "ext4" else xfs.info_argv(device)


def parse_info(kind: str, text: str) -> Geometry:
    """What that tool printed. Raises :class:`OperatorError` for any other text."""
    try:
        return Geometry(*(ext4.parse_info(text) if kind == "ext4" else xfs.parse_info(text)))
    except ValueError as error:  # a number with more digits than Python converts
        raise OperatorError(
            f"the {kind} tool printed no number: {error}", "run it by hand and report its output"
        ) from error


def geometry_differences(
    volume: Volume, found: Geometry, *, members: int, size_bytes: int | None = None
) -> list[str]:
    """What a filesystem has other than it should; ``size_bytes`` as for :func:`mkfs_argv`.

    It must not cover more than that; a little less is what the formats round off.
    """
    stripe = alignment(volume, members)
    wrong = []
    sunit, swidth = (stripe[0], stripe[0] * stripe[1]) if stripe else (0, 0)
    if (found.sunit_bytes, found.swidth_bytes) != (sunit, swidth):
        wrong.append(
            f"sunit {found.sunit_bytes} and swidth {found.swidth_bytes} bytes,"
            f" not {sunit} and {swidth}"
        )
    if size_bytes is not None and found.size_bytes > size_bytes:
        wrong.append(f"it covers {found.size_bytes} bytes, more than {size_bytes}")
    return wrong
