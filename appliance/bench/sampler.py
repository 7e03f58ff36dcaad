"""Block-layer counters, and their rates once a second.

fio's own status output is cumulative and mixes with its report; the counters of the
disks count every I/O, from any source. Format: Documentation/block/stat.rst.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.model.runs import Counters, Sample

# The unit of the sector counters, whatever the disk's own sector size is.
SECTOR_BYTES = 512
_SYS_BLOCK = Path("/sys/class/block")
_FIELDS = 11
# Seventeen numbers of up to twenty digits; sysfs gives all of a file at once.
_MOST_BYTES = 4096
# The kernel prints milliseconds as 32-bit numbers (block/genhd.c: unsigned int), which
# begin again after 49.7 days of I/O time; a busy drive reaches that in hours. I/Os and
# sectors are 64-bit numbers.
_MS_WRAP = 1 << 32


def parse_counters(device: str, text: str) -> Counters | None:
    """One line of ``/sys/class/block/DEVICE/stat``, or ``None`` if it is not one."""
    try:
        fields = [int(field) for field in text.split()]
    except ValueError:
        return None
    if len(fields) < _FIELDS:
        return None
    return Counters(
        device=device,
        read_ios=fields[0],
        read_bytes=fields[2] * SECTOR_BYTES,
        read_ms=fields[3],
        write_ios=fields[4],
        write_bytes=fields[6] * SECTOR_BYTES,
        write_ms=fields[7],
        in_flight=fields[8],
        io_ms=fields[9],
        other_ios=sum(fields[11:12] + fields[15:16]),
    )


def read_counters(device: str, *, sys_block: Path = _SYS_BLOCK) -> Counters | None:
    """The counters of ``device`` (a kernel name) now, or ``None`` if it has gone."""
    # Of 64 disks every second: opening a file as text takes more than reading and parsing it.
    try:
        file = os.open(f"{sys_block}/{device}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(file, _MOST_BYTES)
        finally:
            os.close(file)
    except OSError:
        return None
    return parse_counters(device, text.decode("ascii", "replace"))


def read_all(devices: Sequence[str], *, sys_block: Path = _SYS_BLOCK) -> dict[str, Counters]:
    """Counters of those ``devices`` that are there."""
    found = (read_counters(device, sys_block=sys_block) for device in devices)
    return {counters.device: counters for counters in found if counters is not None}


def delta(before: Counters, after: Counters) -> Counters:
    """What happened between two readings of one device.

    ``in_flight`` is the later value. After a :func:`is_reset` all of it counts from zero.
    """
    if is_reset(before, after):
        return after

    def ms_since(then: int, now: int) -> int:
        passed = (now - then) % _MS_WRAP
        # A small step back (the sum over processors is not read at one moment) is no wrap.
        return passed if passed < _MS_WRAP // 2 else 0

    return Counters(
        device=after.device,
        read_ios=after.read_ios - before.read_ios,
        read_bytes=after.read_bytes - before.read_bytes,
        read_ms=ms_since(before.read_ms, after.read_ms),
        write_ios=after.write_ios - before.write_ios,
        write_bytes=after.write_bytes - before.write_bytes,
        write_ms=ms_since(before.write_ms, after.write_ms),
        in_flight=after.in_flight,
        io_ms=ms_since(before.io_ms, after.io_ms),
        other_ios=after.other_ios - before.other_ios,
    )


def is_reset(before: Counters, after: Counters) -> bool:
    """Whether the device was removed and came back under its name: I/Os became fewer."""
    return (
        after.read_ios < before.read_ios
        or after.write_ios < before.write_ios
        or after.read_bytes < before.read_bytes
        or after.write_bytes < before.write_bytes
    )


def deltas(before: dict[str, Counters], after: dict[str, Counters]) -> tuple[Counters, ...]:
    """:func:`delta` of each device that is in both readings, in the later one's order.

    A device that was reset between them is left out: what it did before that is lost.
    """
    return tuple(
        delta(before[device], counters)
        for device, counters in after.items()
        if device in before and not is_reset(before[device], counters)
    )


def rates(before: Counters, after: Counters, *, seconds: float, at_ns: int) -> Sample:
    """Rates over ``seconds``. ``await_ms`` is time per completed I/O (iostat's await).

    ``util`` is the share of time with at least one I/O in flight, 0 to 1; it says little
    about how much more a drive with many queues could do.
    """
    done = delta(before, after)
    ios = done.read_ios + done.write_ios
    return Sample(
        at_ns=at_ns,
        device=after.device,
        read_iops=done.read_ios / seconds,
        write_iops=done.write_ios / seconds,
        read_bytes_per_s=done.read_bytes / seconds,
        write_bytes_per_s=done.write_bytes / seconds,
        await_ms=(done.read_ms + done.write_ms) / ios if ios else 0.0,
        util=min(1.0, done.io_ms / (seconds * 1000)),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    at_monotonic: float
    counters: dict[str, Counters]


class Sampler:
    """A thread that samples ``devices`` once a second until it is stopped.

    The samples wait in memory for :meth:`drain`, so that one thread alone writes history.
    After a late wake-up (a machine that was stopped) there is one sample over the longer
    time, and the rhythm goes on from there; none is over less than half the interval.
    """

    def __init__(
        self,
        devices: Sequence[str],
        *,
        interval_seconds: float = 1.0,
        read: Callable[[Sequence[str]], dict[str, Counters]] = read_all,
    ) -> None:
        self._devices = tuple(devices)
        self._interval_seconds = interval_seconds
        self._read = read
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[Sample] = []
        self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)

    def __enter__(self) -> Sampler:
        if self._devices:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def drain(self) -> list[Sample]:
        """The samples since the last call, oldest first."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def _work(self) -> None:
        last = self._reading()
        due = last.at_monotonic + self._interval_seconds
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            now = self._reading()
            due += self._interval_seconds
            if due <= now.at_monotonic:
                due = now.at_monotonic + self._interval_seconds
            if now.at_monotonic - last.at_monotonic < self._interval_seconds / 2:
                continue  # its I/Os are in the next one
            at_ns, seconds = time.time_ns(), now.at_monotonic - last.at_monotonic
            fresh = [
                rates(last.counters[device], counters, seconds=seconds, at_ns=at_ns)
                for device, counters in now.counters.items()
                if device in last.counters
            ]
            with self._lock:
                self._waiting += fresh
            last = now

    def _reading(self) -> _Reading:
        return _Reading(time.monotonic(), self._read(self._devices))
