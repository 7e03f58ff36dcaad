"""Where a device is read to find that it holds nothing, and what that shows. Pure.

A device is first read at the *places* where any known format keeps something: its edges, and
where second copies of superblocks are. Then it is read in full, or, where it is large and there
is no time for that, at random offsets, one in each of many equal strata. What may have been missed
by chance is a number (:attr:`Scan.unseen_bytes`) and is shown wherever a disk is called blank.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from itertools import chain
from random import Random

from appliance.model.disks import Scan
from appliance.storage.formats import filesystem

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

BLOCK_BYTES = 4096
READ_BYTES = MIB
SAMPLE_BYTES = 64 * KIB
# What is no larger is read in full, however long that takes.
SMALL_BYTES = 512 * MIB
# One stratified round; as many as there is time for are read.
STRATA = 4096

# All that libblkid (util-linux 2.41, libblkid/src) looks at before it has found something inside
# of it. Furthest from the start: a second LUKS2 header at 4 MiB, 4 KiB long (superblocks/luks.c;
# the next are VMFS, bcachefs and UDF, at 2 MiB). Furthest from the end: Promise RAID, 3087 sectors
# (superblocks/promise_raid.c; the next is bcachefs, 1 MiB).
HEAD_BYTES = 4 * MIB + 64 * KIB
TAIL_BYTES = 2 * MIB

# btrfs: BTRFS_SUPER_INFO_OFFSET and its mirrors (Documentation/filesystems/btrfs).
_BTRFS = (64 * MIB, 256 * GIB)
# Ceph's BlueStore repeats its label (BDEV_LABEL_POSITIONS in os/bluestore/BlueStore.cc).
_CEPH = (GIB, 10 * GIB, 100 * GIB, 1000 * GIB)
# The end of the last 32 MiB may hold a DDF configuration, which its anchor points to.
_DDF_BYTES = 32 * MIB
# Oracle ASM keeps a second header in the last but one block of the second allocation unit.
_ASM_UNITS = tuple(MIB << power for power in range(7))

# Nothing that is not zero and takes more room is missed with a higher probability.
_MISSED = 1e-4


def places(size_bytes: int) -> list[tuple[int, int]]:
    """(offset, length) of what is read of every device, in order and without overlap; none is
    longer than :data:`READ_BYTES`.
    """
    head = (0, min(HEAD_BYTES, size_bytes))
    tail = (max(0, size_bytes - TAIL_BYTES), size_bytes)
    inner = (
        (at // BLOCK_BYTES * BLOCK_BYTES, at // BLOCK_BYTES * BLOCK_BYTES + SAMPLE_BYTES)
        for at in _second_copies(size_bytes)
    )
    merged: list[tuple[int, int]] = []
    for start, end in sorted(chain((head, tail), inner)):
        if start >= size_bytes:
            continue
        last = merged[-1] if merged else (0, 0)
        if merged and start <= last[1]:
            merged[-1] = (last[0], max(last[1], min(end, size_bytes)))
        else:
            merged.append((start, min(end, size_bytes)))
    return [place for start, end in merged for place in reads(start, end)]


def tail(size_bytes: int) -> list[tuple[int, int]]:
    """The (offset, length) of ``places`` at the end of the device."""
    return list(reads(max(0, size_bytes - TAIL_BYTES), size_bytes))


def reads(start: int, end: int) -> Iterator[tuple[int, int]]:
    """(offset, length) of what is between, in parts that are read at once."""
    for at in range(start, end, READ_BYTES):
        yield at, min(READ_BYTES, end - at)


def _second_copies(size_bytes: int) -> Iterator[int]:
    yield from _BTRFS
    yield from _CEPH
    yield from (2 * unit - 2 * BLOCK_BYTES for unit in _ASM_UNITS)
    yield from range(max(0, size_bytes - _DDF_BYTES), size_bytes, MIB)
    # Partitions and payloads begin at round numbers, and databases in the middle.
    yield from (MIB << power for power in range(max(0, (size_bytes // MIB).bit_length())))
    yield from (size_bytes * part // 8 for part in range(1, 8))
    for kind in filesystem.KINDS.values():
        yield from kind.copies(size_bytes)


def stratified(size_bytes: int, random: Random) -> Iterator[tuple[int, int]]:
    """(offset, length) of one round of samples: one in each stratum, the strata in random order,
    so that a round that is cut short is a fair sample, too. Offsets are whole samples.
    """
    slots = -(-size_bytes // SAMPLE_BYTES)
    strata = list(range(min(STRATA, slots)))
    random.shuffle(strata)
    for stratum in strata:
        first = slots * stratum // len(strata)
        last = slots * (stratum + 1) // len(strata) - 1
        at = random.randint(first, last) * SAMPLE_BYTES
        yield at, min(SAMPLE_BYTES, size_bytes - at)


def pinned(size_bytes: int, seed: str) -> list[tuple[int, int]]:
    """(offset, length) of the samples by which contents are told from others later: the places,
    and one sample in each stratum, at offsets that follow from ``seed``. All of a small device.
    """
    slots = -(-size_bytes // SAMPLE_BYTES)
    if slots <= STRATA:
        return list(reads(0, size_bytes))
    return sorted([*places(size_bytes), *_pinned(size_bytes, slots, seed)])


def _pinned(size_bytes: int, slots: int, seed: str) -> Iterator[tuple[int, int]]:
    for stratum in range(STRATA):
        first = slots * stratum // STRATA
        width = slots * (stratum + 1) // STRATA - first
        drawn = hashlib.sha256(f"{seed} {stratum}".encode()).digest()
        at = (first + int.from_bytes(drawn[:8], "big") % width) * SAMPLE_BYTES
        yield at, min(SAMPLE_BYTES, size_bytes - at)


def sampled(size_bytes: int, read_bytes: int, samples: int) -> Scan:
    """What ``samples`` random reads show beyond ``read_bytes`` in all.

    Data of X bytes, in one piece or in many, fills at least X / size of the samples that could be
    drawn. In a round each stratum is sampled once; the chance that none of n samples falls on it
    is at most (1 - X / size)^n (the inequality of the arithmetic and geometric means over strata).
    """
    missed = math.ceil(size_bytes * -math.log(_MISSED) / samples) if samples else size_bytes
    return Scan(read_bytes, samples, min(missed, size_bytes))
