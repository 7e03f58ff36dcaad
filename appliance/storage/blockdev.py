"""Looking at one block device without changing it: signatures, zeroes, superblocks.

Everything here opens read-only. Two signature probers are asked, because each knows kinds
that the other does not and a disk must be blank to both; and because some databases
write to raw devices without any signature, blank also means that samples read as zero.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass

from appliance.errors import CommandFailed
from appliance.model import Filesystem, Signature
from appliance.storage import filesystem, md
from appliance.system import process

_PROBE_TIMEOUT_SECONDS = 60
_EDGE_BYTES = 1024 * 1024
_SAMPLE_BYTES = 4096
_SAMPLE_COUNT = 62
# blkid's exit status: nothing found; and more than one contradicting signature.
_BLKID_NOTHING = 2
_BLKID_AMBIVALENT = 8


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read off a device. ``nonzero_offset_bytes`` is the first sample that is not zero."""

    signatures: tuple[Signature, ...]
    nonzero_offset_bytes: int | None

    @property
    def blank(self) -> bool:
        return not self.signatures and self.nonzero_offset_bytes is None


def read_contents(node: str, size_bytes: int) -> Contents:
    """Signatures by both probers and the zero samples. Raises :class:`OSError` if unreadable."""
    return Contents(
        signatures=merge_signatures(_wipefs(node), _blkid(node)),
        nonzero_offset_bytes=first_nonzero(node, size_bytes),
    )


def _wipefs(node: str) -> tuple[Signature, ...]:
    done = process.run(
        ["wipefs", "--no-act", "--json", node], timeout_seconds=_PROBE_TIMEOUT_SECONDS
    )
    return parse_wipefs(done.stdout)


def _blkid(node: str) -> tuple[Signature, ...]:
    argv = ["blkid", "--probe", "--output", "udev", node]
    done = process.run(argv, timeout_seconds=_PROBE_TIMEOUT_SECONDS, check=False)
    if done.returncode == _BLKID_NOTHING:
        return ()
    if done.returncode == _BLKID_AMBIVALENT:
        return (Signature(kind="ambivalent"),)
    if done.returncode != 0:
        raise CommandFailed(argv, done.returncode, done.stderr)
    return parse_blkid(done.stdout)


def parse_wipefs(text: str) -> tuple[Signature, ...]:
    """``wipefs --no-act --json``: every signature with its offset, several to a disk."""
    if not text.strip():
        return ()
    return tuple(
        Signature(
            kind=str(row.get("type") or "unknown"),
            offset_bytes=int(str(row["offset"]), 16),
            label=str(row.get("label") or ""),
            uuid=str(row.get("uuid") or ""),
        )
        for row in json.loads(text)["signatures"]
    )


def parse_blkid(text: str) -> tuple[Signature, ...]:
    """``blkid --probe --output udev``: at most a filesystem and a partition table.

    That format is taken because it encodes what could break a line.
    """
    facts = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    label = facts.get("ID_FS_LABEL", "")
    found = []
    if kind := facts.get("ID_FS_TYPE"):
        found.append(Signature(kind=kind, label=label, uuid=facts.get("ID_FS_UUID", "")))
    if kind := facts.get("ID_PART_TABLE_TYPE"):
        found.append(Signature(kind=kind, uuid=facts.get("ID_PART_TABLE_UUID", "")))
    return tuple(found)


def merge_signatures(*probers: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """All that any prober found; of one kind the finding with an offset is kept."""
    merged = list(probers[0])
    for found in probers[1:]:
        known = {signature.kind for signature in merged}
        merged += [signature for signature in found if signature.kind not in known]
    return tuple(sorted(merged, key=lambda one: (one.offset_bytes or 0, one.kind)))


def sample_offsets(start_bytes: int, end_bytes: int) -> list[tuple[int, int]]:
    """(offset, length) of what is read between two offsets: both edges and even steps between."""
    length = end_bytes - start_bytes
    if length <= 2 * _EDGE_BYTES:
        return [(start_bytes, length)] if length > 0 else []
    inner = length - 2 * _EDGE_BYTES
    step = inner / (_SAMPLE_COUNT + 1)
    samples = [
        (start_bytes + _EDGE_BYTES + int(step * (at + 1)) // _SAMPLE_BYTES * _SAMPLE_BYTES, 4096)
        for at in range(_SAMPLE_COUNT)
    ]
    return [
        (start_bytes, _EDGE_BYTES),
        *[(offset, min(size, end_bytes - offset)) for offset, size in samples],
        (end_bytes - _EDGE_BYTES, _EDGE_BYTES),
    ]


def first_nonzero(node: str, size_bytes: int, *, start_bytes: int = 0) -> int | None:
    """Offset of the first sampled byte that is not zero, ``None`` if all samples are zero."""
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for offset, length in sample_offsets(start_bytes, size_bytes):
            block = os.pread(descriptor, length, offset)
            if len(block) < length:
                raise OSError(errno.EIO, "short read", node)
            rest = block.lstrip(b"\0")
            if rest:
                return offset + len(block) - len(rest)
    finally:
        os.close(descriptor)
    return None


def read_at(node: str, offset_bytes: int, length: int) -> bytes:
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, length, offset_bytes)
    finally:
        os.close(descriptor)


def is_busy(node: str) -> bool:
    """Whether somebody (a mount, md, dm, a program) holds the device exclusively, see open(2)."""
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    return False


def read_xfs(node: str, offset_bytes: int = 0) -> Filesystem | None:
    """The XFS that starts at ``offset_bytes``, if one does."""
    return filesystem.parse_xfs_superblock(
        read_at(node, offset_bytes, filesystem.SUPERBLOCK_SIZE_BYTES)
    )


def read_md_superblock(node: str) -> bytes:
    return read_at(node, md.SUPERBLOCK_OFFSET_BYTES, md.SUPERBLOCK_SIZE_BYTES)
