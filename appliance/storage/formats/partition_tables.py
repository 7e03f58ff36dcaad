"""Partition tables that the signature probers do not report. Pure.

What wipefs and blkid (util-linux 2.38 and 2.41) accept is a table that is whole for the sector
size at hand. Seen to be missed by both: a GPT header at the place of the other sector size, one
whose checksum is wrong, an MBR whose entry was damaged. All are remains of
partitions that may be wanted. A hybrid table is reported as a GPT alone; its other half counts.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

from appliance.model.disks import Signature

# Enough for the header at sector 1 of either sector size, and for its copy in the last one.
HEAD_BYTES = 8192
TAIL_BYTES = 4096

# libblkid's names for partition tables (libblkid/src/partitions).
KINDS = frozenset(
    {"gpt", "dos", "pmbr", "mac", "sun", "bsd", "sgi", "minix", "minix-pt", "atari", "dasd",
     "solaris-x86", "unixware", "ultrix", "damaged-gpt", "damaged-dos", "hybrid"}
)  # fmt: skip

_SECTOR_SIZES = (512, 4096)
_GPT_MAGIC = b"EFI PART"
_ENTRIES_AT = 446
_ENTRY_BYTES = 16
_BOOT_MAGIC = b"\x55\xaa"
_PROTECTIVE = 0xEE


def remains(
    head: bytes, tail: bytes, size_bytes: int, known: Collection[Signature]
) -> tuple[Signature, ...]:
    """What ``head`` and ``tail`` of a disk still have of a table, beyond the ``known`` signatures.

    Nothing is looked for on a disk that has another kind of signature: that is reason enough,
    and what looks like a table in a filesystem's last block may be a file's.
    """
    kinds = {signature.kind.lower() for signature in known}
    if kinds - KINDS:
        return ()
    found = []
    if "gpt" not in kinds:
        places = [(head, sector, sector) for sector in _SECTOR_SIZES]
        places += [(tail, len(tail) - sector, size_bytes - sector) for sector in _SECTOR_SIZES]
        found = [
            Signature(kind="damaged-gpt", offset_bytes=offset)
            for block, at, offset in places
            if at >= 0 and block[at : at + len(_GPT_MAGIC)] == _GPT_MAGIC
        ][:1]
    types = _entry_types(head, size_bytes)
    has_gpt = bool(found) or "gpt" in kinds
    if has_gpt and types - {_PROTECTIVE}:
        found.append(Signature(kind="hybrid", offset_bytes=_ENTRIES_AT))
    elif not kinds and not found and types:
        found.append(Signature(kind="damaged-dos", offset_bytes=_ENTRIES_AT))
    return tuple(found)


def _entry_types(head: bytes, size_bytes: int) -> set[int]:
    """The types of the MBR entries that could be partitions of this disk."""
    if len(head) < 512 or head[510:512] != _BOOT_MAGIC:
        return set()
    types = set()
    for number in range(4):
        entry = head[_ENTRIES_AT + number * _ENTRY_BYTES :][:_ENTRY_BYTES]
        kind = entry[4]
        start, length = struct.unpack_from("<II", entry, 8)
        if kind and start and length and start * 512 < size_bytes:
            types.add(kind)
    return types
