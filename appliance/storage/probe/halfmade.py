"""What a half-made volume holds: what its making writes, or more than that. Reads only, but for
an empty file in memory on which mkfs is run.

A disk that was blank when the making began may hold nothing but md's and LVM's own first MiB,
what mkfs of the filesystem with the mark's UUID writes, and
zeros. One that held something is compared by the fingerprint in its mark, block by block: each
is as it was, or was written by the making.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from appliance import paths
from appliance.model.disks import Array, Disk, Mark, MarkState, VolumeGroup
from appliance.model.plans import Layout, Volume
from appliance.storage.formats import (
    filesystem,
    lvm,
    marks,
    md,
    scan,
)
from appliance.storage.formats.filesystem_kind import Accepts
from appliance.storage.formats.md import Area, Stripe
from appliance.storage.policy import exclusions
from appliance.storage.probe import blockdev, probers, scanning
from appliance.system import process
from appliance.system.kernel import Kernel

# By slot: what mkfs writes there, where it has to be run to know (Rehearsal).
_Written = Callable[[], Mapping[int, Accepts]]

_SECTOR_BYTES = 512
_MKFS_TIMEOUT_SECONDS = 60
# mkfs writes the start of a log at once; a mount goes on right behind that.
_LOG_BYTES = 2 * scan.MIB
# The chunk moves the start of the data on very small disks only.
_SMALLEST_CHUNK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _Made:
    """What was built of ``disks`` (in slot order) so far; ``nodes`` are where it runs."""

    stripe: Stripe
    disks: tuple[Disk, ...]
    size_bytes: int
    nodes: tuple[str, ...] = ()

    def slot(self, disk: Disk) -> int | None:
        return next((at for at, one in enumerate(self.disks) if one.path == disk.path), None)

    def beginnings(self, slot: int) -> list[tuple[int, int]]:
        """(offset, length) on one member of where a filesystem begins, and its log."""
        start = blockdev.read_durable(
            self.disks[0].path, self.stripe.areas[0].start_bytes, filesystem.SUPERBLOCK_SIZE_BYTES
        )
        where = [(0, scan.HEAD_BYTES)]
        if (log := filesystem.log_offset(start)) is not None:
            where.append((log, _LOG_BYTES))
        return [
            read
            for offset, size in where
            for on, at, length in self.stripe.pieces(offset, size)
            if on == slot
            for read in scan.reads(at, at + length)
        ]


def look(
    disks: Sequence[Disk],
    arrays: Collection[Array],
    groups: Collection[VolumeGroup],
    layout: Layout,
    kernel: Kernel,
) -> list[Disk]:
    """``disks``, with :attr:`Mark.intact` of those that a volume is being made of."""
    making: dict[str, list[Disk]] = {}
    for disk in disks:
        if disk.mark is not None and disk.mark.state is MarkState.MAKING:
            making.setdefault(disk.mark.volume, []).append(disk)
    found = {}
    for name, own in making.items():
        volume = next((one for one in layout.volumes if one.name == name), None)
        seen = probers.caught(partial(_made, name, own, arrays, groups))
        made = None if isinstance(seen, Exception) else seen
        written = _once(partial(_written_by_mkfs, volume, made, own, kernel))
        readable = [
            one
            for one in own
            if exclusions.UNREADABLE not in one.signatures and not one.mountpoints
        ]
        judged = blockdev.at_once(
            [partial(_intact, one, made, written, layout.scan_seconds) for one in readable]
        )
        for disk, intact in zip(readable, judged, strict=True):
            mark = disk.mark
            if mark is not None and isinstance(intact, bool):
                found[disk.path] = replace(disk, mark=replace(mark, intact=intact))
    return [found.get(disk.path, disk) for disk in disks]


def _once(find: _Written) -> _Written:
    """``find`` for the threads of several disks: by the first that asks, and by no other."""
    lock, found = threading.Lock(), cache(find)

    def written() -> Mapping[int, Accepts]:
        with lock:
            return found()

    return written


# ---------------------------------------------------------------------- what was built


def _made(
    volume: str, own: Sequence[Disk], arrays: Collection[Array], groups: Collection[VolumeGroup]
) -> _Made | None:
    """What is on ``own`` so far, ``None`` if that is nothing, or not all of it is here."""
    return _array_of(own, arrays) or _group_of(volume, own, groups) or _plain(own)


def _array_of(own: Sequence[Disk], arrays: Collection[Array]) -> _Made | None:
    members = {
        one.md_member.slot: (one, one.md_member)
        for one in own
        if one.md_member is not None and one.md_member.slot is not None
    }
    if not members:
        return None
    first = min(members.items())[1][1]
    same = all(one.array_uuid == first.array_uuid for _, one in members.values())
    # Counted and not listed: a superblock may claim four thousand million members.
    whole = len(members) == first.member_count == max(members) + 1
    if not same or not whole or not first.chunk_bytes:
        return None
    in_order = [members[slot] for slot in sorted(members)]
    stripe = Stripe(
        tuple(Area(one.data_offset_bytes or 0, one.device_bytes or 0) for _, one in in_order),
        first.chunk_bytes,
        first.layout,
    )
    ids = {disk.id for disk, _ in in_order}
    return _Made(
        stripe,
        tuple(disk for disk, _ in in_order),
        stripe.size_bytes,
        tuple(one.path for one in arrays if ids & set(one.members)),
    )


def _group_of(volume: str, own: Sequence[Disk], groups: Collection[VolumeGroup]) -> _Made | None:
    by_id = {one.id: one for one in own}
    for group in groups:
        made = next((one for one in group.volumes if one.name == volume), None)
        if group.name != lvm.group_name(volume) or made is None or len(made.segments) != 1:
            continue
        (segment,) = made.segments
        if not segment or not set(segment) <= set(by_id):
            continue
        disks = [by_id[one] for one in segment]
        starts = [blockdev.data_starts(one.path) for one in disks]
        if any(len(one) != 1 for one in starts):
            continue
        each = made.size_bytes // len(segment)
        areas = tuple(Area(start + (made.start_bytes or 0), each) for (start,) in starts)
        chunk = made.stripe_bytes if len(segment) > 1 else each
        return _Made(
            Stripe(areas, chunk),
            tuple(disks),
            made.size_bytes,
            (made.path,) if made.active else (),
        )
    return None


def _plain(own: Sequence[Disk]) -> _Made | None:
    if len(own) != 1 or _at_front(own[0].mark):
        return None
    size = own[0].size_bytes
    return _Made(Stripe((Area(0, size),), size), (own[0],), size)


def _at_front(mark: Mark | None) -> bool:
    return mark is not None and mark.offset_bytes == marks.front_offset()


def _written_by_mkfs(
    volume: Volume | None, made: _Made | None, own: Sequence[Disk], kernel: Kernel
) -> Mapping[int, Accepts]:
    """By slot, what mkfs writes but zeros, from its run on an empty file of the same
    size; nothing for a kind that is known by its UUID alone.
    """
    kind = None if volume is None else filesystem.KINDS.get(volume.filesystem)
    if volume is None or made is None or kind is None or kind.rehearsal is None:
        return {}
    import tempfile  # a boot is in a hurry, and has such disks after a making that was cut off

    mark = own[0].mark
    plain = not _at_front(mark)
    folder = kernel.root / paths.SCANS_DIR.relative_to("/")
    with contextlib.ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(tempfile.NamedTemporaryFile(dir=folder, prefix="mkfs-"))
        os.ftruncate(file.fileno(), made.size_bytes)
        argv = filesystem.mkfs_argv(
            volume,
            file.name,
            members=len(made.disks),
            size_bytes=filesystem.plain_size(made.size_bytes) if plain else None,
            uuid=mark.filesystem_uuid if mark is not None else "",
            force=True,
        )
        process.run(argv, timeout_seconds=_MKFS_TIMEOUT_SECONDS)
        found: dict[int, dict[int, bytes]] = {}
        start = os.pread(file.fileno(), kind.rehearsal.start_bytes, 0)
        for offset in _data(file.fileno(), made.size_bytes):
            block = os.pread(file.fileno(), marks.BLOCK_BYTES, offset)
            if any(block):
                wanted = kind.rehearsal.expected(offset, block, start)
                for slot, at, _ in made.stripe.pieces(offset, len(block)):
                    found.setdefault(slot, {})[at] = wanted
    return {slot: kind.rehearsal.like(blocks) for slot, blocks in found.items()}


def _data(descriptor: int, size_bytes: int) -> Iterator[int]:
    """The offset of each block that is allocated of a sparse file, see lseek(2)."""
    end = 0
    while end < size_bytes:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError:  # nothing more
            return
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield from range(start, end, marks.BLOCK_BYTES)


# ------------------------------------------------------------------------ what it holds


def _intact(disk: Disk, made: _Made | None, written: _Written, scan_seconds: float) -> bool | None:
    """Whether ``disk`` holds only what the making writes, ``None`` if nothing tells."""
    mark = disk.mark
    if mark is None:
        return None
    note = marks.note_in(blockdev.read_durable(disk.path, mark.offset_bytes, marks.BLOCK_BYTES))
    if note is None or not (note.blank or note.fingerprint):
        return None
    for node in made.nodes if made is not None else ():
        blockdev.flush(node)
    slot = made.slot(disk) if made is not None else None
    beginnings = made.beginnings(slot) if made is not None and slot is not None else []
    accepts = _accepts(mark, slot, written, blank=note.blank)
    skip = (mark.offset_bytes,)
    if not note.blank:
        return _as_it_was(disk.path, note, mark.offset_bytes, accepts) and not any(
            filesystem.shows_mount(mark.filesystem_uuid, block[at : at + marks.BLOCK_BYTES])
            for _, block in scanning.blocks(disk.path, beginnings)
            for at in range(0, len(block), marks.BLOCK_BYTES)
        )
    places = [*beginnings, *scan.places(disk.size_bytes)]
    if scanning.first_nonzero(disk.path, places, skip, accepts) is not None:
        return False
    done = scanning.scan_device(
        disk.path, disk.size_bytes, seconds=scan_seconds, skip=skip, accepts=accepts
    )
    return done.nonzero is None


def _accepts(mark: Mark, slot: int | None, written: _Written, *, blank: bool) -> Accepts:
    """What the making writes to a disk with this mark: md and LVM to its first MiB, but for the
    first sector, and mkfs to the rest.
    """
    front = _at_front(mark)
    uuid = mark.filesystem_uuid
    bears = filesystem.of_mkfs(uuid, blank=blank) if uuid else None

    @cache
    def as_rehearsed() -> Accepts:
        found = None if slot is None else written().get(slot)
        return found or (lambda *_: False)

    def accepts(offset: int, block: bytes) -> bool:
        if front and offset < marks.EDGE_BYTES:
            return offset > 0 or not any(block[:_SECTOR_BYTES])
        return bears is not None and (bears(offset, block) or as_rehearsed()(offset, block))

    return accepts


# ---------------------------------------------------------------------- what it held before


def fingerprint(disk: Disk, note: marks.Note, mark_offset: int) -> str:
    """What ``disk``, about to be marked at ``mark_offset``, holds: for :class:`marks.Note`."""
    # Signatures are cleared, but not the rest of the block that they are in.
    changes = {mark_offset} | {
        (one.offset_bytes or 0) // marks.BLOCK_BYTES * marks.BLOCK_BYTES for one in disk.signatures
    }
    where = marks.fingerprint_places(note, _starts(note.size_bytes, mark_offset))
    return marks.fingerprint(
        None if at in changes else marks.sector_digest(sector)
        for at, _, sector in _sectors(disk.path, where)
    )


def _starts(size_bytes: int, mark_offset: int) -> list[int]:
    """Where what is made of a disk with its mark there may begin."""
    if mark_offset != marks.front_offset():
        return [0]
    return sorted({marks.EDGE_BYTES, md.data_offset_bytes(size_bytes, _SMALLEST_CHUNK_BYTES)})


def _as_it_was(node: str, note: marks.Note, mark_offset: int, accepts: Accepts) -> bool:
    where = marks.fingerprint_places(note, _starts(note.size_bytes, mark_offset))
    digests = marks.digests_of(note)
    if len(digests) != len(where):
        return False
    return all(
        was is None or not any(sector) or marks.sector_digest(sector) == was or accepts(at, block)
        for (at, block, sector), was in zip(_sectors(node, where), digests, strict=True)
    )


def _sectors(node: str, where: Sequence[int]) -> Iterator[tuple[int, bytes, bytes]]:
    """The block around each offset of ``where``: its own offset, the block, and the sector."""
    starts = [at // marks.BLOCK_BYTES * marks.BLOCK_BYTES for at in where]
    blocks = scanning.blocks(node, ((start, marks.BLOCK_BYTES) for start in starts))
    for at, (start, block) in zip(where, blocks, strict=True):
        yield start, block, block[at - start : at - start + marks.SECTOR_BYTES]
