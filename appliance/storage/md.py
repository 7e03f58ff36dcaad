"""Linux md: command lines, and what superblocks and mdadm say. Pure.

Nothing here runs a program. Members are recognised by reading the version 1.2 superblock
itself (``struct mdp_superblock_1``, include/uapi/linux/raid/md_p.h): a name in
it may hold any byte, and a line-based report would let such a name forge other fields.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from appliance.model import MdMember

HOMEHOST = "stripewright"
# Where a 1.2 superblock lives, and how much of it can matter: 256 bytes and 2 a device.
SUPERBLOCK_OFFSET_BYTES = 4096
SUPERBLOCK_SIZE_BYTES = 4096

_MAGIC = 0xA92B4EFC
_SECTOR_BYTES = 512
_ROLE_SPARE = 0xFFFF
_ROLE_FAULTY = 0xFFFE
_HEADER_BYTES = 256


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


def create_argv(
    volume: str, chunk_bytes: int, members: Sequence[str], *, over_members: bool = False
) -> tuple[str, ...]:
    """Create a RAID0. mdadm itself is the last one to refuse what is not blank.

    It then asks, and without a terminal that is a no. ``over_members`` tells it not to ask
    (``--run``): members of the volume's own lost or half-made array are to be made anew.
    """
    return (
        "mdadm",
        "--create",
        array_path(volume),
        *(("--run",) if over_members else ()),
        "--metadata=1.2",
        f"--homehost={HOMEHOST}",
        f"--name={volume}",
        "--level=0",
        f"--chunk={chunk_bytes // 1024}K",
        f"--raid-devices={len(members)}",
        *members,
    )


def assemble_argv(volume: str, uuid: str, members: Sequence[str]) -> tuple[str, ...]:
    """Assemble exactly these members by uuid; a RAID0 does not start with one missing."""
    return (
        "mdadm",
        "--assemble",
        array_path(volume),
        f"--homehost={HOMEHOST}",
        f"--uuid={uuid}",
        *members,
    )


def stop_argv(path: str) -> tuple[str, ...]:
    return ("mdadm", "--stop", path)


def detail_argv(path: str) -> tuple[str, ...]:
    return ("mdadm", "--detail", "--export", path)


def format_uuid(raw: bytes) -> str:
    """A version 1 uuid as mdadm writes it: four groups of eight digits."""
    text = raw.hex()
    return ":".join(text[at : at + 8] for at in range(0, 32, 8))


def level_name(level: int) -> str:
    """The kernel's personality number as the name in sysfs."""
    return "linear" if level == -1 else f"raid{level}"


def parse_superblock(block: bytes) -> MdMember | None:
    """A version 1.2 superblock, or ``None`` if it is not one that can be believed.

    ``block`` is read at :data:`SUPERBLOCK_OFFSET_BYTES`. The checksum is the kernel's
    ``calc_sb_1_csum``: the sum of the little-endian words with the sum field as zero.
    """
    if len(block) < _HEADER_BYTES:
        return None
    magic, major = struct.unpack_from("<II", block, 0)
    if magic != _MAGIC or major != 1:
        return None
    (super_offset,) = struct.unpack_from("<Q", block, 144)
    if super_offset * _SECTOR_BYTES != SUPERBLOCK_OFFSET_BYTES:
        return None
    stored_sum, max_dev = struct.unpack_from("<II", block, 216)
    used = _HEADER_BYTES + 2 * max_dev
    if used > len(block) or _checksum(block[:used]) != stored_sum:
        return None
    level, _layout, _size, chunk_sectors, raid_disks = struct.unpack_from("<iIQII", block, 72)
    (data_offset,) = struct.unpack_from("<Q", block, 128)
    (dev_number,) = struct.unpack_from("<I", block, 160)
    role = _ROLE_SPARE
    if dev_number < max_dev:
        (role,) = struct.unpack_from("<H", block, _HEADER_BYTES + 2 * dev_number)
    return MdMember(
        array_name=block[32:64].split(b"\0", 1)[0].decode(errors="backslashreplace"),
        array_uuid=format_uuid(block[16:32]),
        member_uuid=format_uuid(block[168:184]),
        level=level_name(level),
        member_count=raid_disks,
        chunk_bytes=chunk_sectors * _SECTOR_BYTES,
        slot=None if role in {_ROLE_SPARE, _ROLE_FAULTY} else role,
        data_offset_bytes=data_offset * _SECTOR_BYTES,
    )


def _checksum(block: bytes) -> int:
    zeroed = block[:216] + b"\0\0\0\0" + block[220:]
    total: int = sum(struct.unpack(f"<{len(zeroed) // 4}I", zeroed[: len(zeroed) // 4 * 4]))
    if len(zeroed) % 4:
        total += struct.unpack_from("<H", zeroed, len(zeroed) - 2)[0]
    return ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF


def parse_export(text: str) -> dict[str, str]:
    """``KEY=value`` lines of ``mdadm --detail --export``; the first of a key counts.

    mdadm prints the identity keys before the per-device ones and escapes nothing, so a
    later line that repeats a key cannot be trusted.
    """
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and key.startswith("MD_"):
            facts.setdefault(key, value)
    return facts


def detail_differences(
    facts: Mapping[str, str], *, name: str, level: str, members: int, uuid: str = ""
) -> list[str]:
    """What a running array (``mdadm --detail --export``) has other than it should."""
    wanted = {"MD_NAME": name, "MD_LEVEL": level, "MD_DEVICES": str(members)}
    if uuid:
        wanted["MD_UUID"] = uuid
    return [
        f"{key} is {facts.get(key, 'missing')}, not {value}"
        for key, value in wanted.items()
        if facts.get(key) != value
    ]
