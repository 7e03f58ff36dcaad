"""One block device: what is on it, and our own marks on it.

Looking opens read-only. Two signature probers are asked about what is not zero, because each
knows kinds that the other does not and a disk must be blank to both; where all places that they
could look at are zero, their answer is known (decision 0019). Because some databases write to
raw devices without any signature, blank also means that all else that was read is zero
(``formats/scan``); and what both miss of a damaged partition table is looked for,
so that the reason can be named.

:func:`write_block` and :func:`clear` are the only writes; only the executor's chores call them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from appliance.model.disks import Filesystem, Mark, MarkState, Scan, Signature
from appliance.storage.formats import data_areas, filesystem, marks, md, partition_tables, scan
from appliance.storage.probe import probers, scanning

T = TypeVar("T")

_READERS = 32


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read off a device. ``nonzero_offset_bytes`` is where a byte was found that is not
    zero, ``scan`` how much was read beyond the places of known formats.
    """

    signatures: tuple[Signature, ...]
    nonzero_offset_bytes: int | None
    mark: Mark | None = None
    scan: Scan | None = None

    @property
    def blank(self) -> bool:
        return not self.signatures and self.nonzero_offset_bytes is None


# ---------------------------------------------------------------------------- looking


@dataclass(frozen=True, slots=True)
class Device:
    """What is to be read: ``serial`` of a whole disk, ``None`` for what was built of disks.

    ``scan`` looks for what is not zero where all places of known formats are; it is given the
    places of marks, which count as zero.
    """

    node: str
    size_bytes: int
    serial: str | None = None
    scan: Callable[[Collection[int]], scanning.Scanned] | None = None


def read_contents(devices: Sequence[Device]) -> list[Contents | Exception]:
    """Signatures, samples and, on whole disks, our mark, which is no content, and what is left
    of a damaged partition table. Both probers are started once for all devices, and only for
    those whose edges are not zero. In place of a device that cannot be read is the error.
    """
    found = at_once([partial(_read_itself, one) for one in devices])
    asked = [
        one.node
        for one, read in zip(devices, found, strict=True)
        if not isinstance(read, Exception) and not read.quiet
    ]
    signatures = dict(zip(asked, probers.ask(asked), strict=True))
    return [
        read
        if isinstance(read, Exception)
        else probers.caught(partial(_put_together, one, read, signatures.get(one.node, ())))
        for one, read in zip(devices, found, strict=True)
    ]


def at_once(reads: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """All of ``reads``, some at a time: each waits for its disk, and machines have up to 24."""
    found: list[T | Exception] = [OSError(errno.EIO, "not read")] * len(reads)
    rest = iter(range(len(reads)))

    def work() -> None:
        # Taking a number from a range is one step of the interpreter: no two get the same.
        for at in rest:
            found[at] = probers.caught(reads[at])

    scanning.in_threads(work, min(_READERS, len(reads)))
    return found


def read_disk(node: str, size_bytes: int, serial: str) -> Contents:
    """As :func:`read_contents`, for one whole disk. Raises what speaks against it."""
    (found,) = read_contents([Device(node, size_bytes, serial)])
    if isinstance(found, Exception):
        raise found
    return found


@dataclass(frozen=True, slots=True)
class _Itself:
    """What was read without any prober; ``quiet``: none would find anything."""

    marks: tuple[Mark, ...]
    nonzero: int | None
    quiet: bool
    scan: Scan | None


def _read_itself(device: Device) -> _Itself:
    node, size = device.node, device.size_bytes
    found = () if device.serial is None else read_marks(node, size, device.serial)
    skip = [mark.offset_bytes for mark in found]
    nonzero = scanning.first_nonzero(node, scan.places(size), skip)
    quiet = nonzero is None or (
        scan.HEAD_BYTES <= nonzero < size - scan.TAIL_BYTES
        and scanning.first_nonzero(node, scan.tail(size), skip) is None
    )
    done = None
    if nonzero is None and device.scan is not None:
        scanned = device.scan(skip)
        nonzero, done = scanned.nonzero, scanned.scan
    return _Itself(found, nonzero, quiet, done)


def _put_together(
    device: Device, read: _Itself, probed: tuple[Signature, ...] | Exception
) -> Contents:
    if isinstance(probed, Exception):
        raise probed
    node, size, signatures, nonzero = device.node, device.size_bytes, probed, read.nonzero
    found = _believed(node, size, read.marks, {signature.kind for signature in signatures})
    for mark in read.marks:
        # In the place of one that a prober's finding speaks against are data of others.
        if mark not in found and nonzero is not None:
            nonzero = min(nonzero, mark.offset_bytes)
    if device.serial is not None and nonzero is not None and not found:
        remains = partition_tables.remains(
            read_at(node, 0, partition_tables.HEAD_BYTES),
            read_at(node, max(0, size - partition_tables.TAIL_BYTES), partition_tables.TAIL_BYTES),
            size,
            signatures,
        )
        signatures = probers.merge(signatures, remains)
    return Contents(signatures, nonzero, found[0] if found else None, read.scan)


def read_marks(node: str, size_bytes: int, serial: str) -> tuple[Mark, ...]:
    """The marks that can be believed, at the most one at each place; the one that counts first.

    Not one where md, LVM or a filesystem keeps data: :mod:`appliance.storage.formats.data_areas`.

    Who writes a mark clears the other place. Where that did not happen, ``making`` counts:
    a disk is given to a volume after it was released, never the other way round.
    """
    found = []
    for offset in marks.offsets(size_bytes):
        block = read_at(node, offset, marks.BLOCK_BYTES)
        mark = marks.decode(block, serial=serial, size_bytes=size_bytes, offset=offset)
        if mark is not None and mark.state is MarkState.RELEASED:
            # The samples cost thousands of reads, so only where there is something to compare.
            mark = marks.decode(
                block,
                serial=serial,
                size_bytes=size_bytes,
                offset=offset,
                samples=samples_digest(node, size_bytes, seed=mark.nonce),
            )
        if mark is not None:
            found.append(mark)
    found.sort(key=lambda mark: mark.state is not MarkState.MAKING)
    return _believed(node, size_bytes, found)


def _believed(
    node: str, size_bytes: int, found: Sequence[Mark], kinds: Collection[str] = ()
) -> tuple[Mark, ...]:
    if not found:
        return ()
    # What md wrote is below the cache.
    places = data_areas.believed(read_durable(node, 0, data_areas.HEAD_BYTES), size_bytes, kinds)
    return tuple(mark for mark in found if mark.offset_bytes in places)


def samples_digest(node: str, size_bytes: int, *, seed: str, cleared: Collection[int] = ()) -> str:
    """SHA-256 over samples that follow from ``seed``: what a released disk is known by.

    The places of marks count as zero, and so do the blocks at ``cleared``, which the release
    itself is about to zero.
    """
    skip = (*marks.offsets(size_bytes), *cleared)
    digest = hashlib.sha256()
    for offset, block in scanning.blocks(node, scan.pinned(size_bytes, seed)):
        digest.update(scanning.without(block, offset, skip))
    return digest.hexdigest()


def flush(node: str) -> None:
    """Have all that was written to ``node`` reach the device, or its members."""
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def contents_digest(node: str, size_bytes: int, writes: Callable[[], str]) -> str:
    """SHA-256 over samples, marks among them, and what ``writes`` says of the device before
    they are read, when all that was written to it has reached it.

    Over what is not zero, each part with its place: where the samples are follows from ``writes``.
    """
    flush(node)
    written = writes()
    digest = hashlib.sha256(written.encode())
    with scanning.Reader(node) as reader:
        for offset, length in scan.pinned(size_bytes, written):
            if block := reader.read_nonzero(offset, length):
                digest.update(f"{offset} {length} ".encode())
                digest.update(block)
    return digest.hexdigest()


def first_nonzero(node: str, size_bytes: int) -> int | None:
    """Offset of the first byte that is not zero where anything known is kept, if there is one."""
    return scanning.first_nonzero(node, scan.places(size_bytes))


def read_at(node: str, offset_bytes: int, length: int) -> bytes:
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, length, offset_bytes)
    finally:
        os.close(descriptor)


def is_busy(node: str) -> bool:
    """Whether a mount, md, dm or a program holds the device exclusively, see open(2)."""
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    return False


def read_durable(node: str, offset_bytes: int, length: int) -> bytes:
    """As :func:`read_at`, but past the cache: what md and others wrote below it is there."""
    descriptor = scanning.open_direct(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, length) as page:
            return page[: os.preadv(descriptor, [page], offset_bytes)]
    finally:
        os.close(descriptor)


def read_filesystem(node: str, offset_bytes: int = 0) -> Filesystem | None:
    """The filesystem of ours that starts at ``offset_bytes``, if one does."""
    return filesystem.parse_superblock(
        read_at(node, offset_bytes, filesystem.SUPERBLOCK_SIZE_BYTES)
    )


def data_starts(node: str) -> tuple[int, ...]:
    """Where the data of md and LVM begin on this disk (:func:`data_areas.data_starts`)."""
    return data_areas.data_starts(read_durable(node, 0, data_areas.HEAD_BYTES))


def read_md_superblock(node: str) -> bytes:
    return read_durable(node, md.SUPERBLOCK_OFFSET_BYTES, md.SUPERBLOCK_SIZE_BYTES)


# ---------------------------------------------------------------------------- writing


def write_block(node: str, offset_bytes: int, block: bytes) -> None:
    """Write a mark or a superblock of md's; when this returns it survives a power cut.

    Raises :class:`OSError`, also if anybody else has the device open exclusively.
    """
    if len(block) != marks.BLOCK_BYTES or offset_bytes % marks.BLOCK_BYTES:
        raise ValueError("one aligned block is written")
    _write(node, offset_bytes, block, os.O_EXCL)


def clear(node: str, offset_bytes: int, length: int, *, exclusive: bool = True) -> None:
    """Zero ``length`` bytes; when this returns that survives a power cut.

    Not ``exclusive`` only for a mark on a disk whose own array or group is running: the place
    is outside of everything that md and LVM write.
    """
    if offset_bytes % marks.BLOCK_BYTES or length % marks.BLOCK_BYTES:
        raise ValueError("only whole aligned blocks are cleared")
    _write(node, offset_bytes, bytes(length), os.O_EXCL if exclusive else 0)


_kept: list[dict[str, int]] = []


@contextlib.contextmanager
def writers_kept() -> Iterator[None]:
    """Close what is opened for writing at the end of this block only.

    udev looks at a disk whenever a process that could write to it closes it. While a volume is
    made of disks, that is many looks at what is half made, and they delay the making.
    """
    _kept.append({})
    try:
        yield
    finally:
        for descriptor in _kept.pop().values():
            os.close(descriptor)


def _write(node: str, offset_bytes: int, data: bytes, exclusive: int) -> None:
    with contextlib.ExitStack() as stack:
        if exclusive:
            # One that only reads can be exclusive, too, and udev does not look when it closes.
            claim = os.open(node, os.O_RDONLY | exclusive | os.O_CLOEXEC)
            stack.callback(os.close, claim)
        descriptor = _kept[-1].get(node) if _kept else None
        if descriptor is None:
            descriptor = scanning.open_direct(node, os.O_RDWR | os.O_CLOEXEC | os.O_SYNC)
            if _kept:
                _kept[-1][node] = descriptor
            else:
                stack.callback(os.close, descriptor)
        # Direct writes need memory that is aligned as the device's blocks are: whole pages.
        with mmap.mmap(-1, len(data)) as page:
            page.write(data)
            written = os.pwrite(descriptor, page, offset_bytes)
        os.fsync(descriptor)
        if written != len(data):
            raise OSError(errno.EIO, "short write", node)
    if read_durable(node, offset_bytes, len(data)) != data:
        raise OSError(errno.EIO, "reads back as something else", node)
