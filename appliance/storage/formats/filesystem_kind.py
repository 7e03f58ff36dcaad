"""What a kind of filesystem has to say of itself. Pure.

Each kind is one module that makes a :class:`FilesystemKind`; all that is written elsewhere of
filesystems asks :mod:`appliance.storage.formats.filesystem`, which knows the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance.model.disks import Filesystem
from appliance.model.plans import FilesystemOptions
from appliance.model.toml_fields import Field

# Whether a block that is not zero is what our own making writes: (offset in bytes, block).
Accepts = Callable[[int, bytes], bool]


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a filesystem has, in bytes; 0: no stripe is known to it."""

    sunit_bytes: int
    swidth_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class MountOption:
    """``shown`` is the option as documentation and errors name it, ``why`` what it is for."""

    shown: str
    pattern: str
    why: str


@dataclass(frozen=True, slots=True)
class Mkfs:
    """What mkfs is told. ``alignment`` is (sunit in bytes, members that hold data), ``None`` for
    a plain disk; ``size_bytes`` what to cover, ``None`` for all; ``uuid`` empty for a random one.
    """

    label: str
    device: str
    options: FilesystemOptions
    alignment: tuple[int, int] | None
    size_bytes: int | None
    uuid: str
    force: bool


@dataclass(frozen=True, slots=True)
class MountedSize:
    """The ioctl by which the kernel tells a mounted filesystem's size, and what it answers."""

    request: int
    answer_bytes: int
    size_bytes: Callable[[bytes], int]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """For a kind whose blocks do not all bear its UUID: what mkfs writes is found by running it
    on an empty file of the same size.

    ``expected`` tells a block at an offset of that file, whose first ``start_bytes`` are given,
    for ``like``: that accepts the blocks of a disk, by their offset there.
    """

    start_bytes: int
    expected: Callable[[int, bytes, bytes], bytes]
    like: Callable[[Mapping[int, bytes]], Accepts]


@dataclass(frozen=True, slots=True)
class FilesystemKind:
    """A kind of filesystem that a volume can have; ``name`` is mount's word, ``title`` ours.

    ``signatures`` are blkid's names for what ``parse_superblock`` takes, ``programs`` the tools
    (mkfs and what grows it first), ``options`` what a volume may set of mkfs: the defaults and the
    fields of the table ``name`` in the layout, with an example in ``options_hint``.

    The superblock: ``parse_superblock`` of the start of the device, ``copies`` where on a device
    of that size others are. ``parse_info`` is (sunit, swidth, size) from what ``info_argv``
    (device, mount point) prints. ``mkfs_device`` and ``mkfs_members`` read a command of
    ``mkfs_argv`` back, the latter with the chunk. ``grow_argv`` takes (device, mount point, size)
    and grows the mounted filesystem up to that size, or over all of the device (``None``).
    ``check_argv`` (of what is not mounted) looks for faults, mends none, and fails if it finds any.

    What an interrupted mkfs left: ``shows_mount`` says that a block can only be there after a
    mount, ``without_debris`` is a block less what mkfs wrote there without the (given) UUID,
    ``log_offset`` where the journal begins. ``needs_replay`` of the start of the device: its
    journal has to be replayed by ``replay_argv`` before mount can look at it.

    ``read_only`` are mount options that replay nothing; ``alignment_in_mount``: sunit and swidth
    are shown in mountinfo. ``mounted_size``, where the superblock on the disk is behind.
    """

    name: str
    title: str
    signatures: frozenset[str]
    programs: tuple[str, ...]
    options: FilesystemOptions
    option_fields: tuple[Field, ...]
    options_hint: str
    mount_options: tuple[MountOption, ...]
    read_only: str
    mkfs_argv: Callable[[Mkfs], tuple[str, ...]]
    mkfs_device: Callable[[Sequence[str]], str]
    mkfs_members: Callable[[Sequence[str], int], int]
    grow_argv: Callable[[str, str, int | None], tuple[str, ...]]
    check_argv: Callable[[str], tuple[str, ...]]
    info_argv: Callable[[str, str], tuple[str, ...]]
    parse_info: Callable[[str], tuple[int, int, int]]
    parse_superblock: Callable[[bytes], Filesystem | None]
    copies: Callable[[int], Iterable[int]]
    shows_mount: Callable[[bytes], bool]
    without_debris: Callable[[bytes, bytes], bytes]
    log_offset: Callable[[bytes], int | None] = lambda _: None
    rehearsal: Rehearsal | None = None
    needs_replay: Callable[[bytes], bool] = lambda _: False
    replay_argv: Callable[[str], tuple[str, ...]] = lambda _: ()
    alignment_in_mount: bool = False
    mounted_size: MountedSize | None = None
