"""Reading a device to find the first byte that is not zero, past the page cache.

How far is a matter of time: in full where that can be done, else at random
(:mod:`appliance.storage.formats.scan`). Reads only.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from appliance.model.disks import Scan
from appliance.storage.formats import scan
from appliance.storage.formats.filesystem_kind import Accepts

# The kernel has a drive read it in parallel, in parts of some hundred KiB.
_BUFFER_BYTES = 2 * scan.MIB
_ZERO_BLOCK = bytes(scan.BLOCK_BYTES)
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
# How much of the time is spent to find out how fast the device is.
_TRIAL = 0.1
_READERS = 4
# Buffers of closed readers: each page of new memory is a page fault.
_spare: list[mmap.mmap] = []


class Reader:
    """A device opened for reading; one thread at a time."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._descriptor = open_direct(node, os.O_RDONLY | os.O_CLOEXEC)
        # Direct reads need memory that is aligned as the device's blocks are: whole pages.
        try:
            self._page = _spare.pop()
        except IndexError:
            # Private: a forked child that reads, too, has its own.
            self._page = mmap.mmap(-1, _BUFFER_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        first = ctypes.c_char.from_buffer(self._page)
        self._address = ctypes.addressof(first)
        del first  # the page could not be closed while it is there

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        _spare.append(self._page)
        os.close(self._descriptor)

    def read(self, offset_bytes: int, length: int) -> bytes:
        """Raises :class:`OSError`, also for less than ``length``."""
        self._fill(offset_bytes, length)
        return self._page[:length]

    def read_nonzero(self, offset_bytes: int, length: int) -> bytes:
        """As :meth:`read`, but nothing where every byte is zero.

        Neither copied nor compared by the interpreter, which would do so for one disk at a time.
        """
        self._fill(offset_bytes, length)
        # Each byte is as the one before it.
        if self._page[0] or _memcmp(self._address, self._address + 1, length - 1):
            return self._page[:length]
        return b""

    def _fill(self, offset_bytes: int, length: int) -> None:
        if not 0 < length <= _BUFFER_BYTES:
            raise ValueError(f"{length} bytes at once")
        with memoryview(self._page)[:length] as part:
            if os.preadv(self._descriptor, [part], offset_bytes) < length:
                raise OSError(errno.EIO, "short read", self._node)


def in_threads(work: Callable[[], None], number: int) -> None:
    """Do ``work`` in so many threads, this one among them, until all have ended."""
    helpers = [threading.Thread(target=work) for _ in range(number - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()


def open_direct(node: str, flags: int) -> int:
    try:
        return os.open(node, flags | os.O_DIRECT)
    except OSError as error:
        # A file on a filesystem that has no direct I/O; O_SYNC and fsync do the same there.
        if error.errno != errno.EINVAL:
            raise
        return os.open(node, flags)


def blocks(node: str, where: Iterable[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """What is at each (offset, length) of ``where``."""
    with Reader(node) as reader:
        for offset, length in where:
            yield offset, reader.read(offset, length)


def first_nonzero(
    node: str,
    where: Iterable[tuple[int, int]],
    skip: Collection[int] = (),
    accepts: Accepts | None = None,
) -> int | None:
    """Offset of the first byte in ``where`` that is not zero, ``None`` if all are.

    The blocks at ``skip`` count as zero: marks of ours. So does each block that ``accepts`` takes.
    """
    with Reader(node) as reader:
        for offset, length in where:
            found = _nonzero(reader.read_nonzero(offset, length), offset, skip, accepts)
            if found is not None:
                return found
    return None


def _nonzero(
    block: bytes, offset: int, skip: Collection[int], accepts: Accepts | None
) -> int | None:
    if not block:
        return None
    block = without(block, offset, skip)
    if accepts is not None:
        for at in range(0, len(block), scan.BLOCK_BYTES):
            part = block[at : at + scan.BLOCK_BYTES]
            if part != _ZERO_BLOCK[: len(part)] and not accepts(offset + at, part):
                return offset + at
        return None
    rest = block.lstrip(b"\0")
    return offset + len(block) - len(rest) if rest else None


def without(block: bytes, offset: int, skip: Collection[int]) -> bytes:
    """``block``, read at ``offset``, with the blocks at ``skip`` as zeros."""
    for place in skip:
        at = place - offset
        if -scan.BLOCK_BYTES < at < len(block):
            end = min(at + scan.BLOCK_BYTES, len(block))
            start = max(at, 0)
            block = block[:start] + bytes(end - start) + block[end:]
    return block


@dataclass(frozen=True, slots=True)
class Scanned:
    """``nonzero`` is the offset that was found, else ``scan`` says what was read."""

    scan: Scan
    nonzero: int | None = None


def scan_device(
    node: str,
    size_bytes: int,
    *,
    seconds: float,
    skip: Collection[int] = (),
    in_full: bool = False,
    begin_bytes: int = 0,
    accepts: Accepts | None = None,
) -> Scanned:
    """Read for at most ``seconds``: all of it if it looks as if that was enough (and of a small
    device in any case), else samples, at other offsets each time. ``in_full``: no samples, but on
    from ``begin_bytes``, up to which it was read before; ``read_bytes`` then says how far this got.
    """
    deadline = time.monotonic() + seconds
    position = begin_bytes if in_full else 0
    with Reader(node) as reader:
        began = time.monotonic()
        first = position
        # Of the device alone: what is not zero takes longer, and most of that is at its start.
        reading = 0.0
        while position < size_bytes:
            length = min(_BUFFER_BYTES, size_bytes - position)
            asked = time.monotonic()
            block = reader.read_nonzero(position, length)
            reading += time.monotonic() - asked
            found = _nonzero(block, position, skip, accepts)
            if found is not None:
                return Scanned(Scan(position, 0, size_bytes), found)
            position += length
            spent = time.monotonic() - began
            if in_full and spent >= seconds:
                break
            rest = reading * (size_bytes - position) / (position - first)
            may_sample = not in_full and size_bytes > scan.SMALL_BYTES
            if may_sample and spent >= seconds * _TRIAL and spent + rest > seconds:
                break
    if in_full or position >= size_bytes:
        return Scanned(Scan(position, 0, size_bytes - position))
    return _sample(
        node, size_bytes, deadline=deadline, read_bytes=position, skip=skip, accepts=accepts
    )


def _sample(
    node: str,
    size_bytes: int,
    *,
    deadline: float,
    read_bytes: int,
    skip: Collection[int],
    accepts: Accepts | None,
) -> Scanned:
    random = Random()  # noqa: S311 - chance, not secrecy
    lock = threading.Lock()
    samples = 0
    nonzero: list[int] = []
    problems: list[OSError] = []

    def rounds() -> Iterator[tuple[int, int]]:
        # At least one, however slow the device is.
        yield from scan.stratified(size_bytes, random)
        while time.monotonic() < deadline:
            for place in scan.stratified(size_bytes, random):
                if time.monotonic() >= deadline:
                    return
                yield place

    places = rounds()

    def work() -> None:
        nonlocal samples, read_bytes
        try:
            with Reader(node) as reader:
                while not nonzero and not problems:
                    with lock:
                        place = next(places, None)
                    if place is None:
                        return
                    found = _nonzero(reader.read_nonzero(*place), place[0], skip, accepts)
                    with lock:
                        samples += 1
                        read_bytes += place[1]
                    if found is not None:
                        nonzero.append(found)
        except OSError as error:
            problems.append(error)

    in_threads(work, _READERS)
    if problems:
        raise problems[0]
    done = scan.sampled(size_bytes, read_bytes, samples)
    return Scanned(done, min(nonzero, default=None))
