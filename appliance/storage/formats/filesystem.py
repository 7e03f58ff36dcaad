"""Filesystems as volumes have them: making, proving, mounting, growing. Pure.

All kinds are in :data:`KINDS`; what is said of one is in its own module
(:mod:`appliance.storage.formats.filesystem_kind` says what that has to be).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from appliance.errors import OperatorError
from appliance.model.disks import Filesystem
from appliance.model.plans import FilesystemOptions, Volume
from appliance.storage.formats import ext4, marks, xfs
from appliance.storage.formats.filesystem_kind import (
    Accepts,
    FilesystemKind,
    Geometry,
    Mkfs,
    MountOption,
)

KINDS: dict[str, FilesystemKind] = {one.name: one for one in (xfs.KIND, ext4.KIND)}

# What has to be read from the start of a device to know any kind.
SUPERBLOCK_SIZE_BYTES = 4096
# No setuid programs or device nodes from a scratch disk; no write for each read.
MOUNT_OPTIONS = ("nodev", "nosuid", "noatime")

# What a volume may have besides, on any kind. The list is short on purpose: an option is on it if
# it is safe for the data, an operator may have a reason for it, and the kernel shows it in
# mountinfo, so that it can be verified.
COMMON_OPTIONS = (
    MountOption("discard", "discard", "tells the disk at once what was freed"),
    MountOption("lazytime", "lazytime", "writes time stamps when the inode is written anyway"),
    MountOption("noexec", "noexec", "no programs are started from the volume"),
)
# What is asked for now and then, and why it is not on the list.
REFUSED_OPTIONS: Mapping[str, str] = {
    "nobarrier": "a power cut would damage the filesystem",
    "barrier=0": "a power cut would damage the filesystem",
    "data=writeback": "after a crash files can show what was deleted before",
    "data=journal": "everything is written twice, and a measurement counts it once",
    "norecovery": "it shows a filesystem that is not consistent",
    "noload": "it shows a filesystem that is not consistent",
    "nouuid": "it mounts a copy beside its original",
    "ro": "a volume that cannot be written cannot be proved or measured",
    "noinit_itable": "there is nothing left to initialise: mkfs does it",
    "nodev": "it is always given",
    "nosuid": "it is always given",
    "noatime": "it is always given",
    "dev": "nodev is always given",
    "suid": "nosuid is always given",
    "atime": "noatime is always given",
    "relatime": "noatime is always given",
}
_ZERO_SECTOR = bytes(512)


# ---------------------------------------------------------------------------- the kinds


def is_one(kinds: set[str]) -> bool:
    """Whether these signatures are those of one filesystem that a volume may have."""
    return len(kinds) == 1 and kinds <= set(KINDS)


def signatures() -> frozenset[str]:
    """All that :func:`parse_superblock` takes, by blkid's names."""
    return frozenset().union(*(one.signatures for one in KINDS.values()))


def programs() -> tuple[str, ...]:
    return tuple(program for one in KINDS.values() for program in one.programs)


def made_by(program: str) -> FilesystemKind | None:
    """The kind that this mkfs makes."""
    return next((one for one in KINDS.values() if one.programs[0] == program), None)


def is_grower(program: str) -> bool:
    return any(one.programs[1] == program for one in KINDS.values())


def options_of(volume: Volume, kind: FilesystemKind) -> FilesystemOptions:
    """What ``volume`` sets of the mkfs of ``kind``."""
    found = volume.options
    return found if found is not None and type(found) is type(kind.options) else kind.options


def allowed_options(filesystem: str) -> tuple[MountOption, ...]:
    return (*COMMON_OPTIONS, *KINDS[filesystem].mount_options)


def option_problem(filesystem: str, option: str) -> str:
    """Why the mount option is not allowed on ``filesystem``, empty if it is."""
    if any(re.fullmatch(one.pattern, option, re.ASCII) for one in allowed_options(filesystem)):
        return ""
    return REFUSED_OPTIONS.get(option, f"it is not one that {filesystem} volumes may have")


# ------------------------------------------------------------------------------- stripes


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


# -------------------------------------------------------------------------- command lines


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
    kind = KINDS[volume.filesystem]
    stripe = alignment(volume, members)
    options = options_of(volume, kind)
    return kind.mkfs_argv(
        Mkfs(volume.name, device, options, stripe, size_bytes, _dashed(uuid), force)
    )


def _dashed(uuid: str) -> str:
    digits = uuid.replace(":", "").replace("-", "").lower()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts) if digits else ""


def mkfs_device(argv: Sequence[str]) -> str:
    """The device that a command of :func:`mkfs_argv` writes to."""
    kind = made_by(argv[0])
    return kind.mkfs_device(argv) if kind else argv[-1]


def mount_options(volume: Volume) -> tuple[str, ...]:
    return (*MOUNT_OPTIONS, *volume.mount_options)


def mount_argv(volume: Volume, device: str) -> tuple[str, ...]:
    options = ",".join(mount_options(volume))
    return ("mount", "-t", volume.filesystem, "-o", options, device, volume.mount)


def wipe_argv(device: str) -> tuple[str, ...]:
    """Clear all signatures that wipefs knows."""
    return ("wipefs", "--all", device)


def parse_info(kind: str, text: str) -> Geometry:
    """What ``info_argv`` of ``kind`` printed. Raises :class:`OperatorError` for any other text."""
    try:
        return Geometry(*KINDS[kind].parse_info(text))
    except ValueError as error:  # a number with more digits than Python converts
        raise OperatorError(
            f"the {kind} tool printed no number: {error}", "run it by hand and report its output"
        ) from error


# --------------------------------------------------------------------- what is on a device


def parse_superblock(start: bytes) -> Filesystem | None:
    """What begins with ``start`` (:data:`SUPERBLOCK_SIZE_BYTES`), if it is of a known kind."""
    found = (one.parse_superblock(start) for one in KINDS.values())
    return next((one for one in found if one is not None), None)


def log_offset(start: bytes) -> int | None:
    """Where the log of what begins with ``start`` lies, in bytes, if it has one that tells
    whether it was mounted.
    """
    found = (one.log_offset(start) for one in KINDS.values())
    return next((one for one in found if one is not None), None)


def shows_mount(uuid: str, block: bytes) -> bool:
    """Whether ``block`` shows that the filesystem with this UUID was mounted."""
    return bool(uuid) and UUID(uuid).bytes in block and _shows_mount(block)


def _shows_mount(block: bytes) -> bool:
    return any(one.shows_mount(block) for one in KINDS.values())


def of_mkfs(uuid: str, *, blank: bool) -> Accepts:
    """What an interrupted mkfs of ours left, told from everything else: what it writes for the
    filesystem with this UUID (32 digits) and bears it.

    The UUID is in the mark before mkfs begins. So a block that bears it was written by that mkfs,
    and one without it was not, wherever it lies, but for what the kind makes without it. Not a
    superblock that was mounted since, nor any later record of the log. On a disk that was ``blank``
    each sector counts for itself; else what was there before fills up the block.
    """
    wanted = UUID(uuid).bytes

    def accepts(_: int, block: bytes) -> bool:
        if _shows_mount(block):
            return False
        if not blank and wanted in block:
            return True
        for kind in KINDS.values():
            block = kind.without_debris(block, wanted)
        size = len(_ZERO_SECTOR)
        sectors = (block[at : at + size] for at in range(0, len(block), size))
        return all(sector == _ZERO_SECTOR or wanted in sector for sector in sectors)

    return accepts
