"""Where on a disk a mark of ours can be believed, by what else is on it. Pure.

A mark is no secret: a user of a mounted volume can write one into a file, and have it land where
marks are looked for. So a mark counts only where the form that the disk has (md,
LVM, a filesystem) keeps no data. With a form that is not known here it counts nowhere.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

from appliance.storage.formats import filesystem, lvm, marks, md

# What has to be read from the start of a disk: up to the end of an md superblock.
HEAD_BYTES = 8192

# blkid's word for several kinds; wipefs names each of them.
_SEVERAL = "ambivalent"

# LVM2's label is in one of the first four sectors and says where the physical volume's header is:
# a UUID of 32 bytes, a size of 8, then the places of its data (lib/format_text/layout.h).
_LABEL_SECTORS = range(0, 2048, 512)
_DATA_AREAS_AT = 32 + 8
_NOWHERE = 1 << 64


def believed(head: bytes, size_bytes: int, kinds: Collection[str] = ()) -> tuple[int, ...]:
    """The places at which a mark on this disk counts.

    ``head`` are its first :data:`HEAD_BYTES`, ``kinds`` the signatures that probers found, if
    they were asked. What is in ``head`` is seen without them.
    """
    if size_bytes < marks.MIN_DISK_BYTES:
        return ()
    member = md.parse_superblock(head[md.SUPERBLOCK_OFFSET_BYTES :])
    plain = filesystem.parse_superblock(head)
    labels = [at for at in _LABEL_SECTORS if _is_label(head[at:])]
    found = {*kinds} - {_SEVERAL}
    found |= {md.SIGNATURE} if member else set()
    found |= {plain.kind} if plain else set()
    found |= {lvm.SIGNATURE} if labels else set()
    front, end = marks.offsets(size_bytes)
    if not found:
        return (front, end)
    if found <= {md.SIGNATURE, lvm.SIGNATURE}:
        # Where the data begins has to be known: arrays and groups of others may begin early.
        starts = [member.data_offset_bytes if member else None] if md.SIGNATURE in found else []
        if lvm.SIGNATURE in found:
            starts += [_data_start(head, at) for at in labels] or [None]
        behind = front + marks.BLOCK_BYTES
        return (front,) if all(at is not None and at >= behind for at in starts) else ()
    # Ours leave the last MiB out; others may not.
    if found <= filesystem.signatures() and plain is not None and (plain.size_bytes or 0) <= end:
        return (end,)
    return ()


def data_starts(head: bytes) -> tuple[int, ...]:
    """Where the data of md and LVM begin on this disk, as far as superblock and label say."""
    member = md.parse_superblock(head[md.SUPERBLOCK_OFFSET_BYTES :])
    starts = [member.data_offset_bytes if member else None]
    starts += [_data_start(head, at) for at in _LABEL_SECTORS if _is_label(head[at:])]
    return tuple(at for at in starts if at is not None and at != _NOWHERE)


def _is_label(sector: bytes) -> bool:
    return sector[:8] == b"LABELONE" and sector[24:32] == b"LVM2 001"


def _data_start(head: bytes, label: int) -> int | None:
    """Where the first data area of the physical volume with this label begins."""
    (header,) = struct.unpack_from("<I", head, label + 20)
    at = label + header + _DATA_AREAS_AT
    if at + 8 > len(head):
        return None
    (start,) = struct.unpack_from("<Q", head, at)
    # Zero ends the list: a volume without a data area keeps nothing anywhere.
    return int(start) or _NOWHERE
