"""Linux md: command lines, and what superblocks and mdadm say. Pure.

Nothing here runs a program. Members are recognised by reading the version 1.2 superblock
itself (``struct mdp_superblock_1``, include/uapi/linux/raid/md_p.h): a name in
it may hold any byte, and a line-based report would let such a name forge other fields.
Options are those of mdadm(8) 4.2 and later.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from appliance.model.disks import MdMember, Signature
from appliance.model.plans import Volume

HOMEHOST = "stripewright"
# What signature probers call a member.
SIGNATURE = "linux_raid_member"
# Where a 1.2 superblock lives, and how much of it can matter: 256 bytes and 2 a device.
SUPERBLOCK_OFFSET_BYTES = 4096
SUPERBLOCK_SIZE_BYTES = 4096

_MAGIC = 0xA92B4EFC
_SECTOR_BYTES = 512
_MIB = 1024 * 1024
# From here on a role is no slot: spare, faulty and journal are the three highest.
_ROLE_MAX = 0xFF00
_ROLE_SPARE = 0xFFFF
_HEADER_BYTES = 256
_FEATURE_RECOVERY_OFFSET = 2
_FEATURE_RESHAPE_ACTIVE = 4

_COPIES = re.compile(r"(near|far|offset)=2")
_LEVELS = {"md-raid0": "raid0", "md-raid10": "raid10"}
# RAID10 layouts: the layout file's word, mdadm's option, what md calls it when it is read back.
_RAID10_LAYOUTS = {
    "near2": ("n2", "near=2"),
    "far2": ("f2", "far=2"),
    "offset2": ("o2", "offset=2"),
}


def array_name(volume: str) -> str:
    """The name inside the superblock that makes an array ours."""
    return f"{HOMEHOST}:{volume}"


def array_path(volume: str) -> str:
    """The device node that mdadm and udev make for the array."""
    return f"/dev/md/{volume}"


def volume_of(name: str) -> str:
    """The volume that an array name carries, empty if the array is not ours."""
    host, separator, volume = name.partition(":")
    return volume if separator and host == HOMEHOST else ""


def level_of(volume: Volume) -> str:
    """The level that the volume is declared with, as sysfs and mdadm name it."""
    return _LEVELS[volume.stripe]


def layout_of(volume: Volume) -> str:
    """The RAID10 layout that is declared, as :class:`MdMember` has it; empty for RAID0."""
    return _RAID10_LAYOUTS[volume.raid10_layout][1] if volume.stripe == "md-raid10" else ""


# -------------------------------------------------------------------------- command lines


def create_argv(
    volume: Volume, members: Sequence[str], *, uuid: str = "", force: bool = False
) -> tuple[str, ...]:
    """Create the array. mdadm itself is the last one to refuse what is not blank.

    It then asks, and without a terminal that is a no. ``force`` tells it not to ask
    (``--run``). It also asks when the members of a RAID10 differ in size by more than one
    per cent. ``uuid`` is 32 hexadecimal digits, separated or not.
    """
    return (
        "mdadm",
        "--create",
        array_path(volume.name),
        *(("--run",) if force else ()),
        "--metadata=1.2",
        f"--homehost={HOMEHOST}",
        f"--name={volume.name}",
        *((f"--uuid={uuid}",) if uuid else ()),
        *_geometry_options(volume),
        f"--chunk={volume.chunk_bytes // 1024}K",
        f"--raid-devices={len(members)}",
        *members,
    )


def _geometry_options(volume: Volume) -> tuple[str, ...]:
    if volume.stripe != "md-raid10":
        return ("--level=0",)
    option = _RAID10_LAYOUTS[volume.raid10_layout][0]
    # Without a bitmap each unclean stop means reading and comparing every block again. It has
    # to be said: newer versions of mdadm ask, and small arrays get none by themselves.
    return ("--level=10", f"--layout={option}", "--bitmap=internal")


def assemble_argv(
    volume: str, uuid: str, members: Sequence[str], *, degraded: bool = False, update: str = ""
) -> tuple[str, ...]:
    """Assemble exactly these members by uuid; a RAID0 does not start with one missing.

    ``degraded`` starts a RAID10 with fewer members than it had (``--run``); without it mdadm
    refuses to. ``update`` is what it is to rewrite in the superblocks: ``devicesize`` after
    the disks were enlarged.
    """
    return (
        "mdadm",
        "--assemble",
        array_path(volume),
        *(("--run",) if degraded else ()),
        f"--homehost={HOMEHOST}",
        f"--uuid={uuid}",
        *((f"--update={update}",) if update else ()),
        *members,
    )


def stop_argv(path: str) -> tuple[str, ...]:
    return ("mdadm", "--stop", path)


def add_argv(path: str, disks: Sequence[str]) -> tuple[str, ...]:
    """Give a running RAID10 disks: a returning member is caught up, a new one rebuilt."""
    return ("mdadm", "--manage", path, "--add", *disks)


def grow_size_argv(path: str) -> tuple[str, ...]:
    """Use all of enlarged members. Not for far layouts (:func:`can_resize`)."""
    return ("mdadm", "--grow", path, "--size=max")


def can_resize(layout: str) -> bool:
    """Whether an array with this layout (``near=2``) can use members that became bigger.

    ``raid10_resize`` (drivers/md/raid10.c) has no way for far copies, which are counted from
    the middle of each member.
    """
    return not layout.startswith("far=")


# ------------------------------------------------------------------------- what it will have


def data_offset_bytes(device_bytes: int, chunk_bytes: int) -> int:
    """Where mdadm lets the data begin on a new member: superblock, bitmap and room to reshape.

    As mdadm's ``validate_geometry1`` and ``choose_bm_space`` count (super1.c): room of 128 MiB,
    halved until it is a thousandth of the disk, but two chunks at least; all in whole MiB.
    """
    device, room = device_bytes // _SECTOR_BYTES, 128 * _MIB // _SECTOR_BYTES
    while room << 10 > device and room // 2 >= 2 * chunk_bytes // _SECTOR_BYTES:
        room //= 2
    bitmap = 256 if device - 128 >= 200 * 2**21 else 128 if device - 8 > 8 * 2**21 else 8
    return -(-(24 + bitmap + room) * _SECTOR_BYTES // _MIB) * _MIB


def capacity_bytes(volume: Volume, areas: Sequence[int]) -> int:
    """The size of an array over members that have so many bytes for data, as the kernel counts."""
    members = tuple(Area(0, max(0, size)) for size in areas)
    return Stripe(members, volume.chunk_bytes, layout_of(volume)).size_bytes


@dataclass(frozen=True, slots=True)
class Area:
    """The data area of one member, in bytes."""

    start_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Stripe:
    """Where members keep what a stripe holds, LVM's as well as md's.

    ``areas`` in slot order; ``layout`` is that of RAID10 (``near=2``), else empty.
    """

    areas: tuple[Area, ...]
    chunk_bytes: int
    layout: str = ""

    @property
    def _rows(self) -> list[int]:
        """How many whole chunks each member has."""
        return [area.size_bytes // self.chunk_bytes for area in self.areas]

    @property
    def size_bytes(self) -> int:
        """RAID0 uses all of each member in whole chunks (``raid0_size``), RAID10 as much as the
        smallest has, with two copies of each chunk (``raid10_size``).
        """
        rows = self._rows
        if not self.layout:
            return sum(rows) * self.chunk_bytes
        if self.layout == "near=2":
            return min(rows) * len(rows) // 2 * self.chunk_bytes
        return min(rows) // 2 * len(rows) * self.chunk_bytes

    def pieces(self, offset_bytes: int, length: int) -> Iterator[tuple[int, int, int]]:
        """(slot, offset on that member, length) of each copy of a range of the stripe.

        What is beyond its end has no pieces.
        """
        zones = self._zones()
        end = min(offset_bytes + length, self.size_bytes)
        while offset_bytes < end:
            chunk, within = divmod(offset_bytes, self.chunk_bytes)
            some = min(self.chunk_bytes - within, end - offset_bytes)
            for slot, row in self._copies(chunk) if self.layout else _in_zone(zones, chunk):
                start = self.areas[slot].start_bytes
                yield slot, start + row * self.chunk_bytes + within, some
            offset_bytes += some

    def _zones(self) -> list[tuple[int, int, list[int]]]:
        """(first chunk, first row, slots) of each zone of a RAID0: where the smallest members
        end, the next zone is striped over the rest (drivers/md/raid0.c, ``create_strip_zones``).
        """
        rows = self._rows
        found = []
        chunk = row = 0
        for end in sorted(set(rows)):
            slots = [slot for slot, has in enumerate(rows) if has >= end]
            found.append((chunk, row, slots))
            chunk += (end - row) * len(slots)
            row = end
        return found

    def _copies(self, chunk: int) -> Iterator[tuple[int, int]]:
        """(slot, row) of both copies (drivers/md/raid10.c, ``__raid10_find_phys``)."""
        found = _COPIES.fullmatch(self.layout)
        if found is None:
            raise ValueError(f"no layout of ours: {self.layout}")
        members = len(self.areas)
        if found[1] == "near":
            for copy in (2 * chunk, 2 * chunk + 1):
                yield copy % members, copy // members
            return
        row, slot = divmod(chunk, members)
        far = found[1] == "far"
        first = row if far else 2 * row
        yield slot, first
        yield (slot + 1) % members, first + (min(self._rows) // 2 if far else 1)


def _in_zone(zones: Sequence[tuple[int, int, list[int]]], chunk: int) -> Iterator[tuple[int, int]]:
    first, row, slots = next(zone for zone in reversed(zones) if zone[0] <= chunk)
    down, across = divmod(chunk - first, len(slots))
    yield slots[across], row + down


# ------------------------------------------------------------------------- what was found


def format_uuid(raw: bytes) -> str:
    """A version 1 uuid as mdadm writes it: four groups of eight digits."""
    text = raw.hex()
    return ":".join(text[at : at + 8] for at in range(0, 32, 8))


def level_name(level: int) -> str:
    """The kernel's personality number as the name in sysfs."""
    return "linear" if level == -1 else f"raid{level}"


def layout_name(word: int) -> str:
    """The layout word of RAID10 (superblock, sysfs ``md/layout``) as mdadm prints it.

    The lowest byte counts near copies, the next far copies; bit 16 makes far ones offset. Empty
    for the words of other levels, which have other meanings.
    """
    near, far = word & 0xFF, word >> 8 & 0xFF
    if not near or not far:
        return ""
    parts = [f"near={near}"] if near != 1 else []
    if far != 1:
        parts.append(f"{'offset' if word & 0x10000 else 'far'}={far}")
    return ", ".join(parts)


def parse_superblock(block: bytes) -> MdMember | None:
    """A version 1.2 superblock, or ``None`` if it is not one that can be believed.

    ``block`` is read at :data:`SUPERBLOCK_OFFSET_BYTES`; the superblock says itself where it
    belongs, so one of version 1.0 or 1.1 that lies there by chance is not taken. The checksum is
    the kernel's ``calc_sb_1_csum``: the sum of the little-endian words with the sum field as zero.
    """
    if len(block) < _HEADER_BYTES:
        return None
    magic, major, features = struct.unpack_from("<III", block, 0)
    if magic != _MAGIC or major != 1:
        return None
    data_offset, data_sectors, super_offset = struct.unpack_from("<QQQ", block, 128)
    if super_offset * _SECTOR_BYTES != SUPERBLOCK_OFFSET_BYTES:
        return None
    events, _resync, stored_sum, max_dev = struct.unpack_from("<QQII", block, 200)
    used = _HEADER_BYTES + 2 * max_dev
    if used > len(block) or _checksum(block[:used]) != stored_sum:
        return None
    level, layout, used_sectors, chunk_sectors, raid_disks = struct.unpack_from("<iIQII", block, 72)
    (dev_number,) = struct.unpack_from("<I", block, 160)
    role = _ROLE_SPARE
    if dev_number < max_dev:
        (role,) = struct.unpack_from("<H", block, _HEADER_BYTES + 2 * dev_number)
    name = level_name(level)
    return MdMember(
        array_name=block[32:64].split(b"\0", 1)[0].decode(errors="backslashreplace"),
        array_uuid=format_uuid(block[16:32]),
        member_uuid=format_uuid(block[168:184]),
        level=name,
        member_count=raid_disks,
        chunk_bytes=chunk_sectors * _SECTOR_BYTES,
        slot=role if role < _ROLE_MAX else None,
        data_offset_bytes=data_offset * _SECTOR_BYTES,
        layout=layout_name(layout) if name == "raid10" else "",
        events=events,
        device_bytes=data_sectors * _SECTOR_BYTES,
        active_slots=_active_slots(block[_HEADER_BYTES:used], raid_disks),
        recovering=bool(features & _FEATURE_RECOVERY_OFFSET),
        reshaping=bool(features & _FEATURE_RESHAPE_ACTIVE),
        used_bytes=used_sectors * _SECTOR_BYTES if name == "raid10" else None,
    )


def with_used_bytes(block: bytes, used_bytes: int) -> bytes:
    """The superblock in ``block``, which :func:`parse_superblock` takes, with that size."""
    changed = bytearray(block)
    struct.pack_into("<Q", changed, 80, used_bytes // _SECTOR_BYTES)
    (max_dev,) = struct.unpack_from("<I", block, 220)
    used = bytes(changed[: _HEADER_BYTES + 2 * max_dev])
    struct.pack_into("<I", changed, 216, _checksum(used))
    return bytes(changed)


def signature(member: MdMember) -> Signature:
    """What the signature probers call this superblock."""
    digits = member.array_uuid.replace(":", "")
    return Signature(
        kind=SIGNATURE,
        offset_bytes=SUPERBLOCK_OFFSET_BYTES,
        label=member.array_name,
        uuid=str(UUID(digits)),
    )


def _active_slots(roles: bytes, raid_disks: int) -> tuple[int, ...]:
    """The slots that the role table gives to some device, whether in sync or being rebuilt."""
    taken = set(struct.unpack(f"<{len(roles) // 2}H", roles))
    return tuple(sorted(role for role in taken if role < min(raid_disks, _ROLE_MAX)))


def _checksum(block: bytes) -> int:
    zeroed = block[:216] + b"\0\0\0\0" + block[220:]
    total: int = sum(struct.unpack(f"<{len(zeroed) // 4}I", zeroed[: len(zeroed) // 4 * 4]))
    if len(zeroed) % 4:
        total += struct.unpack_from("<H", zeroed, len(zeroed) - 2)[0]
    return ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF
